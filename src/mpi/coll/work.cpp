// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/coll/work.hpp"

#include <utility>

#include "mpi/coll/op.hpp"
#include "mpi/coll/state.hpp"
#include "mpi/core/request_complete.hpp"

namespace herald::mpi {
namespace {

void reduce(const exec::Reduction& self, const void* in, void* inout, std::int64_t count) noexcept {
  (void)reduce_into(*static_cast<const Op*>(self.op), *static_cast<Datatype*>(self.datatype), in, inout,
                    count);
}

}  // namespace

exec::Runner* make_runner(Comm& comm, coll::CachedPlan* cached, const CollBinding& binding) noexcept {
  exec::Binding bound;
  bound.send = binding.send;
  bound.recv = binding.recv;
  bound.reduction = {reduce, binding.op, binding.datatype};
  bound.matching.persistent = binding.persistent;
  coll::Facts facts;
  if (cached->plan.checked) [[unlikely]] {
    facts = facts_for(*cached, binding);
    bound.facts = &facts;
  }
  return exec::Runner::make(coll_state(comm).team, cached, bound);
}

int error_of(const exec::Runner& runner) noexcept {
  if (runner.status() != Status::bad_argument) return error_of(runner.status());
  return runner.mismatch().empty() ? MPI_ERR_BUFFER : MPI_ERR_OTHER;
}

CollWork::CollWork(exec::Runner* runner, const CollBinding& binding, Finisher finisher) noexcept
    : runner_(runner), op_(binding.op), datatype_(binding.datatype), finisher_(finisher) {
  if (op_ != nullptr) retain(op_);
  if (datatype_ != nullptr) retain(datatype_);
}

CollWork::~CollWork() {
  exec::Runner::recycle(runner_);
  if (op_ != nullptr) release(op_);
  if (datatype_ != nullptr) release(datatype_);
}

void CollWork::start(Request& request) noexcept {
  request_ = &request;
  runner_->start({[](void* self) { static_cast<CollWork*>(self)->finish(); }, this});
}

void CollWork::finish() noexcept {
  int error = error_of(*runner_);
  if (!runner_->mismatch().empty()) [[unlikely]]
    reason_ = mismatch_of(*runner_);
  if (finisher_.function != nullptr) {
    const int finished = finisher_.function(finisher_.argument);
    if (error == MPI_SUCCESS) error = finished;
  }
  // A request that the program has freed destroys this object: nothing may follow.
  finish_work(*std::exchange(request_, nullptr), error);
}

std::unique_ptr<Work> make_work(Comm& comm, coll::CachedPlan* cached, const CollBinding& binding,
                                Finisher finisher) noexcept {
  exec::Runner* runner = make_runner(comm, cached, binding);
  if (runner == nullptr) return nullptr;
  return std::make_unique<CollWork>(runner, binding, finisher);
}

}  // namespace herald::mpi
