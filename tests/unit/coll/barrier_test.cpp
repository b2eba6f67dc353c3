// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: a rank leaves a barrier that another rank has not entered; the barrier never
// completes.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "cases.hpp"
#include "coll/run.hpp"
#include "coll/table.hpp"
#include "job.hpp"

namespace herald::coll {
namespace {

std::vector<Plan> make_plans(const Algorithm& algorithm, int ranks, const Cluster* cluster,
                             std::uint32_t shared_bytes) {
  std::vector<Plan> plans;
  for (int r = 0; r < ranks; ++r) {
    CollSpec spec;
    spec.op = Op::barrier;
    spec.rank = r;
    spec.size = ranks;
    spec.cluster = cluster;
    spec.shared_bytes = shared_bytes;
    spec.in_order = true;
    plans.push_back(make_plan(algorithm, spec));
  }
  return plans;
}

bool waits(StepKind kind) {
  return kind == StepKind::wait_arrived || kind == StepKind::fetch || kind == StepKind::contribute ||
         kind == StepKind::gather;
}

// The hosts of the ranks; without a cluster all share one host.
struct Hosts {
  const Cluster* cluster;
  int ranks;
  int of(int r) const { return cluster == nullptr ? 0 : cluster->host_of(r); }
  int mates(int r) const { return cluster == nullptr ? ranks : cluster->count(of(r)); }
  int mate(int r, int place) const {
    return cluster == nullptr ? place : cluster->on_host(of(r))[static_cast<std::size_t>(place)];
  }
  int leaders() const { return cluster == nullptr ? ranks : cluster->hosts(); }
};

// Runs the plans of all ranks but `absent` as far as possible; returns the ranks that finished.
std::vector<bool> run_without(const Algorithm& algorithm, int ranks, int absent,
                              const Cluster* cluster = nullptr, std::uint32_t shared_bytes = 0) {
  const std::vector<Plan> plans = make_plans(algorithm, ranks, cluster, shared_bytes);
  std::vector<Run> runs(static_cast<std::size_t>(ranks));
  std::vector<std::vector<std::uint32_t>> words;
  for (const Plan& plan : plans) words.emplace_back(Run::words(plan) + 1);
  std::map<std::tuple<int, int, int>, std::vector<StepId>> posted;
  std::map<std::tuple<int, int, int>, int> sent;
  for (int r = 0; r < ranks; ++r)
    runs[static_cast<std::size_t>(r)].begin(plans[static_cast<std::size_t>(r)],
                                            words[static_cast<std::size_t>(r)].data());
  std::set<std::pair<int, bool>> posters;       // the ranks that have posted, by part
  std::map<std::pair<int, bool>, int> arrived;  // at the barrier word of a host, by part
  const Hosts hosts{cluster, ranks};
  int contributions = 0, announced = 0;  // of a fused exchange
  const auto is_ready = [&](int r, const Step& step) {
    switch (step.kind) {
      case StepKind::wait_arrived: return arrived[{hosts.of(r), step.second}] == hosts.mates(r);
      case StepKind::contribute: return announced != 0;
      case StepKind::gather: return contributions == hosts.leaders() - 1;
      default: return posters.count({hosts.mate(r, step.partner), step.second}) != 0;
    }
  };
  std::vector<std::pair<int, StepId>> watching;  // steps that depend on those
  for (bool moved = true; moved;) {
    moved = false;
    std::erase_if(watching, [&](const std::pair<int, StepId>& wait) {
      const Step& step = plans[static_cast<std::size_t>(wait.first)].steps[wait.second];
      const bool ready = is_ready(wait.first, step);
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
        if (step.kind == StepKind::contribute) ++contributions;
        if (step.kind == StepKind::announce) ++announced;
        if (waits(step.kind)) {
          watching.emplace_back(r, id);
          continue;
        }
        if (step.kind == StepKind::post) posters.emplace(r, step.second);
        if (step.kind == StepKind::arrive) ++arrived[{hosts.of(r), step.second}];
        if (step.kind == StepKind::send) ++sent[{r, step.partner, step.tag}];
        for (int other = 0; step.kind == StepKind::cast && other < ranks; ++other)
          if (other != r && (cluster == nullptr || cluster->place_of(other) == 0))
            ++sent[{r, other, step.tag}];
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

TEST(CollBarrier, no_rank_leaves_before_all_have_entered) {
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

TEST(CollBarrier, no_rank_leaves_early_on_hosts_with_several_ranks) {
  for (const Cluster& cluster : clusters())
    for (const std::uint32_t shared_bytes : {0u, kSharedBytes}) {
      const Algorithm& algorithm = *find_algorithm(Op::barrier, "two_level");
      for (int absent = -1; absent < cluster.ranks(); ++absent)
        for (const bool done : run_without(algorithm, cluster.ranks(), absent, &cluster, shared_bytes))
          EXPECT_EQ(done, absent < 0) << cluster.hosts() << " hosts, without rank " << absent;
    }
}

}  // namespace
}  // namespace herald::coll
