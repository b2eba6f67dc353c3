// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/coll/choice.hpp"

#include <array>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/knobs.hpp"
#include "coll/explain.hpp"
#include "coll/predict.hpp"
#include "mpi/core/runtime.hpp"

using namespace std::string_view_literals;

namespace herald::mpi {
namespace {

// Names of the algorithms for `op` that fit.
std::string names(coll::Op op, const coll::Shape& shape) {
  std::string list;
  for (const coll::Algorithm* row : coll::algorithms())
    if (row->op == op && row->fits(shape)) list += (list.empty() ? "" : ", ") + std::string(row->name);
  return list;
}

void warn(coll::Op op, const char* forced, const coll::Shape& shape, const coll::Algorithm& taken) noexcept {
  static std::array<bool, coll::kOps> told{};
  bool& mine = told[static_cast<std::size_t>(op)];
  if (mine || runtime().engine().peers().rank() != 0) return;
  mine = true;
  std::fprintf(stderr,
               "herald: warning: HERALD_COLL: %s=%s does not fit a call on %d ranks%s; %s is used there. "
               "Those that fit: %s\n",
               name_of(op), forced, shape.ranks,
               shape.commutes ? "" : " with an operation that does not commute", taken.name,
               names(op, shape).c_str());
}

// HERALD_VERBOSE=3 shows what is chosen whenever a plan is made.
const coll::Algorithm& report(const coll::Algorithm& chosen, const coll::CollSpec& spec,
                              const coll::Shape& shape, exec::Team& team) noexcept {
  if (runtime().knobs().explain != 0 && spec.rank == 0) [[unlikely]] {
    const std::string text = coll::explain_choice(chosen, spec.bytes, shape, team.cluster(), team.measured());
    (void)std::fputs(text.c_str(), stderr);
  }
  if (runtime().knobs().verbose >= 3) [[unlikely]]
    std::fprintf(stderr, "herald: rank %d: %s of %llu bytes on %d ranks by %s\n",
                 runtime().engine().peers().rank(), name_of(spec.op),
                 static_cast<unsigned long long>(spec.bytes), spec.size, chosen.name);
  return chosen;
}

// By prediction, corrected by run times. `trial`: that the next calls belong to; 0: none.
const coll::Algorithm& choose_measured(const coll::CollSpec& spec, const coll::Shape& shape, CommColl& state,
                                       coll::Trials::Id& trial) noexcept {
  const coll::Trials::Kind kind{spec.op, spec.commutes, spec.bytes};
  coll::Trials::Id id = 0;
  if (const coll::Trial* const known = state.trials.find(kind, id)) {
    if (!known->is_settled()) trial = id;
    return known->current();
  }
  const coll::Algorithm* const before = state.team.tried_before(spec.op, spec.bytes);
  if (before != nullptr && before->fits(shape) && before->estimate(spec.bytes, shape) < coll::kNeverNs)
    return *before;
  const auto ranked =
      coll::Predictor(*state.team.measured()).ranked(spec.op, spec.bytes, shape, state.team.cluster());
  if (ranked.size() > 1) {
    std::vector<coll::Trial::Candidate> candidates;
    for (const coll::Predictor::Candidate& each : ranked)
      candidates.push_back({each.algorithm, each.prediction.ns});
    trial = state.trials.add(kind, coll::Trial(std::move(candidates)));
  }
  return *ranked.front().algorithm;
}

}  // namespace

const coll::Algorithm& choose_algorithm(const coll::CollSpec& spec, const coll::Shape& shape, CommColl& state,
                                        coll::Trials::Id& trial) noexcept {
  trial = 0;
  const coll::Algorithm* named =
      coll::find_algorithm(spec.op, list_value(runtime().knobs().coll, name_of(spec.op)));
  const auto fits = [&] { return named->fits(shape) && named->estimate(spec.bytes, shape) < coll::kNeverNs; };
  if (named != nullptr && fits()) return report(*named, spec, shape, state.team);
  const coll::Algorithm& best = state.team.measured() == nullptr ? coll::choose(spec.op, spec.bytes, shape)
                                                                 : choose_measured(spec, shape, state, trial);
  // The first calls on a communicator have no collective segment yet: no warning.
  const auto on_segment = [&] { return named->name == "shared"sv || named->name == "stream"sv; };
  if (named != nullptr && !on_segment()) warn(spec.op, named->name, shape, best);
  return report(best, spec, shape, state.team);
}

}  // namespace herald::mpi
