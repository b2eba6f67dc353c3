// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: a rank leaves a barrier that another one has not reached; the barrier never ends.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "coll/run.hpp"
#include "coll/table.hpp"
#include "job.hpp"

namespace herald::coll {
namespace {

// Runs the plans of all ranks but `absent` as far as they go; tells which ranks finished.
std::vector<bool> run_without(const Algorithm& algorithm, int ranks, int absent) {
  std::vector<Plan> plans;
  std::vector<Run> runs(static_cast<std::size_t>(ranks));
  std::vector<std::vector<std::uint32_t>> words;
  for (int r = 0; r < ranks; ++r) {
    Ask ask;
    ask.op = Op::barrier;
    ask.rank = r;
    ask.size = ranks;
    plans.push_back(make_plan(algorithm, ask));
    words.emplace_back(Run::words(plans.back()) + 1);
  }
  std::map<std::tuple<int, int, int>, std::vector<StepId>> posted;
  std::map<std::tuple<int, int, int>, int> sent;
  for (int r = 0; r < ranks; ++r)
    runs[static_cast<std::size_t>(r)].begin(plans[static_cast<std::size_t>(r)],
                                            words[static_cast<std::size_t>(r)].data());
  std::vector<bool> told(static_cast<std::size_t>(ranks), false);  // has posted
  int arrived = 0;                                                 // at the one meeting
  std::vector<std::pair<int, StepId>> watching;                    // steps that wait for those
  for (bool moved = true; moved;) {
    moved = false;
    std::erase_if(watching, [&](const std::pair<int, StepId>& wait) {
      const Step& step = plans[static_cast<std::size_t>(wait.first)].steps[wait.second];
      const bool ready =
          step.kind == StepKind::meet ? arrived == ranks : told[static_cast<std::size_t>(step.partner)];
      if (ready) runs[static_cast<std::size_t>(wait.first)].complete(wait.second);
      moved = moved || ready;
      return ready;
    });
    for (int r = 0; r < ranks; ++r) {
      if (r == absent) continue;
      Run& run = runs[static_cast<std::size_t>(r)];
      for (StepId id = run.next(); id != kNone; id = run.next()) {
        const Step& step = plans[static_cast<std::size_t>(r)].steps[id];
        moved = true;
        if (step.kind == StepKind::recv) {
          posted[{step.partner, r, step.tag}].push_back(id);
          continue;
        }
        if (step.kind == StepKind::meet || step.kind == StepKind::fetch) {
          watching.emplace_back(r, id);
          continue;
        }
        if (step.kind == StepKind::post) told[static_cast<std::size_t>(r)] = true;
        if (step.kind == StepKind::arrive) ++arrived;
        if (step.kind == StepKind::send) ++sent[{r, step.partner, step.tag}];
        for (int other = 0; step.kind == StepKind::cast && other < ranks; ++other)
          if (other != r) ++sent[{r, other, step.tag}];
        run.complete(id);
      }
    }
    for (auto& [channel, count] : sent) {
      std::vector<StepId>& waiting = posted[channel];
      for (; count > 0 && !waiting.empty(); --count, moved = true) {
        runs[static_cast<std::size_t>(std::get<1>(channel))].complete(waiting.front());
        waiting.erase(waiting.begin());
      }
    }
  }
  std::vector<bool> done;
  for (const Run& run : runs) done.push_back(run.done());
  return done;
}

TEST(CollBarrier, nobody_leaves_before_all_have_come) {
  for (const Algorithm* algorithm : algorithms()) {
    if (algorithm->op != Op::barrier) continue;
    for (const int ranks : {1, 2, 3, 5, 8, 13, 33}) {
      Shape shape;
      shape.ranks = ranks;
      shape.shared_bytes = kSharedBytes;
      shape.lane = true;
      if (!algorithm->fits(shape)) continue;
      for (const bool done : run_without(*algorithm, ranks, -1)) EXPECT_TRUE(done) << algorithm->name;
      for (int absent = 0; ranks > 1 && absent < ranks; ++absent) {
        const std::vector<bool> done = run_without(*algorithm, ranks, absent);
        for (int r = 0; r < ranks; ++r)
          EXPECT_FALSE(done[static_cast<std::size_t>(r)])
              << algorithm->name << ": rank " << r << " of " << ranks << " left before rank " << absent
              << " came";
      }
    }
  }
}

}  // namespace
}  // namespace herald::coll
