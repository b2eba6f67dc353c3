// SPDX-License-Identifier: BSD-3-Clause
// Generalized requests: operations of the program itself, which completes them. Its functions are
// called with the lock held (it is recursive), by the thread that waits, tests, frees or cancels.
#include "calls.hpp"
#include "mpi/core/request.hpp"
#include "mpi/core/status.hpp"

namespace herald::mpi {
namespace {

class General final : public Work {
 public:
  General(MPI_Grequest_query_function* query_fn, MPI_Grequest_free_function* free_fn,
          MPI_Grequest_cancel_function* cancel_fn, void* extra) noexcept
      : query_(query_fn), free_(free_fn), cancel_(cancel_fn), extra_(extra) {}

  void start(Request&) noexcept override {}
  const char* reason() const noexcept override { return "a function of this generalized request failed"; }
  int cancel(Request& request) noexcept override { return cancel_(extra_, request.work_done ? 1 : 0); }
  int read(const Request&, MPI_Status* status) noexcept override {
    MPI_Status own;
    if (status == MPI_STATUS_IGNORE) status = &own;
    set_status(status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0, false);
    return query_(extra_, status);
  }
  bool general() const noexcept override { return true; }
  int end() noexcept override { return free_(extra_); }

 private:
  MPI_Grequest_query_function* query_;
  MPI_Grequest_free_function* free_;
  MPI_Grequest_cancel_function* cancel_;
  void* extra_;
};

}  // namespace

namespace api {

int grequest_start(Call&, MPI_Grequest_query_function* query_fn, MPI_Grequest_free_function* free_fn,
                   MPI_Grequest_cancel_function* cancel_fn, void* extra_state, MPI_Request* request) {
  auto work = std::make_unique<General>(query_fn, free_fn, cancel_fn, extra_state);
  *request = handle_of(new_work(nullptr, std::move(work), false));
  return MPI_SUCCESS;
}

int grequest_complete(Call& call, MPI_Request handle) {
  Request* request = find(handle);
  if (request == nullptr || request->kind != Request::Kind::work || !request->work->general())
    return call.fail(MPI_ERR_REQUEST,
                     "argument 1 (request) is not a generalized request; make one with MPI_Grequest_start");
  if (request->work_done) return call.fail(MPI_ERR_REQUEST, "argument 1 (request) has been completed before");
  finish_work(*request, MPI_SUCCESS);
  return MPI_SUCCESS;
}

}  // namespace api
}  // namespace herald::mpi
