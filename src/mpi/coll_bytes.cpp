// SPDX-License-Identifier: BSD-3-Clause
// mpi/coll_bytes.cpp: the collectives that the library itself calls.
#include "coll/table.hpp"
#include "mpi/coll.hpp"
#include "mpi/coll_agree.hpp"
#include "type/basic.hpp"

namespace herald::mpi {
namespace {

CollCall wanted(Comm& comm, coll::Op op, int root, const void* send, void* recv, std::size_t bytes) noexcept {
  const type::Layout& byte = type::basic_layout(type::Basic::byte);
  CollCall all;
  all.ask.op = op;
  all.ask.rank = comm.rank;
  all.ask.size = comm.size;
  all.ask.root = root;
  all.ask.bytes = bytes;
  const auto count = static_cast<std::int64_t>(bytes);
  if (send != nullptr) all.ask.send = {coll::Buffer::send, &byte, count};
  if (recv != nullptr) all.ask.recv = {coll::Buffer::recv, &byte, count};
  all.binding.send = send;
  all.binding.recv = recv;
  return all;
}

coll::Key& new_key(Comm& comm) noexcept {
  coll::Key& key = coll_state(comm).key;
  key.clear();
  key.grow(kKeyHead);
  return key;
}

Execution* make(Comm& comm, CollCall& all) noexcept {
  return Execution::make(comm, find_plan(comm, all, new_key(comm)), all.binding);
}

int run(Execution* execution) noexcept {
  if (execution == nullptr) return MPI_ERR_NO_MEM;
  const int error = execution->run();
  Execution::recycle(execution);
  return error;
}

}  // namespace

static int call(Comm& comm, coll::Op op, int root, const void* send, void* recv, std::size_t bytes) noexcept {
  CommColl& state = coll_state(comm);
  if (state.agreement) state.await_agreement();
  CollCall all = wanted(comm, op, root, send, recv, bytes);
  state.tell(all.ask, false);
  return run(make(comm, all));
}

int allgather_bytes(Comm& comm, const void* mine, void* all, std::size_t bytes_each) noexcept {
  return call(comm, coll::Op::allgather, 0, mine, all, bytes_each);
}

int bcast_bytes(Comm& comm, void* data, std::size_t bytes, int root) noexcept {
  return call(comm, coll::Op::bcast, root, nullptr, data, bytes);
}

int barrier(Comm& comm) noexcept { return call(comm, coll::Op::barrier, 0, nullptr, nullptr, 0); }

Execution* agree_bytes(Comm& comm, int round, const void* mine, void* all, std::size_t bytes) noexcept {
  CollCall what = wanted(comm, coll::Op::allgather, 0, mine, all, bytes);
  what.binding.agreement = round;
  return make(comm, what);
}

Execution* agree_on_host(Comm& comm, int round, const std::vector<int>& ranks, int place, void* data,
                         std::size_t bytes) noexcept {
  coll::CollSpec ask;
  ask.op = coll::Op::bcast;
  ask.rank = place;
  ask.size = static_cast<int>(ranks.size());
  ask.bytes = bytes;
  ask.recv = {coll::Buffer::recv, &type::basic_layout(type::Basic::byte), static_cast<std::int64_t>(bytes)};
  coll::Builder builder;
  builder.map_ranks(ranks);
  const coll::Algorithm& binomial = *coll::find_algorithm(coll::Op::bcast, "binomial");
  binomial.make(ask, builder);
  auto* cached = new coll::CachedPlan;
  cached->plan = builder.finish(binomial.name);
  cached->plan.operation = name_of(ask.op);
  Execution::Binding binding;
  binding.recv = data;
  binding.agreement = round;
  return Execution::make(comm, cached, binding);
}

std::unique_ptr<Work> ibcast_bytes(Comm& comm, void* data, std::size_t bytes, int root, int (*then)(void*),
                                   void* argument) noexcept {
  CommColl& state = coll_state(comm);
  CollCall all = wanted(comm, coll::Op::bcast, root, nullptr, data, bytes);
  if (state.agreement) {
    auto held = std::make_unique<DeferredColl>(comm, all, new_key(comm));
    held->call_then(then, argument);
    return held;
  }
  state.tell(all.ask, false);
  Execution* execution = make(comm, all);
  if (execution != nullptr) execution->call_then(then, argument);
  return std::unique_ptr<Work>(execution);
}

}  // namespace herald::mpi
