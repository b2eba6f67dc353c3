// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: where processors are taken away for some ten milliseconds again and again, as on
// machines whose owner rents them out twice, a job waits for more than that: for timers that were made long
// by the pauses, for credit that shrank, for repairs of what was not lost. Each of two processors is there
// for 20 ms and gone for 25, half of the hosts on each, and the network goes on. The time of a job less that
// in which either processor was gone is held against the time when none is: it is less, for something is done
// while one is gone, and how much less was measured. A source that shortens its pipe to two packets when
// answers are late does not pass.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "coll/table.hpp"
#include "sim/job/job.hpp"
#include "sim/net/chance.hpp"

namespace herald::sim {
namespace {

constexpr unsigned kSeeds = 5;
constexpr HostId kProcessors = 2;
constexpr Duration kThere = milliseconds(40), kGone = milliseconds(50);  // at most: half of it on average
constexpr Duration kAfter = milliseconds(10'000);

struct Preemption {
  Instant from, to;
};

Setup network(std::int32_t hosts, std::uint64_t bits_per_second) {
  Setup setup;
  setup.net.hosts = hosts;
  setup.net.shape.bits_per_second = bits_per_second;
  setup.net.shape.port_bytes = 262'144;
  setup.net.socket_bytes = 1 << 20;
  setup.script.steps.resize(static_cast<std::size_t>(hosts));
  setup.limit = milliseconds(60'000);
  return setup;
}

Setup many_to_one() {
  Setup setup = network(8, 100'000'000);
  Script& script = setup.script;
  for (std::int32_t from = 1; from < setup.net.hosts; ++from) {
    const auto index = static_cast<std::uint32_t>(script.sends.size());
    script.sends.push_back({from, 0, 1, 1, 1 << 20, p2p::SendMode::standard});
    script.receives.push_back({0, 1, from, 1, 1 << 20, false});
    script.steps[static_cast<std::size_t>(from)] = {{Do::send, index}, {Do::wait_send, index}};
    script.steps[0].push_back({Do::receive, index});
  }
  script.steps[0].push_back({Do::wait_all});
  return setup;
}

Setup over_a_lane(std::int32_t hosts, std::uint64_t bits_per_second, coll::Op op, std::int64_t items,
                  std::uint32_t times) {
  Setup setup = network(hosts, bits_per_second);
  Script& script = setup.script;
  LaneSpec lane{.members = {}, .name = 77, .context = 100};
  for (std::int32_t i = 0; i < hosts; ++i) lane.members.push_back(i);
  script.lanes.push_back(std::move(lane));
  for (auto& steps : script.steps) steps.push_back({Do::open_lane, 0});
  for (std::uint32_t i = 0; i < times; ++i) {
    const coll::Algorithm* const cast = coll::find_algorithm(op, "cast");
    script.collectives.push_back({.op = op, .algorithm = cast, .count = items, .number = i});
    for (auto& steps : script.steps) {
      steps.push_back({Do::collect, i});
      steps.push_back({Do::wait_collect, i});
    }
  }
  return setup;
}

std::vector<Preemption> steal(Setup& setup, std::uint64_t seed) {
  std::vector<Preemption> preemptions;
  Prng chance(seed);
  for (HostId which = 0; which < kProcessors; ++which)
    for (Instant at = Instant{} + up_to(chance, kThere); at < Instant{} + kAfter;) {
      const Duration how_long = up_to(chance, kGone);
      preemptions.push_back({at, at + how_long});
      setup.plan.push_back({at, "gone", [=](Net& net) {
                              for (HostId host = which; host < net.config().hosts; host += kProcessors)
                                net.pause(host, how_long);
                            }});
      at = at + how_long + up_to(chance, kThere);
    }
  std::sort(preemptions.begin(), preemptions.end(),
            [](const Preemption& a, const Preemption& b) { return a.from < b.from; });
  return preemptions;
}

// Of the time before `end`: when a processor was gone.
Duration gone_before(const std::vector<Preemption>& preemptions, Instant end) {
  Duration sum{};
  Instant seen{};
  for (const Preemption& each : preemptions) {
    const Instant from = std::max(each.from, seen), to = std::min(each.to, end);
    if (to <= from) continue;
    sum.ns += (to - from).ns;
    seen = to;
  }
  return sum;
}

Result run(const Setup& setup) {
  const Result result = run_job(setup);
  EXPECT_TRUE(result.good()) << (result.wrong.empty() ? "" : result.wrong.front());
  return result;
}

void expect_share_of_quiet(double share, const Setup& plain) {
  const Duration quiet = run(plain).finished - Instant{};
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Setup setup = plain;
    setup.seed = setup.net.seed = seed;
    const std::vector<Preemption> preemptions = steal(setup, seed);
    const Instant finished = run(setup).finished;
    const Duration gone = gone_before(preemptions, finished);
    EXPECT_GT(gone, Duration{}) << "nothing was tried";
    EXPECT_LE(static_cast<double>(finished.ns - gone.ns), share * static_cast<double>(quiet.ns))
        << "seed " << seed << ": " << finished.ns / 1000 << " us, of which a processor was gone for "
        << gone.ns / 1000 << "; otherwise " << quiet.ns / 1000;
  }
}

TEST(Stolen, many_to_one_waits_for_no_more) { expect_share_of_quiet(0.5, many_to_one()); }

TEST(Stolen, a_broadcast_waits_for_no_more) {
  expect_share_of_quiet(0.96, over_a_lane(4, 1'000'000'000, coll::Op::bcast, 4 << 20, 1));
}

TEST(Stolen, broadcasts_in_turn_wait_for_no_more) {
  expect_share_of_quiet(0.85, over_a_lane(8, 100'000'000, coll::Op::bcast, 1 << 18, 2));
}

TEST(Stolen, an_allgather_waits_for_no_more) {
  expect_share_of_quiet(0.82, over_a_lane(8, 100'000'000, coll::Op::allgather, 1 << 16, 1));
}

}  // namespace
}  // namespace herald::sim
