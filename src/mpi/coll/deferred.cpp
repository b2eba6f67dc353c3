// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/coll/deferred.hpp"

#include <utility>

#include "mpi/coll/state.hpp"

namespace herald::mpi {

DeferredColl::DeferredColl(Comm& comm, const CollCall& call, const coll::Key& key, Finisher finisher) noexcept
    : comm_(comm), call_(call), key_(key), finisher_(finisher) {
  const auto keep = [this](const type::Layout* layout) {
    if (layout != nullptr) layouts_.emplace_back(layout);
  };
  keep(call_.spec.send.layout);
  keep(call_.spec.recv.layout);
  for (const type::Layout* layout : call_.send_layouts) keep(layout);
  for (const type::Layout* layout : call_.recv_layouts) keep(layout);
  if (call_.binding.op != nullptr) retain(call_.binding.op);
  if (call_.binding.datatype != nullptr) retain(call_.binding.datatype);
}

void DeferredColl::release_objects() noexcept {
  if (call_.binding.op != nullptr) release(std::exchange(call_.binding.op, nullptr));
  if (call_.binding.datatype != nullptr) release(std::exchange(call_.binding.datatype, nullptr));
}

void DeferredColl::start(Request& request) noexcept {
  request_ = &request;
  coll_state(comm_).team.call_when_agreed(
      {[](void* self) { static_cast<DeferredColl*>(self)->begin(); }, this});
}

void DeferredColl::begin() noexcept {
  coll_state(comm_).team.describe_segment(call_.spec, false);
  work_ = make_work(comm_, find_plan(comm_, call_, key_), call_.binding, finisher_);
  release_objects();
  if (!work_) return finish_work(*request_, MPI_ERR_NO_MEM);
  // The request stays until start() returns, also if the program has freed it.
  Request& request = *request_;
  const bool detached = std::exchange(request.detached, false);
  work_->start(request);
  request.detached = detached;
  if (detached && request.ready()) destroy(&request);
}

}  // namespace herald::mpi
