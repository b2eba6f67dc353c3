// SPDX-License-Identifier: BSD-3-Clause
#include "sim/job/setup_maker.hpp"

#include <algorithm>

#include "sim/job/pattern.hpp"
#include "sim/net/chance.hpp"

namespace herald::sim {

SetupMaker::SetupMaker(std::uint64_t seed, std::uint64_t stream, Setup& setup)
    : chance_(pattern_seed(seed, stream)), setup_(setup) {
  setup_.seed = seed;
}

Instant SetupMaker::some_time() { return Instant{} + up_to(chance_, likely_); }

void SetupMaker::plan(Instant at, std::string what, std::function<void(Net&)> run) {
  setup_.plan.push_back({at, std::move(what), std::move(run)});
  setup_.trouble_ends = std::max(setup_.trouble_ends, at);
}

void SetupMaker::burst() {
  Faults& faults = setup_.net.faults;
  faults.burst_enter = one_of({0.002, 0.01});
  faults.burst_leave = one_of({0.05, 0.1, 0.3});
  faults.burst_loss = one_of({0.5, 0.8, 0.95});
}

void SetupMaker::spoil() {
  Faults& faults = setup_.net.faults;
  faults.flip = one_of({0.001, 0.02, 0.1});
  faults.truncate = one_of({0.0, 0.02});
  faults.garbage = one_of({0.0, 0.05});
}

void SetupMaker::storm() {
  setup_.net.faults = {.loss = 0.03,
                       .common_loss = 0.01,
                       .burst_enter = 0.001,
                       .burst_leave = 0.1,
                       .burst_loss = 0.9,
                       .reorder = 0.05,
                       .duplicate = 0.03,
                       .replay = 0.005,
                       .flip = 0.01,
                       .truncate = 0.005,
                       .garbage = 0.01};
}

void SetupMaker::some_loss() {
  if (chance_.below(3) == 0) setup_.net.faults.loss = 0.005;
}

void SetupMaker::end_faults() {
  Faults& faults = setup_.net.faults;
  faults.reorder_by = microseconds(one_of<std::int64_t>({20, 200, 2000}));
  const double bad = faults.burst_enter > 0
                         ? faults.burst_enter / (faults.burst_enter + faults.burst_leave) * faults.burst_loss
                         : 0;
  loss_ = 1 - (1 - faults.loss) * (1 - faults.common_loss) * (1 - bad) * (1 - faults.flip) *
                  (1 - faults.truncate) * (1 - faults.multicast_loss);
}

void SetupMaker::pauses() {
  for (std::uint64_t n = chance_.below(3) + 1; n != 0; --n) {
    const HostId host = some_host();
    const Duration how_long = milliseconds(between(chance_, 1, chance_.below(4) == 0 ? 3000 : 100));
    const Instant begin = some_time();
    plan(begin, "host " + std::to_string(host) + " stops",
         [host, how_long](Net& net) { net.pause(host, how_long); });
    plan(begin + how_long, "host " + std::to_string(host) + " goes on", [](Net&) {});
  }
}

void SetupMaker::preemptions() {
  const auto processors = static_cast<HostId>(between(chance_, 1, 3));
  const Duration run = milliseconds(between(chance_, 1, 40)), gone = milliseconds(between(chance_, 2, 150));
  const Duration under_way = std::min(Duration{4 * likely_.ns + 50'000'000}, milliseconds(5000));
  for (HostId which = 0; which < processors; ++which) {
    Instant at = Instant{} + up_to(chance_, run);
    while (at < Instant{} + under_way) {
      const Duration how_long = up_to(chance_, gone);
      plan(at, "processor " + std::to_string(which) + " is taken away", [=](Net& net) {
        for (HostId host = which; host < net.config().hosts; host += processors) net.pause(host, how_long);
      });
      at = at + how_long;
      plan(at, "processor " + std::to_string(which) + " is back", [](Net&) {});
      at = at + microseconds(100) + up_to(chance_, run);
    }
  }
}

void SetupMaker::death() {
  setup_.dies = some_host();
  setup_.death = some_time();
  setup_.told = chance_.below(2) == 0 ? setup_.death + milliseconds(between(chance_, 0, 2000)) : kNever;
  setup_.trouble_ends = setup_.death + setup_.process.mesh.give_up;
}

void SetupMaker::replays() {
  setup_.net.faults.replay = one_of({0.1, 0.5});
  setup_.net.faults.replay_by = milliseconds(12'000);
}

void SetupMaker::flaps() {
  setup_.resume_within = milliseconds(500);
  likely_ = milliseconds(200);
  const HostId host = some_host();
  const std::string name = "the cable of host " + std::to_string(host);
  Instant at = some_time();
  for (std::int64_t n = between(chance_, 3, 8); n != 0; --n) {
    plan(at, name + " is out", [host](Net& net) { net.fabric().set_link(host, kNoLink, false); });
    at = at + milliseconds(between(chance_, 100, 2000));
    plan(at, name + " is in", [host](Net& net) { net.fabric().set_link(host, kNoLink, true); });
    at = at + milliseconds(between(chance_, 100, chance_.below(2) == 0 ? 300 : 2000));
  }
}

void SetupMaker::cable() {
  const HostId host = some_host();
  const std::string name = "the cable of host " + std::to_string(host);
  Instant at = some_time();
  for (int i = 0; i < 6; ++i) {
    plan(at, name + " is out", [host](Net& net) { net.fabric().set_link(host, kNoLink, false); });
    plan(at + milliseconds(450), name + " is in",
         [host](Net& net) { net.fabric().set_link(host, kNoLink, true); });
    at = at + milliseconds(950);
  }
}

void SetupMaker::narrow_port() {
  const HostId host = some_host();
  const std::uint32_t full = setup_.process.mesh.datagram_bytes;
  setup_.resume_within = milliseconds(2000);
  setup_.narrow = true;
  std::uint32_t longest = one_of<std::uint32_t>({1372, 1272, 1000, 548});
  if (full > 2000 && chance_.below(2) == 0) longest = 1472;
  longest = std::min(longest, full - 8);
  plan(chance_.below(2) == 0 ? Instant{} : some_time(),
       "the port of host " + std::to_string(host) + " drops datagrams of more than " +
           std::to_string(longest) + " bytes",
       [host, longest](Net& net) { net.fabric().set_line(host, kNoLink, {.longest = longest}); });
}

// One link stays: another dies, or is out and in again.
void SetupMaker::links() {
  const auto bad = static_cast<std::uint8_t>(chance_.below(setup_.net.links));
  setup_.process.hears_of_links = chance_.below(2) == 0;
  const HostId host = some_host();
  const std::string name = "link " + std::to_string(bad) + " of host " + std::to_string(host);
  Instant at = some_time();
  for (std::uint64_t n = chance_.below(4) + 1; n != 0; --n) {
    plan(at, name + " is down", [host, bad](Net& net) { net.fabric().set_link(host, bad, false); });
    if (n == 1 && chance_.below(2) == 0) break;  // for good
    at = at + milliseconds(between(chance_, 1, 400));
    plan(at, name + " is up", [host, bad](Net& net) { net.fabric().set_link(host, bad, true); });
    at = at + milliseconds(between(chance_, 1, 400));
  }
}

void SetupMaker::key_and_size() {
  rel::MeshConfig& mesh = setup_.process.mesh;
  mesh.seal.key = {chance_.next(), chance_.next()};
  mesh.seal.epoch = static_cast<std::uint32_t>(chance_.below(4));
  mesh.datagram_bytes = one_of<std::uint32_t>({1472, 1472, 1472, 8972, 600});
  mesh.budget_bytes = std::min<std::uint32_t>(192 << 10, setup_.net.shape.port_bytes * 3 / 4);
  mesh.eager_packets = rel::eager_window(mesh.budget_bytes, mesh.datagram_bytes,
                                         static_cast<std::uint32_t>(setup_.net.hosts) - 1);
}

}  // namespace herald::sim
