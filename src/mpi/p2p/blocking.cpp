// SPDX-License-Identifier: BSD-3-Clause
// Blocking point-to-point: the operation lives on the caller's stack.
#include <cstddef>
#include <memory>

#include "calls.hpp"
#include "mpi/core/request_complete.hpp"
#include "mpi/core/status.hpp"
#include "mpi/core/waiting.hpp"
#include "mpi/p2p/p2p.hpp"

namespace herald::mpi {
namespace {

int finish_recv(Call& call, const p2p::RecvOp& op, MPI_Status* status) noexcept {
  set_status(status, op.from_source, op.from_tag, static_cast<std::int64_t>(op.bytes), false);
  // Without a division, as most units are powers of two.
  const std::uint64_t below = op.unit - 1u;
  const bool whole = (op.unit & below) == 0 && (op.bytes & below) == 0;
  if (op.status == Status::ok && whole) [[likely]]
    return MPI_SUCCESS;
  return error_of(op) == MPI_SUCCESS ? MPI_SUCCESS : fail_receive(call, op);
}

// Contiguous data that can leave as one packet needs no operation.
bool send_at_once(const void* buf, MPI_Count count, const Datatype& datatype, int dest, int tag,
                  const Comm& comm) noexcept {
  const type::Layout& layout = *datatype.layout;
  if (!layout.dense()) return false;
  const auto address = reinterpret_cast<std::uintptr_t>(buf) + static_cast<std::uintptr_t>(layout.true_lb());
  return runtime().engine().messages().try_send(
      {.context = comm.context,
       .data = reinterpret_cast<const void*>(address),
       .bytes = static_cast<std::uint64_t>(layout.size()) * static_cast<std::uint64_t>(count),
       .to = comm.peer(dest),
       .tag = tag,
       .source = comm.rank});
}

int send_and_wait(Call& call, const void* buf, MPI_Count count, const Datatype& datatype, int dest, int tag,
                  const Comm& comm, p2p::SendMode mode) noexcept {
  if (dest == MPI_PROC_NULL) return MPI_SUCCESS;
  if (mode != p2p::SendMode::synchronous && send_at_once(buf, count, datatype, dest, tag, comm))
    return MPI_SUCCESS;
  p2p::SendOp op;
  fill_send(op, buf, count, datatype, dest, tag, comm, mode);
  op.at_once = true;
  runtime().engine().messages().start(op);
  wait_until([&] { return op.done; }, [&](ShownWait& wait) { show_send(wait, op, &comm); });
  return op.status == Status::ok ? MPI_SUCCESS : fail_lost(call, op.to);
}

struct Exchange {
  p2p::RecvOp recv;
  p2p::SendOp send;
  bool receives = false, sends = false;

  void run(const Comm& comm) noexcept {
    recv.at_once = send.at_once = true;
    if (receives) runtime().engine().messages().start(recv);
    if (sends) runtime().engine().messages().start(send);
    wait_until([&] { return (!receives || recv.done) && (!sends || send.done); },
               [&](ShownWait& wait) {
                 if (receives && !recv.done) show_receive(wait, recv, &comm);
                 if (sends && !send.done) show_send(wait, send, &comm);
               });
  }
  int finish(Call& call, MPI_Status* status) const noexcept {
    if (sends && send.status != Status::ok) return fail_lost(call, send.to);
    if (receives) return finish_recv(call, recv, status);
    set_proc_null_status(status);
    return MPI_SUCCESS;
  }
};

}  // namespace

namespace api {

int send(Call& call, const void* buf, MPI_Count count, Datatype* datatype, int dest, int tag, Comm* comm) {
  return send_and_wait(call, buf, count, *datatype, dest, tag, *comm, p2p::SendMode::standard);
}
int ssend(Call& call, const void* buf, MPI_Count count, Datatype* datatype, int dest, int tag, Comm* comm) {
  return send_and_wait(call, buf, count, *datatype, dest, tag, *comm, p2p::SendMode::synchronous);
}
int rsend(Call& call, const void* buf, MPI_Count count, Datatype* datatype, int dest, int tag, Comm* comm) {
  return send_and_wait(call, buf, count, *datatype, dest, tag, *comm, p2p::SendMode::ready);
}

int recv(Call& call, void* buf, MPI_Count count, Datatype* datatype, int source, int tag, Comm* comm,
         MPI_Status* status) {
  if (source == MPI_PROC_NULL) return set_proc_null_status(status), MPI_SUCCESS;
  p2p::RecvOp op;
  fill_recv(op, buf, count, *datatype, source, tag, *comm);
  op.at_once = true;
  runtime().engine().messages().start_and_poll(op);
  if (!op.done) wait_until([&] { return op.done; }, [&](ShownWait& wait) { show_receive(wait, op, comm); });
  return finish_recv(call, op, status);
}

int sendrecv(Call& call, const void* sendbuf, MPI_Count sendcount, Datatype* sendtype, int dest, int sendtag,
             void* recvbuf, MPI_Count recvcount, Datatype* recvtype, int source, int recvtag, Comm* comm,
             MPI_Status* status) {
  Exchange both;
  both.receives = source != MPI_PROC_NULL;
  both.sends = dest != MPI_PROC_NULL;
  if (both.receives) fill_recv(both.recv, recvbuf, recvcount, *recvtype, source, recvtag, *comm);
  if (both.sends)
    fill_send(both.send, sendbuf, sendcount, *sendtype, dest, sendtag, *comm, p2p::SendMode::standard);
  both.run(*comm);
  return both.finish(call, status);
}

int sendrecv_replace(Call& call, void* buf, MPI_Count count, Datatype* datatype, int dest, int sendtag,
                     int source, int recvtag, Comm* comm, MPI_Status* status) {
  Exchange both;
  both.receives = source != MPI_PROC_NULL;
  both.sends = dest != MPI_PROC_NULL;
  std::unique_ptr<std::byte[]> copy;
  if (both.receives) fill_recv(both.recv, buf, count, *datatype, source, recvtag, *comm);
  if (both.sends) {
    fill_send(both.send, buf, count, *datatype, dest, sendtag, *comm, p2p::SendMode::standard);
    const std::size_t bytes = both.send.data.total();
    copy.reset(new (std::nothrow) std::byte[bytes]);
    if (copy == nullptr)
      return call.fail(MPI_ERR_NO_MEM, "no memory for a copy of the %zu bytes to send; use MPI_Sendrecv",
                       bytes);
    both.send.data.pack(copy.get(), bytes);
    both.send.data = type::Cursor::bytes(copy.get(), bytes);
  }
  both.run(*comm);
  return both.finish(call, status);
}

}  // namespace api
}  // namespace herald::mpi
