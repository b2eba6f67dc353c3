// SPDX-License-Identifier: BSD-3-Clause
// Calls on several requests: wait, test and status of all, any or some of them.
#include "calls.hpp"
#include "mpi/core/request_complete.hpp"
#include "mpi/core/status.hpp"
#include "mpi/core/tables.hpp"
#include "mpi/core/waiting.hpp"

namespace herald::mpi {
namespace {

MPI_Status* slot(MPI_Status* statuses, int i) noexcept {
  return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i];
}

// As find(), for loops over many.
const HandleTable<Request>& all_requests() noexcept { return tables().requests; }
std::uintptr_t number(MPI_Request handle) noexcept { return reinterpret_cast<std::uintptr_t>(handle); }

// All handles are null or valid.
bool valid(Call& call, int count, const MPI_Request* handles) noexcept {
  if (count > 0 && handles == nullptr)
    return call.fail(MPI_ERR_ARG,
                     "argument 2 (array_of_requests) is a null pointer, but there are %d requests", count);
  const HandleTable<Request>& requests = all_requests();
  for (int i = 0; i < count; ++i) {
    if (handles[i] == MPI_REQUEST_NULL || requests.find(number(handles[i])) != nullptr) continue;
    return call.fail(
        MPI_ERR_REQUEST,
        "argument 2 (array_of_requests): entry %d is not a request: it was never made, or it is complete "
        "or freed",
        i);
  }
  return true;
}

Request* active(MPI_Request handle) noexcept {
  Request* request = handle == MPI_REQUEST_NULL ? nullptr : all_requests().find(number(handle));
  return request != nullptr && request->active ? request : nullptr;
}

bool all_ready(int count, const MPI_Request* handles) noexcept {
  for (int i = 0; i < count; ++i) {
    const Request* request = active(handles[i]);
    if (request != nullptr && !request->ready()) return false;
  }
  return true;
}

// The index of the first request that is ready; -1: none yet; MPI_UNDEFINED: none is active.
int any_ready(int count, const MPI_Request* handles) noexcept {
  int found = MPI_UNDEFINED;
  for (int i = 0; i < count; ++i) {
    const Request* request = active(handles[i]);
    if (request == nullptr) continue;
    if (request->ready()) return i;
    found = -1;
  }
  return found;
}

// Collects errors of several requests: the call's own error is then MPI_ERR_IN_STATUS.
class Errors {
 public:
  Errors(Call& call, MPI_Status* statuses) noexcept : call_(call), statuses_(statuses) {}

  void note(int position, const Request* request, int error) noexcept {
    if (error != MPI_SUCCESS && !failed_) {
      failed_ = true;
      explain(call_, *request, error);
      // The statuses before this one were filled without an error field.
      for (int i = 0; i < position && statuses_ != MPI_STATUSES_IGNORE; ++i)
        statuses_[i].MPI_ERROR = MPI_SUCCESS;
    }
    if (failed_ && statuses_ != MPI_STATUSES_IGNORE) statuses_[position].MPI_ERROR = error;
  }
  int result() const noexcept { return failed_ ? MPI_ERR_IN_STATUS : MPI_SUCCESS; }

 private:
  Call& call_;
  MPI_Status* statuses_;
  bool failed_ = false;
};

int finish_all(Call& call, int count, MPI_Request* handles, MPI_Status* statuses) noexcept {
  Errors errors(call, statuses);
  for (int i = 0; i < count; ++i) {
    Request* request = active(handles[i]);
    if (request == nullptr) {
      set_empty_status(slot(statuses, i));
      errors.note(i, nullptr, MPI_SUCCESS);
      continue;
    }
    errors.note(i, request, settle(*request, slot(statuses, i)));
    retire(request, &handles[i]);
  }
  return errors.result();
}

// Completes the requests that are ready. With `keep` they stay unchanged (MPI_Request_get_status_some).
int finish_some(Call& call, int count, MPI_Request* handles, int* outcount, int* indices,
                MPI_Status* statuses, bool keep) noexcept {
  Errors errors(call, statuses);
  int taken = 0;
  for (int i = 0; i < count; ++i) {
    Request* request = active(handles[i]);
    if (request == nullptr || !request->ready()) continue;
    MPI_Status* status = slot(statuses, taken);
    errors.note(taken, request, keep ? read_status(*request, status) : settle(*request, status));
    if (!keep) retire(request, &handles[i]);
    indices[taken++] = i;
  }
  *outcount = taken;
  return errors.result();
}

}  // namespace

namespace api {

int waitall(Call& call, int count, MPI_Request array_of_requests[], MPI_Status array_of_statuses[]) {
  if (!valid(call, count, array_of_requests)) return call.error();
  for (int i = 0; i < count; ++i) {
    Request* request = active(array_of_requests[i]);
    if (request == nullptr || request->ready()) continue;
    if (request->kind == Request::Kind::work) request->work->poll_briefly();
    wait_until([&] { return request->ready(); },
               [&](ShownWait& wait) { show_requests(wait, count, array_of_requests, false); });
  }
  return finish_all(call, count, array_of_requests, array_of_statuses);
}

int testall(Call& call, int count, MPI_Request array_of_requests[], int* flag,
            MPI_Status array_of_statuses[]) {
  if (!valid(call, count, array_of_requests)) return call.error();
  if (!all_ready(count, array_of_requests)) runtime().engine().progress();
  *flag = all_ready(count, array_of_requests);
  return *flag ? finish_all(call, count, array_of_requests, array_of_statuses) : MPI_SUCCESS;
}

int waitany(Call& call, int count, MPI_Request array_of_requests[], int* index, MPI_Status* status) {
  if (!valid(call, count, array_of_requests)) return call.error();
  int found = -1;
  wait_until([&] { return (found = any_ready(count, array_of_requests)) != -1; },
             [&](ShownWait& wait) { show_requests(wait, count, array_of_requests, true); });
  *index = found;
  if (found == MPI_UNDEFINED) return set_empty_status(status), MPI_SUCCESS;
  return complete(call, find(array_of_requests[found]), &array_of_requests[found], status);
}

int testany(Call& call, int count, MPI_Request array_of_requests[], int* index, int* flag,
            MPI_Status* status) {
  if (!valid(call, count, array_of_requests)) return call.error();
  int found = any_ready(count, array_of_requests);
  if (found == -1) {
    runtime().engine().progress();
    found = any_ready(count, array_of_requests);
  }
  *flag = found != -1;
  *index = found == -1 ? MPI_UNDEFINED : found;
  if (found == -1) return MPI_SUCCESS;
  if (found == MPI_UNDEFINED) return set_empty_status(status), MPI_SUCCESS;
  return complete(call, find(array_of_requests[found]), &array_of_requests[found], status);
}

int waitsome(Call& call, int incount, MPI_Request array_of_requests[], int* outcount, int array_of_indices[],
             MPI_Status array_of_statuses[]) {
  if (!valid(call, incount, array_of_requests)) return call.error();
  int found = -1;
  wait_until([&] { return (found = any_ready(incount, array_of_requests)) != -1; },
             [&](ShownWait& wait) { show_requests(wait, incount, array_of_requests, true); });
  if (found == MPI_UNDEFINED) return *outcount = MPI_UNDEFINED, MPI_SUCCESS;
  return finish_some(call, incount, array_of_requests, outcount, array_of_indices, array_of_statuses, false);
}

int testsome(Call& call, int incount, MPI_Request array_of_requests[], int* outcount, int array_of_indices[],
             MPI_Status array_of_statuses[]) {
  if (!valid(call, incount, array_of_requests)) return call.error();
  runtime().engine().progress();
  if (any_ready(incount, array_of_requests) == MPI_UNDEFINED) return *outcount = MPI_UNDEFINED, MPI_SUCCESS;
  return finish_some(call, incount, array_of_requests, outcount, array_of_indices, array_of_statuses, false);
}

int request_get_status_all(Call& call, int count, const MPI_Request array_of_requests[], int* flag,
                           MPI_Status array_of_statuses[]) {
  if (!valid(call, count, array_of_requests)) return call.error();
  if (!all_ready(count, array_of_requests)) runtime().engine().progress();
  *flag = all_ready(count, array_of_requests);
  if (!*flag) return MPI_SUCCESS;
  Errors errors(call, array_of_statuses);
  for (int i = 0; i < count; ++i) {
    const Request* request = active(array_of_requests[i]);
    MPI_Status* status = slot(array_of_statuses, i);
    if (request == nullptr) set_empty_status(status);
    errors.note(i, request, request == nullptr ? MPI_SUCCESS : read_status(*request, status));
  }
  return errors.result();
}

int request_get_status_any(Call& call, int count, const MPI_Request array_of_requests[], int* index,
                           int* flag, MPI_Status* status) {
  if (!valid(call, count, array_of_requests)) return call.error();
  runtime().engine().progress();
  const int found = any_ready(count, array_of_requests);
  *flag = found != -1;
  *index = found == -1 ? MPI_UNDEFINED : found;
  if (found == -1) return MPI_SUCCESS;
  if (found == MPI_UNDEFINED) return set_empty_status(status), MPI_SUCCESS;
  const Request* request = find(array_of_requests[found]);
  const int error = read_status(*request, status);
  if (error != MPI_SUCCESS) explain(call, *request, error);
  return error;
}

int request_get_status_some(Call& call, int incount, const MPI_Request array_of_requests[], int* outcount,
                            int array_of_indices[], MPI_Status array_of_statuses[]) {
  if (!valid(call, incount, array_of_requests)) return call.error();
  runtime().engine().progress();
  if (any_ready(incount, array_of_requests) == MPI_UNDEFINED) return *outcount = MPI_UNDEFINED, MPI_SUCCESS;
  return finish_some(call, incount, const_cast<MPI_Request*>(array_of_requests), outcount, array_of_indices,
                     array_of_statuses, true);
}

}  // namespace api
}  // namespace herald::mpi
