// SPDX-License-Identifier: BSD-3-Clause
// One request: wait, test, free, cancel, start; and the fields of a status.
#include "calls.hpp"
#include "mpi/core/request_complete.hpp"
#include "mpi/core/status.hpp"
#include "mpi/core/tables.hpp"

namespace herald::mpi {
namespace {

void clear_op(p2p::Op& op) noexcept {
  op.done = op.cancelled = false;
  op.status = Status::ok;
  op.data.seek(0);
}

void start_request(Request& request) noexcept {
  request.active = true;
  request.cancel_asked = request.cancelled = false;
  switch (request.kind) {
    case Request::Kind::send:
      clear_op(request.send);
      runtime().engine().messages().start(request.send);
      break;
    case Request::Kind::recv:
      clear_op(request.recv);
      runtime().engine().messages().start(request.recv);
      break;
    case Request::Kind::work:
      request.work_done = false;
      request.error = MPI_SUCCESS;
      request.work->start(request);
      break;
    case Request::Kind::nothing: break;
  }
}

Request* startable(Call& call, MPI_Request handle) noexcept {
  Request* request = find(handle);
  if (request == nullptr)
    return call.fail(MPI_ERR_REQUEST,
                     "argument 1 (request) is not a request; make one with MPI_Send_init or the like");
  if (request->comm != nullptr) call.blame(request->comm);
  if (!request->persistent)
    return call.fail(MPI_ERR_REQUEST,
                     "argument 1 (request) is not persistent; only requests made by *_init can be started");
  if (request->active)
    return call.fail(MPI_ERR_REQUEST,
                     "argument 1 (request) is active already; wait for it before starting it again");
  return request;
}

void destroy_when_done(p2p::Op& op) { destroy(static_cast<Request*>(op.owner)); }

void detach_op(Request& request, p2p::Op& op) noexcept {
  op.owner = &request;
  op.on_done = destroy_when_done;
}

}  // namespace

namespace api {

int wait(Call& call, MPI_Request* handle, MPI_Status* status) {
  Request* request = active_request(call, *handle, {1, "request"});
  if (call.failed()) return MPI_ERR_REQUEST;
  if (request == nullptr) return set_empty_status(status), MPI_SUCCESS;
  wait_for(*request);
  return complete(call, request, handle, status);
}

int test(Call& call, MPI_Request* handle, int* flag, MPI_Status* status) {
  Request* request = active_request(call, *handle, {1, "request"});
  if (call.failed()) return MPI_ERR_REQUEST;
  if (request == nullptr) return *flag = 1, set_empty_status(status), MPI_SUCCESS;
  if (!request->ready()) runtime().engine().progress();
  *flag = request->ready();
  return *flag ? complete(call, request, handle, status) : MPI_SUCCESS;
}

int request_get_status(Call& call, MPI_Request handle, int* flag, MPI_Status* status) {
  Request* request = active_request(call, handle, {1, "request"});
  if (call.failed()) return MPI_ERR_REQUEST;
  if (request == nullptr) return *flag = 1, set_empty_status(status), MPI_SUCCESS;
  if (!request->ready()) runtime().engine().progress();
  *flag = request->ready();
  if (!*flag) return MPI_SUCCESS;
  const int error = read_status(*request, status);
  if (error != MPI_SUCCESS) explain(call, *request, error);
  return error;
}

int request_free(Call& call, MPI_Request* handle) {
  Request* request = find(*handle);
  if (request == nullptr)
    return call.fail(MPI_ERR_REQUEST,
                     "argument 1 (request) is not a request: null, complete, or freed before");
  *handle = MPI_REQUEST_NULL;
  if (!request->active || request->ready()) {
    const int error = request->kind == Request::Kind::work ? request->work->end() : MPI_SUCCESS;
    if (error != MPI_SUCCESS) explain(call, *request, error);
    return destroy(request), error;
  }
  request->detached = true;
  // The program completes a generalized request by its handle, so the handle stays valid.
  if (request->kind == Request::Kind::work && request->work->general()) return MPI_SUCCESS;
  tables().requests.retire(request);
  if (request->kind == Request::Kind::send) detach_op(*request, request->send);
  if (request->kind == Request::Kind::recv) detach_op(*request, request->recv);
  return MPI_SUCCESS;
}

int cancel(Call& call, MPI_Request* handle) {
  Request* request = find(*handle);
  if (request == nullptr) return call.fail(MPI_ERR_REQUEST, "argument 1 (request) is not a request");
  if (request->comm != nullptr) call.blame(request->comm);
  if (!request->active)
    return call.fail(MPI_ERR_REQUEST, "argument 1 (request) is not active; start it before cancelling it");
  // The program's own function learns of each call, and whether the request is complete.
  const bool general = request->kind == Request::Kind::work && request->work->general();
  if (request->cancel_asked && !general) return MPI_SUCCESS;
  request->cancel_asked = true;
  switch (request->kind) {
    case Request::Kind::send: runtime().engine().messages().cancel(request->send); break;
    case Request::Kind::recv:
      if (!request->recv.done) runtime().engine().messages().cancel(request->recv);
      break;
    case Request::Kind::work: {
      const int error = request->work->cancel(*request);
      if (error != MPI_SUCCESS) return call.fail(error, "the operation's own function to cancel it failed");
      break;
    }
    case Request::Kind::nothing: break;
  }
  return MPI_SUCCESS;
}

int start(Call& call, MPI_Request* handle) {
  Request* request = startable(call, *handle);
  if (request == nullptr) return MPI_ERR_REQUEST;
  start_request(*request);
  return MPI_SUCCESS;
}

int startall(Call& call, int count, MPI_Request array_of_requests[]) {
  if (count > 0 && array_of_requests == nullptr)
    return call.fail(MPI_ERR_ARG, "argument 2 (array_of_requests) is a null pointer");
  for (int i = 0; i < count; ++i)
    if (startable(call, array_of_requests[i]) == nullptr) return MPI_ERR_REQUEST;
  for (int i = 0; i < count; ++i) start_request(*find(array_of_requests[i]));
  return MPI_SUCCESS;
}

int test_cancelled(Call&, const MPI_Status* status, int* flag) {
  *flag = status_cancelled(*status);
  return MPI_SUCCESS;
}

int status_set_cancelled(Call&, MPI_Status* status, int flag) {
  set_status_cancelled(*status, flag != 0);
  return MPI_SUCCESS;
}

int status_get_source(Call&, const MPI_Status* status, int* source) {
  *source = status->MPI_SOURCE;
  return MPI_SUCCESS;
}
int status_get_tag(Call&, const MPI_Status* status, int* tag) {
  *tag = status->MPI_TAG;
  return MPI_SUCCESS;
}
int status_get_error(Call&, const MPI_Status* status, int* error) {
  *error = status->MPI_ERROR;
  return MPI_SUCCESS;
}
int status_set_source(Call&, MPI_Status* status, int source) {
  status->MPI_SOURCE = source;
  return MPI_SUCCESS;
}
int status_set_tag(Call&, MPI_Status* status, int tag) {
  status->MPI_TAG = tag;
  return MPI_SUCCESS;
}
int status_set_error(Call&, MPI_Status* status, int error) {
  status->MPI_ERROR = error;
  return MPI_SUCCESS;
}

}  // namespace api
}  // namespace herald::mpi
