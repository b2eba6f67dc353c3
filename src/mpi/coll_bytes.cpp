// SPDX-License-Identifier: BSD-3-Clause
// mpi/coll_bytes.cpp: the collectives that the library itself calls.
#include "coll/table.hpp"
#include "mpi/coll.hpp"
#include "mpi/coll_run.hpp"
#include "type/basic.hpp"

namespace herald::mpi {
namespace {

Execution* prepare(Comm& comm, coll::Op op, int root, const void* send, void* recv, std::size_t bytes,
                   int agreement = -1) noexcept {
  const type::Layout& byte = type::basic_layout(type::Basic::byte);
  coll::Ask ask;
  ask.op = op;
  ask.rank = comm.rank;
  ask.size = comm.size;
  ask.root = root;
  ask.bytes = bytes;
  const auto count = static_cast<std::int64_t>(bytes);
  if (send != nullptr) ask.send = {coll::Buffer::send, &byte, count};
  if (recv != nullptr) ask.recv = {coll::Buffer::recv, &byte, count};
  if (agreement < 0) {
    ask.shared_bytes = coll_state(comm).shared_bytes(false);
    ask.streams = coll_state(comm).streams;
  }
  coll::Key& key = coll_state(comm).key;
  key.clear();
  key.grow(kKeyHead);
  write_key_head(key, ask);
  Execution::Binding binding;
  binding.send = send;
  binding.recv = recv;
  binding.agreement = agreement;
  return Execution::make(comm, find_plan(comm, ask, key, {}), binding);
}

int run(Execution* execution) noexcept {
  if (execution == nullptr) return MPI_ERR_NO_MEM;
  const int error = execution->run();
  Execution::recycle(execution);
  return error;
}

}  // namespace

int allgather_bytes(Comm& comm, const void* mine, void* all, std::size_t bytes_each) noexcept {
  return run(prepare(comm, coll::Op::allgather, 0, mine, all, bytes_each));
}

int bcast_bytes(Comm& comm, void* data, std::size_t bytes, int root) noexcept {
  return run(prepare(comm, coll::Op::bcast, root, nullptr, data, bytes));
}

int barrier(Comm& comm) noexcept { return run(prepare(comm, coll::Op::barrier, 0, nullptr, nullptr, 0)); }

int agree_bytes(Comm& comm, int round, coll::Op op, const void* mine, void* all, std::size_t bytes) noexcept {
  return run(prepare(comm, op, 0, mine, all, bytes, round));
}

int agree_on_host(Comm& comm, int round, const std::vector<int>& ranks, int place, void* data,
                  std::size_t bytes) noexcept {
  coll::Ask ask;
  ask.op = coll::Op::bcast;
  ask.rank = place;
  ask.size = static_cast<int>(ranks.size());
  ask.bytes = bytes;
  ask.recv = {coll::Buffer::recv, &type::basic_layout(type::Basic::byte), static_cast<std::int64_t>(bytes)};
  coll::Builder builder;
  builder.among(ranks);
  const coll::Algorithm& binomial = *coll::find_algorithm(coll::Op::bcast, "binomial");
  binomial.make(ask, builder);
  auto* kept = new coll::Kept;
  kept->plan = builder.finish(binomial.name);
  kept->plan.operation = name_of(ask.op);
  Execution::Binding binding;
  binding.recv = data;
  binding.agreement = round;
  return run(Execution::make(comm, kept, binding));
}

std::unique_ptr<Work> ibcast_bytes(Comm& comm, void* data, std::size_t bytes, int root, int (*then)(void*),
                                   void* argument) noexcept {
  Execution* execution = prepare(comm, coll::Op::bcast, root, nullptr, data, bytes);
  if (execution != nullptr) execution->call_then(then, argument);
  return std::unique_ptr<Work>(execution);
}

}  // namespace herald::mpi
