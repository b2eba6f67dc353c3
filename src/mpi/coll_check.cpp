// SPDX-License-Identifier: BSD-3-Clause
// mpi/coll_check.cpp: HERALD_CHECK=collectives: what a run tells the other ranks of its call, and what it
// says when they make another.
#include <cstdio>
#include <cstring>

#include "mpi/coll_choice.hpp"
#include "mpi/coll_run.hpp"

namespace herald::mpi {

bool checks_collectives() noexcept { return list_has(runtime().knobs().check, "collectives"); }

void Execution::write_facts(const Binding& binding) noexcept {
  coll::Facts facts = cached_->facts;
  facts.form = binding.form;
  if (binding.op != nullptr) {
    const char* name = binding.op->kind == Op::Kind::predefined ? binding.op->name
                       : binding.op->commutes                   ? "a commuting user op"
                                                                : "an ordered user op";
    std::snprintf(facts.reduction, sizeof facts.reduction, "%s", name);
  }
  reason_.clear();
  std::memcpy(reinterpret_cast<void*>(places_.at[static_cast<int>(coll::Buffer::scratch)]), &facts,
              sizeof facts);
}

bool Execution::check_facts(const coll::Step& step) noexcept {
  const auto* records = static_cast<const coll::Facts*>(places_.of(step.a));
  const coll::Mismatch mismatch = coll::find_mismatch(records, comm_->rank, comm_->size);
  if (mismatch.one == nullptr) return true;
  reason_ = "the ranks of this communicator make calls that do not match: " + text_of(mismatch) +
            "; let all ranks make the same collective calls in the same order (found by "
            "HERALD_CHECK=collectives)";
  note(MPI_ERR_OTHER);
  return false;
}

}  // namespace herald::mpi
