// SPDX-License-Identifier: BSD-3-Clause
// mpi/coll/check.cpp: HERALD_CHECK=collectives: what a rank tells the others of its call, and the error text
// when they make another one.
#include <cstdio>

#include "mpi/coll/choice.hpp"
#include "mpi/coll/work.hpp"

namespace herald::mpi {

bool checks_collectives() noexcept { return list_has(runtime().knobs().check, "collectives"); }

coll::Facts facts_for(const coll::CachedPlan& cached, const CollBinding& binding) noexcept {
  coll::Facts facts = cached.facts;
  facts.form = binding.form;
  if (binding.datatype != nullptr && binding.datatype->layout->basic() != type::Basic::none)
    facts.repr = static_cast<std::uint8_t>(type::row_of(binding.datatype->layout->basic()).repr);
  if (binding.op != nullptr) {
    const char* name = binding.op->kind == Op::Kind::predefined ? binding.op->name
                       : binding.op->commutes                   ? "a commuting user op"
                                                                : "an ordered user op";
    std::snprintf(facts.reduction, sizeof facts.reduction, "%s", name);
  }
  return facts;
}

std::string mismatch_of(const exec::Runner& runner) noexcept {
  if (runner.mismatch().empty()) return {};
  return "the ranks of this communicator make calls that do not match: " + runner.mismatch() +
         "; let all ranks make the same collective calls in the same order (found by "
         "HERALD_CHECK=collectives)";
}

}  // namespace herald::mpi
