// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/core/request.hpp"

#include "mpi/core/status.hpp"
#include "mpi/core/tables.hpp"

namespace herald::mpi {

int Work::read(const Request& request, MPI_Status* status) noexcept {
  set_status(status, request.source, request.tag, request.bytes, request.cancelled);
  return request.error;
}

Request::~Request() {
  switch (kind) {
    case Kind::send: send.~SendOp(); break;
    case Kind::recv: recv.~RecvOp(); break;
    case Kind::work:
    case Kind::nothing: break;
  }
}

Request* find(MPI_Request handle) noexcept {
  return tables().requests.find(reinterpret_cast<std::uintptr_t>(handle));
}

Request* new_request(Comm* comm) noexcept {
  Request* request = tables().requests.create();
  request->comm = comm;
  if (comm != nullptr) retain(comm);
  return request;
}

Request* new_work(Comm* comm, std::unique_ptr<Work> work, bool persistent) noexcept {
  Request* request = new_request(comm);
  request->kind = Request::Kind::work;
  request->work = std::move(work);
  request->persistent = persistent;
  request->active = !persistent;
  if (!persistent) request->work->start(*request);
  return request;
}

void finish_work(Request& request, int error) noexcept {
  request.error = error;
  request.work_done = true;
  if (!request.detached) return runtime().engine().wake_waiters();
  (void)request.work->end();
  destroy(&request);
}

void destroy(Request* request) noexcept {
  Comm* comm = request->comm;
  tables().requests.destroy(request);
  if (comm != nullptr) release(comm);
}

}  // namespace herald::mpi
