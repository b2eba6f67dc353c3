// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/deferred_coll.hpp"

#include <utility>

#include "mpi/coll_agree.hpp"

namespace herald::mpi {

coll::CachedPlan* find_plan(Comm& comm, CollCall& wanted, coll::Key& key) noexcept {
  write_key_head(key, wanted.ask);
  const std::int64_t* words = key.words().data();
  const auto point = [&](coll::Blocks& blocks, const CollCall::Rows& rows,
                         const std::vector<const type::Layout*>& layouts) {
    if (!rows.used) return;
    blocks.counts = words + rows.at;
    blocks.displacements = words + rows.at + rows.count;
    if (!layouts.empty()) blocks.layouts = layouts.data();
  };
  point(wanted.ask.send, wanted.send_rows, wanted.send_layouts);
  point(wanted.ask.recv, wanted.recv_rows, wanted.recv_layouts);
  std::vector<const type::Layout*> named = wanted.send_layouts;  // empty but for MPI_Alltoallw
  named.insert(named.end(), wanted.recv_layouts.begin(), wanted.recv_layouts.end());
  return find_plan(comm, wanted.ask, key, named);
}

DeferredColl::DeferredColl(Comm& comm, const CollCall& wanted, const coll::Key& key) noexcept
    : comm_(comm), call_spec_(wanted), key_(key) {
  const auto keep = [this](const type::Layout* layout) {
    if (layout != nullptr) layouts_.emplace_back(layout);
  };
  keep(call_spec_.ask.send.layout);
  keep(call_spec_.ask.recv.layout);
  for (const type::Layout* layout : call_spec_.send_layouts) keep(layout);
  for (const type::Layout* layout : call_spec_.recv_layouts) keep(layout);
  if (call_spec_.binding.op != nullptr) retain(call_spec_.binding.op);
  if (call_spec_.binding.datatype != nullptr) retain(call_spec_.binding.datatype);
}

DeferredColl::~DeferredColl() { let_go(); }

void DeferredColl::let_go() noexcept {
  if (call_spec_.binding.op != nullptr) release(std::exchange(call_spec_.binding.op, nullptr));
  if (call_spec_.binding.datatype != nullptr) release(std::exchange(call_spec_.binding.datatype, nullptr));
}

void DeferredColl::start(Request& request) noexcept {
  request_ = &request;
  coll_state(comm_).agreement->hold(*this);
}

void DeferredColl::go_on() noexcept {
  coll_state(comm_).tell(call_spec_.ask, false);
  Execution* run = Execution::make(comm_, find_plan(comm_, call_spec_, key_), call_spec_.binding);
  let_go();
  if (run == nullptr) return finish_work(*request_, MPI_ERR_NO_MEM);
  if (then_ != nullptr) run->call_then(then_, argument_);
  run_.reset(run);
  // The request stays until start() returns, also if the user has let it go.
  Request& request = *request_;
  const bool detached = std::exchange(request.detached, false);
  run_->start(request);
  request.detached = detached;
  if (detached && request.ready()) destroy(&request);
}

}  // namespace herald::mpi
