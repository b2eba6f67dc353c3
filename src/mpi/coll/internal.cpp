// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/coll/internal.hpp"

#include "mpi/coll/deferred.hpp"
#include "mpi/coll/state.hpp"
#include "type/basic.hpp"

namespace herald::mpi {
namespace {

CollCall call_of(Comm& comm, coll::Op op, int root, const void* send, void* recv,
                 std::size_t bytes) noexcept {
  const type::Layout& byte = type::basic_layout(type::Basic::byte);
  CollCall call;
  call.spec.op = op;
  call.spec.rank = comm.rank;
  call.spec.size = comm.size;
  call.spec.root = root;
  call.spec.bytes = bytes;
  const auto count = static_cast<std::int64_t>(bytes);
  if (send != nullptr) call.spec.send = {coll::Buffer::send, &byte, count};
  if (recv != nullptr) call.spec.recv = {coll::Buffer::recv, &byte, count};
  call.binding.send = send;
  call.binding.recv = recv;
  return call;
}

// The key of a call that begins now.
coll::Key& begin(Comm& comm) noexcept {
  exec::Team& team = coll_state(comm).team;
  if (team.agreeing()) team.await_agreement();
  return new_key(comm);
}

CollCall::Rows add_rows(coll::Key& key, const std::vector<std::int64_t>& sizes) noexcept {
  const CollCall::Rows rows{true, key.words().size(), sizes.size()};
  for (const std::int64_t size : sizes) key.add(size);
  std::int64_t at = 0;
  for (const std::int64_t size : sizes) {
    key.add(at);
    at += size;
  }
  return rows;
}

int run(Comm& comm, CollCall call, coll::Key& key) noexcept {
  coll_state(comm).team.describe_segment(call.spec, false);
  exec::Runner* runner = make_runner(comm, find_plan(comm, call, key), call.binding);
  if (runner == nullptr) return MPI_ERR_NO_MEM;
  (void)runner->run();
  const int error = error_of(*runner);
  exec::Runner::recycle(runner);
  return error;
}

std::unique_ptr<Work> begin_work(Comm& comm, CollCall call, coll::Key& key, Finisher finisher) noexcept {
  exec::Team& team = coll_state(comm).team;
  if (team.agreeing()) return std::make_unique<DeferredColl>(comm, call, key, finisher);
  team.describe_segment(call.spec, false);
  return make_work(comm, find_plan(comm, call, key), call.binding, finisher);
}

CollCall alltoallv_call(Comm& comm, const void* send, void* recv) noexcept {
  CollCall call = call_of(comm, coll::Op::alltoallv, 0, send, recv, 0);
  const type::Layout& byte = type::basic_layout(type::Basic::byte);
  call.spec.send = {coll::Buffer::send, &byte};
  call.spec.recv = {coll::Buffer::recv, &byte};
  return call;
}

}  // namespace

int allgather_bytes(Comm& comm, const void* mine, void* all, std::size_t bytes_each) noexcept {
  return run(comm, call_of(comm, coll::Op::allgather, 0, mine, all, bytes_each), begin(comm));
}

int bcast_bytes(Comm& comm, void* data, std::size_t bytes, int root) noexcept {
  return run(comm, call_of(comm, coll::Op::bcast, root, nullptr, data, bytes), begin(comm));
}

int alltoall_bytes(Comm& comm, const void* send, void* recv, std::size_t bytes_each) noexcept {
  return run(comm, call_of(comm, coll::Op::alltoall, 0, send, recv, bytes_each), begin(comm));
}

int alltoallv_bytes(Comm& comm, const void* send, const std::vector<std::int64_t>& send_bytes, void* recv,
                    const std::vector<std::int64_t>& recv_bytes) noexcept {
  CollCall call = alltoallv_call(comm, send, recv);
  coll::Key& key = begin(comm);
  call.send_rows = add_rows(key, send_bytes);
  call.recv_rows = add_rows(key, recv_bytes);
  return run(comm, call, key);
}

int barrier(Comm& comm) noexcept {
  return run(comm, call_of(comm, coll::Op::barrier, 0, nullptr, nullptr, 0), begin(comm));
}

std::unique_ptr<Work> ibcast_bytes(Comm& comm, void* data, std::size_t bytes, int root,
                                   Finisher finisher) noexcept {
  return begin_work(comm, call_of(comm, coll::Op::bcast, root, nullptr, data, bytes), new_key(comm),
                    finisher);
}

std::unique_ptr<Work> iallgather_bytes(Comm& comm, const void* mine, void* all,
                                       std::size_t bytes_each) noexcept {
  return begin_work(comm, call_of(comm, coll::Op::allgather, 0, mine, all, bytes_each), new_key(comm), {});
}

std::unique_ptr<Work> ialltoallv_bytes(Comm& comm, const void* send,
                                       const std::vector<std::int64_t>& send_bytes, void* recv,
                                       const std::vector<std::int64_t>& recv_bytes) noexcept {
  CollCall call = alltoallv_call(comm, send, recv);
  coll::Key& key = new_key(comm);
  call.send_rows = add_rows(key, send_bytes);
  call.recv_rows = add_rows(key, recv_bytes);
  return begin_work(comm, call, key, {});
}

}  // namespace herald::mpi
