// SPDX-License-Identifier: BSD-3-Clause
// mpi/coll_brief.cpp: short calls of all hosts at once, by musters: what a blocking one takes is a step or
// two, so it goes without the runner of plans (coll_run.cpp).
#include "mpi/coll_run.hpp"
#include "mpi/op.hpp"
#include "mpi/request_complete.hpp"
#include "type/pack.hpp"

namespace herald::mpi {

void fill_muster(p2p::MusterOp& op, const Comm& comm, const coll::Step& step, const coll::Places& places,
                 std::uint32_t number) noexcept {
  op.step = step.kind == coll::StepKind::report    ? p2p::MusterStep::report
            : step.kind == coll::StepKind::collect ? p2p::MusterStep::collect
                                                   : p2p::MusterStep::tell;
  op.lane = static_cast<CommColl&>(*comm.coll).lane;
  op.number = number;
  op.members = static_cast<std::uint32_t>(step.partner);
  op.data = cursor(step.a, places);
  if (step.kind == coll::StepKind::report) op.into = cursor(step.b, places);
}

int run_brief(Comm& comm, const coll::Plan& plan, const Execution::Binding& binding) noexcept {
  alignas(64) std::byte scratch[coll::kBriefScratch];
  coll::Places places;
  places.at[0] = reinterpret_cast<std::uintptr_t>(binding.send);
  places.at[1] = reinterpret_cast<std::uintptr_t>(binding.recv);
  places.at[2] = reinterpret_cast<std::uintptr_t>(scratch);
  const std::uint32_t number = static_cast<CommColl&>(*comm.coll).musters++;
  ++comm.collective_count;
  ++coll_counters.runs;
  int error = MPI_SUCCESS;
  const auto note = [&](int one) {
    if (error == MPI_SUCCESS) error = one;
  };
  for (std::uint32_t i = 0; i < plan.size(); ++i) {
    const coll::Step& step = plan.steps[i];
    if (step.kind == coll::StepKind::copy) {
      type::Cursor from = cursor(step.a, places), to = cursor(step.b, places);
      if (from.total() > to.total()) note(MPI_ERR_TRUNCATE);
      type::copy(from, to);
    } else if (step.kind == coll::StepKind::reduce) {
      note(reduce_into(*binding.op, *binding.datatype, places.of(step.a), places.of(step.b), step.a.count));
    } else {
      p2p::MusterOp op;
      fill_muster(op, comm, step, places, number);
      runtime().engine().muster(op);
      if (op.status != Status::ok) note(error_of(op.status));
    }
  }
  return error;
}

}  // namespace herald::mpi
