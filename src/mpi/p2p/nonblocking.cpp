// SPDX-License-Identifier: BSD-3-Clause
// Nonblocking and persistent point-to-point, and the nonblocking send-receives.
#include <cstddef>
#include <memory>

#include "calls.hpp"
#include "mpi/core/request_complete.hpp"
#include "mpi/p2p/p2p.hpp"

namespace herald::mpi {
namespace {

constexpr std::uint64_t kLong = 65536;  // bytes; from here on the progress thread pays

enum class Begin : std::uint8_t { now, later };

Request* nothing_request(Comm* comm, Begin begin) noexcept {
  Request* request = new_request(comm);
  request->source = MPI_PROC_NULL;
  request->persistent = begin == Begin::later;
  request->active = begin == Begin::now;
  return request;
}

int send_request(Call& call, const void* buf, MPI_Count count, const Datatype& datatype, int dest, int tag,
                 Comm* comm, p2p::SendMode mode, Begin begin, MPI_Request* out) noexcept {
  if (dest == MPI_PROC_NULL) return *out = handle_of(nothing_request(comm, begin)), MPI_SUCCESS;
  Request* request = new_request(comm);
  fill_send(request->make_send(), buf, count, datatype, dest, tag, *comm, mode);
  request->persistent = begin == Begin::later;
  request->active = begin == Begin::now;
  *out = handle_of(request);
  if (begin == Begin::later) return MPI_SUCCESS;
  runtime().engine().messages().start(request->send);
  if (!request->send.done && request->send.data.total() >= kLong) runtime().progress_thread(call);
  return MPI_SUCCESS;
}

int recv_request(Call& call, void* buf, MPI_Count count, const Datatype& datatype, int source, int tag,
                 Comm* comm, Begin begin, MPI_Request* out) noexcept {
  if (source == MPI_PROC_NULL) return *out = handle_of(nothing_request(comm, begin)), MPI_SUCCESS;
  Request* request = new_request(comm);
  fill_recv(request->make_recv(), buf, count, datatype, source, tag, *comm);
  request->persistent = begin == Begin::later;
  request->active = begin == Begin::now;
  *out = handle_of(request);
  if (begin == Begin::later) return MPI_SUCCESS;
  runtime().engine().messages().start(request->recv);
  if (!request->recv.done && request->recv.data.total() >= kLong) runtime().progress_thread(call);
  return MPI_SUCCESS;
}

// A send and a receive that complete together; the status is the receive's.
struct PairWork final : Work {
  p2p::RecvOp recv;
  p2p::SendOp send;
  bool receives = false, sends = false;
  std::unique_ptr<std::byte[]> copy;
  Request* request = nullptr;
  int open = 0;

  static void one_done(p2p::Op& op) {
    PairWork& work = *static_cast<PairWork*>(op.owner);
    if (--work.open == 0) work.finish();
  }
  void finish() noexcept {
    Request& r = *request;
    int error = MPI_SUCCESS;
    if (receives) {
      r.source = recv.from_source;
      r.tag = recv.from_tag;
      r.bytes = static_cast<std::int64_t>(recv.bytes);
      error = error_of(recv);
    } else {
      r.source = MPI_PROC_NULL;
    }
    if (sends && send.status != Status::ok) error = MPI_ERR_PROC_ABORTED;
    finish_work(r, error);
  }
  void start(Request& r) noexcept override {
    request = &r;
    recv.owner = send.owner = this;
    recv.on_done = send.on_done = one_done;
    open = (receives ? 1 : 0) + (sends ? 1 : 0) + 1;
    if (receives) runtime().engine().messages().start(recv);
    if (sends) runtime().engine().messages().start(send);
    if (--open == 0) finish();
  }
};

}  // namespace

namespace api {

#define HERALD_SENDS(name, mode)                                                                       \
  int i##name(Call& call, const void* buf, MPI_Count count, Datatype* datatype, int dest, int tag,     \
              Comm* comm, MPI_Request* request) {                                                      \
    return send_request(call, buf, count, *datatype, dest, tag, comm, mode, Begin::now, request);      \
  }                                                                                                    \
  int name##_init(Call& call, const void* buf, MPI_Count count, Datatype* datatype, int dest, int tag, \
                  Comm* comm, MPI_Request* request) {                                                  \
    return send_request(call, buf, count, *datatype, dest, tag, comm, mode, Begin::later, request);    \
  }
HERALD_SENDS(send, p2p::SendMode::standard)
HERALD_SENDS(ssend, p2p::SendMode::synchronous)
HERALD_SENDS(rsend, p2p::SendMode::ready)
#undef HERALD_SENDS

int irecv(Call& call, void* buf, MPI_Count count, Datatype* datatype, int source, int tag, Comm* comm,
          MPI_Request* request) {
  return recv_request(call, buf, count, *datatype, source, tag, comm, Begin::now, request);
}
int recv_init(Call& call, void* buf, MPI_Count count, Datatype* datatype, int source, int tag, Comm* comm,
              MPI_Request* request) {
  return recv_request(call, buf, count, *datatype, source, tag, comm, Begin::later, request);
}

int isendrecv(Call&, const void* sendbuf, MPI_Count sendcount, Datatype* sendtype, int dest, int sendtag,
              void* recvbuf, MPI_Count recvcount, Datatype* recvtype, int source, int recvtag, Comm* comm,
              MPI_Request* request) {
  auto work = std::make_unique<PairWork>();
  work->receives = source != MPI_PROC_NULL;
  work->sends = dest != MPI_PROC_NULL;
  if (work->receives) fill_recv(work->recv, recvbuf, recvcount, *recvtype, source, recvtag, *comm);
  if (work->sends)
    fill_send(work->send, sendbuf, sendcount, *sendtype, dest, sendtag, *comm, p2p::SendMode::standard);
  *request = handle_of(new_work(comm, std::move(work), false));
  return MPI_SUCCESS;
}

int isendrecv_replace(Call& call, void* buf, MPI_Count count, Datatype* datatype, int dest, int sendtag,
                      int source, int recvtag, Comm* comm, MPI_Request* request) {
  auto work = std::make_unique<PairWork>();
  work->receives = source != MPI_PROC_NULL;
  work->sends = dest != MPI_PROC_NULL;
  if (work->receives) fill_recv(work->recv, buf, count, *datatype, source, recvtag, *comm);
  if (work->sends) {
    fill_send(work->send, buf, count, *datatype, dest, sendtag, *comm, p2p::SendMode::standard);
    const std::size_t bytes = work->send.data.total();
    work->copy.reset(new (std::nothrow) std::byte[bytes]);
    if (work->copy == nullptr)
      return call.fail(MPI_ERR_NO_MEM, "no memory for a copy of the %zu bytes to send; use MPI_Isendrecv",
                       bytes);
    work->send.data.pack(work->copy.get(), bytes);
    work->send.data = type::Cursor::bytes(work->copy.get(), bytes);
  }
  *request = handle_of(new_work(comm, std::move(work), false));
  return MPI_SUCCESS;
}

}  // namespace api
}  // namespace herald::mpi
