// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/core/request_complete.hpp"

#include "mpi/core/status.hpp"

namespace herald::mpi {

int error_of(Status status) noexcept {
  switch (status) {
    case Status::ok:
    case Status::again: return MPI_SUCCESS;
    case Status::truncated: return MPI_ERR_TRUNCATE;
    case Status::no_memory: return MPI_ERR_NO_MEM;
    case Status::bad_argument:
    case Status::not_found: return MPI_ERR_ARG;
    case Status::unsupported: return MPI_ERR_UNSUPPORTED_OPERATION;
    case Status::peer_lost: return MPI_ERR_PROC_ABORTED;
    case Status::group_lost:
    case Status::stale_epoch:
    case Status::engine_broken: return MPI_ERR_INTERN;
  }
  return MPI_ERR_INTERN;
}

int read_status(const Request& request, MPI_Status* status) noexcept {
  switch (request.kind) {
    case Request::Kind::send:
      set_status(status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0, request.send.cancelled);
      return error_of(request.send.status);
    case Request::Kind::recv: {
      const p2p::RecvOp& op = request.recv;
      if (op.cancelled)
        set_status(status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0, true);
      else
        set_status(status, op.from_source, op.from_tag, static_cast<std::int64_t>(op.bytes), false);
      return error_of(op);
    }
    case Request::Kind::work: return request.work->read(request, status);
    case Request::Kind::nothing:
      set_status(status, request.source, request.tag, request.bytes, request.cancelled);
      return request.error;
  }
  return MPI_ERR_INTERN;
}

int settle(Request& request, MPI_Status* status) noexcept {
  const int error = read_status(request, status);
  if (request.kind != Request::Kind::work || request.persistent) return error;
  const int end = request.work->end();
  return error != MPI_SUCCESS ? error : end;
}

void retire(Request* request, MPI_Request* handle) noexcept {
  if (request->persistent) {
    request->active = false;
  } else {
    destroy(request);
    *handle = MPI_REQUEST_NULL;
  }
}

int complete(Call& call, Request* request, MPI_Request* handle, MPI_Status* status) noexcept {
  const int error = settle(*request, status);
  if (error != MPI_SUCCESS) explain(call, *request, error);
  retire(request, handle);
  return error;
}

int error_of(const p2p::RecvOp& op) noexcept {
  if (op.status == Status::ok && op.unit != 1 && op.bytes % op.unit != 0) return MPI_ERR_TYPE;
  return error_of(op.status);
}

int fail_lost(Call& call, p2p::PeerId peer) noexcept {
  return call.fail(MPI_ERR_PROC_ABORTED, "rank %d of the job, on host %s, has ended or cannot be reached",
                   peer, runtime().engine().peers().host_of(peer).c_str());
}

int fail_receive(Call& call, const p2p::RecvOp& op) noexcept {
  const int error = error_of(op);
  if (error == MPI_ERR_TYPE)
    return call.fail(
        error,
        "the message from rank %d with tag %d has %llu bytes, which is no whole number of elements of %d "
        "bytes; sender and receiver must use matching datatypes",
        op.from_source, op.from_tag, static_cast<unsigned long long>(op.bytes), op.unit);
  if (error == MPI_ERR_PROC_ABORTED) return fail_lost(call, op.from_peer >= 0 ? op.from_peer : op.awaited);
  if (error != MPI_ERR_TRUNCATE) return call.fail(error, "there is no memory for it");
  return call.fail(
      MPI_ERR_TRUNCATE,
      "the message from rank %d with tag %d has %llu bytes, the receive buffer %llu; make it larger, or "
      "ask with MPI_Probe first",
      op.from_source, op.from_tag, static_cast<unsigned long long>(op.sent_bytes),
      static_cast<unsigned long long>(op.data.total()));
}

void explain(Call& call, const Request& request, int error) noexcept {
  // This request may hold the last count of a communicator that the program has freed: the error then goes
  // to the default handler.
  call.blame(request.comm != nullptr && request.comm->handle != 0 ? request.comm : nullptr);
  if (request.kind == Request::Kind::work && request.work->window() != nullptr)
    call.blame(request.work->window());
  if (request.kind == Request::Kind::work && request.work->file() != nullptr)
    call.blame(request.work->file());
  if (error != MPI_SUCCESS && request.kind == Request::Kind::recv) {
    (void)fail_receive(call, request.recv);
  } else if (error == MPI_ERR_PROC_ABORTED && request.kind == Request::Kind::send) {
    (void)fail_lost(call, request.send.to);
  } else if (error != MPI_SUCCESS && request.kind == Request::Kind::work && request.work &&
             request.work->reason() != nullptr) {
    (void)call.fail(error, "%s", request.work->reason());
  } else if (error != MPI_SUCCESS) {
    (void)call.fail(error, "the operation that this request stands for failed");
  }
}

Request* active_request(Call& call, MPI_Request handle, Arg arg) noexcept {
  if (handle == MPI_REQUEST_NULL) return nullptr;
  Request* request = find(handle);
  if (request == nullptr)
    return call.fail(MPI_ERR_REQUEST,
                     "argument %d (%s) is not a request: it was never made, or it is complete or freed",
                     arg.number, arg.name);
  return request->active ? request : nullptr;
}

}  // namespace herald::mpi
