// SPDX-License-Identifier: BSD-3-Clause
// mpi/core/request.hpp: an operation that the program can wait for.
//
//   inactive (persistent only) --start--> active --(engine)--> ready --wait/test--> inactive or gone
//
// Sends and receives are embedded, so that a nonblocking call allocates nothing but a slot of the request
// table. Everything else (collectives, pairs, buffer flushes, generalized requests ...) is a Work behind a
// pointer.
#pragma once
#include <cstdint>
#include <memory>
#include <new>

#include "exec/wait.hpp"
#include "mpi/core/objects.hpp"
#include "mpi/core/runtime.hpp"
#include "p2p/ops.hpp"

namespace herald::mpi {

struct Request;

// The operation of a request of kind `work`. All calls are under the engine's lock.
struct Work {
  Work() = default;
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;
  virtual ~Work() = default;
  // Begins, or begins again. Calls finish_work(request) when done, now or later.
  virtual void start(Request& request) noexcept = 0;
  // The program waits: polls for a moment before turns of the engine are taken.
  virtual void poll_briefly() noexcept {}
  virtual const char* reason() const noexcept { return nullptr; }  // why it failed; null: unknown
  virtual Win* window() const noexcept { return nullptr; }  // whose error handler is called; null: none
  virtual File* file() const noexcept { return nullptr; }
  virtual int cancel(Request&) noexcept { return MPI_SUCCESS; }  // without effect where MPI does not allow it
  // Fills the status of a request that is ready (may be MPI_STATUS_IGNORE) and returns its error.
  virtual int read(const Request& request, MPI_Status* status) noexcept;
  virtual const char* name() const noexcept { return nullptr; }  // of a collective; null: another operation
  virtual bool general() const noexcept { return false; }        // ends when MPI_Grequest_complete says so
  virtual int end() noexcept {
    return MPI_SUCCESS;
  }  // the request is about to be freed; the call returns the error
};

struct Request : ObjectOf<MPI_Request> {
  enum class Kind : std::uint8_t {
    send,
    recv,
    work,
    nothing,  // to or from MPI_PROC_NULL, or complete from the beginning
  };

  Kind kind = Kind::nothing;
  bool persistent = false;
  bool active = true;      // false: persistent and not started, or started and already waited for
  bool detached = false;   // freed by the program while active: destroyed when ready
  bool work_done = false;  // kind work
  bool cancel_asked = false;
  // The status of kinds `nothing` and `work`
  int source = MPI_ANY_SOURCE, tag = MPI_ANY_TAG, error = MPI_SUCCESS;
  std::int64_t bytes = 0;
  bool cancelled = false;
  Comm* comm = nullptr;  // holds a count; null for requests of no communicator
  std::unique_ptr<Work> work;
  union {
    p2p::SendOp send;
    p2p::RecvOp recv;
  };

  Request() noexcept {}
  ~Request();
  // Without parentheses, so that the memory is not filled with zeros first.
  p2p::SendOp& make_send() noexcept {
    kind = Kind::send;
    return *::new (&send) p2p::SendOp;
  }
  p2p::RecvOp& make_recv() noexcept {
    kind = Kind::recv;
    return *::new (&recv) p2p::RecvOp;
  }

  bool ready() const noexcept {
    switch (kind) {
      case Kind::send: return send.done;
      case Kind::recv: return recv.done;
      case Kind::work: return work_done;
      case Kind::nothing: return true;
    }
    return true;
  }
};

// A new active request on `comm` (may be null), with a handle.
Request* new_request(Comm* comm) noexcept;
// A request that runs `work`, started at once unless persistent.
Request* new_work(Comm* comm, std::unique_ptr<Work> work, bool persistent) noexcept;
// Called by a Work when it is done; `error` is an MPI error class.
void finish_work(Request& request, int error) noexcept;
void destroy(Request* request) noexcept;

Request* find(MPI_Request handle) noexcept;

// `describe(ShownWait&)` adds the operations that the call waits for (mpi/core/waiting.hpp).
template <class Done, class Describe>
void wait_until(Done done, Describe describe) noexcept {
  exec::wait_until(runtime().engine(), done, describe);
}
template <class Done>
void wait_until(Done done) noexcept {
  exec::wait_until(runtime().engine(), done);
}
void show_request(ShownWait& wait, const Request& request) noexcept;  // mpi/core/waiting.cpp
inline void wait_for(Request& request) noexcept {
  if (request.kind == Request::Kind::work && !request.work_done) request.work->poll_briefly();
  wait_until([&] { return request.ready(); }, [&](ShownWait& wait) { show_request(wait, request); });
}

}  // namespace herald::mpi
