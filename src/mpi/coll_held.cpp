// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/coll_held.hpp"

#include <utility>

#include "mpi/coll_agree.hpp"

namespace herald::mpi {

coll::Kept* find_plan(Comm& comm, Wanted& wanted, coll::Key& key) noexcept {
  write_key_head(key, wanted.ask);
  const std::int64_t* words = key.words().data();
  const auto point = [&](coll::Blocks& blocks, const Wanted::Rows& rows,
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

Held::Held(Comm& comm, const Wanted& wanted, const coll::Key& key) noexcept
    : comm_(comm), wanted_(wanted), key_(key) {
  const auto keep = [this](const type::Layout* layout) {
    if (layout != nullptr) layouts_.emplace_back(layout);
  };
  keep(wanted_.ask.send.layout);
  keep(wanted_.ask.recv.layout);
  for (const type::Layout* layout : wanted_.send_layouts) keep(layout);
  for (const type::Layout* layout : wanted_.recv_layouts) keep(layout);
  if (wanted_.binding.op != nullptr) retain(wanted_.binding.op);
  if (wanted_.binding.datatype != nullptr) retain(wanted_.binding.datatype);
}

Held::~Held() { let_go(); }

void Held::let_go() noexcept {
  if (wanted_.binding.op != nullptr) release(std::exchange(wanted_.binding.op, nullptr));
  if (wanted_.binding.datatype != nullptr) release(std::exchange(wanted_.binding.datatype, nullptr));
}

void Held::start(Request& request) noexcept {
  request_ = &request;
  coll_state(comm_).agreement->hold(*this);
}

void Held::go_on() noexcept {
  coll_state(comm_).tell(wanted_.ask, false);
  Execution* run = Execution::make(comm_, find_plan(comm_, wanted_, key_), wanted_.binding);
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
