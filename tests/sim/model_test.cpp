// SPDX-License-Identifier: BSD-3-Clause
// The methods by which a cluster is measured, on a network whose parameters are known: a method that counts
// a phase twice, or a fit that smooths a step away, would be wrong on every real cluster without notice.
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <memory>
#include <vector>

#include "model/evaluator.hpp"
#include "model/fit.hpp"
#include "sim/net/net.hpp"

namespace herald::sim {
namespace {

constexpr Instant kEnd{3'600'000'000'000};

class Host final : public Node {
 public:
  Host(Net& net, HostId me) : net_(net), me_(me) { net.attach(me, *this); }
  void turn(Instant now) override {
    if (begin) {
      const auto first = std::move(begin);
      begin = {};
      first();
    }
    Arrival arrival;
    while (net_.receive(me_, arrival)) {
      arrivals.push_back(now);
      if (on_arrival) on_arrival(now, arrival.bytes.size());
    }
  }
  Instant wake_at() const override { return kNever; }
  void send(HostId to, std::size_t bytes) { net_.send(me_, 0, to, std::vector<std::byte>(bytes)); }

  std::function<void()> begin;
  std::function<void(Instant, std::size_t)> on_arrival;
  std::vector<Instant> arrivals;

 private:
  Net& net_;
  HostId me_;
};

struct Truth {
  double bits = 1e8;
  double wire_ns(double payload) const {
    return static_cast<double>(wire_bytes(static_cast<std::uint32_t>(payload))) * 8e9 / bits;
  }
  static constexpr double kDelay = 10'000, kSwitch = 3'000, kWake = 5'000;
  double latency(double payload) const { return 2 * wire_ns(payload) + 2 * kDelay + kSwitch; }
};

NetConfig network(const Truth& truth, int hosts, std::uint32_t port_bytes = 512'000) {
  NetConfig config;
  config.hosts = hosts;
  config.shape.bits_per_second = static_cast<std::uint64_t>(truth.bits);
  config.shape.delay = Duration{static_cast<std::int64_t>(Truth::kDelay)};
  config.shape.port_bytes = port_bytes;
  config.shape.nic_bytes = 64 << 20;
  config.switch_delay = Duration{static_cast<std::int64_t>(Truth::kSwitch)};
  config.wake = Duration{static_cast<std::int64_t>(Truth::kWake)};
  config.wake_jitter = config.per_turn = config.per_datagram = Duration{0};
  return config;
}

struct Hosts {
  explicit Hosts(const NetConfig& config) : net(config) {
    for (HostId i = 0; i < config.hosts; ++i) all.push_back(std::make_unique<Host>(net, i));
  }
  Host& operator[](std::size_t i) { return *all[i]; }
  Net net;
  std::vector<std::unique_ptr<Host>> all;
};

double round_trip(const Truth& truth, std::size_t bytes) {
  Hosts hosts(network(truth, 2));
  constexpr int kTrips = 20;
  hosts[0].begin = [&] { hosts[0].send(1, bytes); };
  hosts[1].on_arrival = [&](Instant, std::size_t size) { hosts[1].send(0, size); };
  hosts[0].on_arrival = [&](Instant, std::size_t size) {
    if (hosts[0].arrivals.size() < kTrips) hosts[0].send(1, size);
  };
  hosts.net.run(kEnd);
  return static_cast<double>(hosts[0].arrivals.back().ns) / kTrips;
}

// The gap between packets at a receiver to which `senders` hosts send at once.
double gap(const Truth& truth, int senders, std::size_t bytes) {
  Hosts hosts(network(truth, senders + 1, 64 << 20));
  constexpr int kEach = 400;
  for (int from = 1; from <= senders; ++from)
    hosts[static_cast<std::size_t>(from)].begin = [&hosts, from, bytes] {
      for (int i = 0; i < kEach; ++i) hosts[static_cast<std::size_t>(from)].send(0, bytes);
    };
  hosts.net.run(kEnd);
  const std::vector<Instant>& seen = hosts[0].arrivals;
  return static_cast<double>(seen.back().ns - seen.front().ns) / static_cast<double>(seen.size() - 1);
}

model::Function fit_over_sizes(const std::function<double(std::size_t)>& measure) {
  std::vector<model::Point> points;
  for (const std::size_t bytes : {1u, 18u, 64u, 256u, 700u, 1400u}) {
    const double ns = measure(bytes);
    points.push_back({static_cast<double>(bytes), ns, ns * 0.01});
  }
  return model::fit(points);
}

TEST(ModelSim, measures_a_known_network_back_within_5_percent) {
  for (const double bits : {1e8, 1e9}) {
    const Truth truth{bits};
    const model::Function none = model::Function::line(0, 0), wake = model::Function::line(Truth::kWake, 0);
    std::vector<model::Point> trips;
    for (const std::size_t bytes : {1u, 18u, 64u, 256u, 700u, 1400u})
      trips.push_back({static_cast<double>(bytes), round_trip(truth, bytes), 10});
    const model::Function latency = model::fit_latency(trips, none, none, wake);
    const model::Function send_gap = fit_over_sizes([&](std::size_t m) { return gap(truth, 1, m); });
    const model::Function recv_gap = fit_over_sizes([&](std::size_t m) { return gap(truth, 4, m); });
    for (double m = 1; m <= 1400; m += 33) {
      EXPECT_NEAR(latency.at(m), truth.latency(m), truth.latency(m) * 0.05) << m;
      EXPECT_NEAR(send_gap.at(m), truth.wire_ns(m), truth.wire_ns(m) * 0.05) << m;
      EXPECT_NEAR(recv_gap.at(m), truth.wire_ns(m), truth.wire_ns(m) * 0.05) << m;
    }
  }
}

TEST(ModelSim, finds_the_buffer_of_a_port_within_5_percent) {
  for (const std::uint32_t frames : {40u, 85u, 300u}) {
    std::vector<model::Flood> floods;
    constexpr int kSenders = 4;
    for (const int each : {40, 80, 160, 320, 640}) {
      Hosts hosts(network(Truth{}, kSenders + 1, frames * 1538));
      for (int from = 1; from <= kSenders; ++from)
        hosts[static_cast<std::size_t>(from)].begin = [&hosts, from, each] {
          for (int i = 0; i < each; ++i) hosts[static_cast<std::size_t>(from)].send(0, 1472);
        };
      hosts.net.run(kEnd);
      const double sent = each * kSenders;
      floods.push_back({sent, static_cast<double>(hosts[0].arrivals.size()) / sent});
    }
    const model::Buffer found = model::fit_buffer(floods);
    ASSERT_TRUE(found.found);
    EXPECT_NEAR(found.items, frames, frames * 0.05 + 1);
    EXPECT_NEAR(found.rate, 0.25, 0.02);
  }
}

// A gather of packets from all hosts, as simulated and as predicted from the known parameters.
TEST(ModelSim, predicts_a_gather_that_the_network_carries_out) {
  const Truth truth;
  for (const int senders : {3, 7, 15})
    for (const int packets : {1, 4, 12}) {
      Hosts hosts(network(truth, senders + 1, 64 << 20));
      for (int from = 1; from <= senders; ++from)
        hosts[static_cast<std::size_t>(from)].begin = [&hosts, from, packets] {
          for (int i = 0; i < packets; ++i) hosts[static_cast<std::size_t>(from)].send(0, 1400);
        };
      hosts.net.run(kEnd);
      model::Parameters p;
      model::PathParameters& udp = p.of(model::Path::udp);
      udp.send_gap = udp.recv_gap = model::Function::line(truth.wire_ns(1400) - 1400 * 80, 80);
      udp.latency = model::Function::line(truth.latency(1400) - 1400 * 160, 160);
      udp.user_recv = model::Function::line(0, 0);
      udp.eager_bytes = udp.packet_bytes = 1472;
      p.wake_ns = Truth::kWake;
      model::Schedule schedule;
      schedule.ranks = schedule.hosts = senders + 1;
      for (int rank = 0; rank <= senders; ++rank) {
        schedule.host.push_back(rank);
        schedule.first.push_back(static_cast<std::uint32_t>(schedule.steps.size()));
        for (int i = 0; i < packets * (rank == 0 ? senders : 1); ++i) {
          model::Step step;
          step.kind = rank == 0 ? model::Kind::recv : model::Kind::send;
          step.partner = rank == 0 ? 1 + i % senders : 0;
          step.bytes = 1400;
          schedule.steps.push_back(step);
        }
      }
      schedule.first.push_back(static_cast<std::uint32_t>(schedule.steps.size()));
      schedule.steps.emplace_back();
      const model::Prediction predicted = model::Evaluator().run(schedule, p);
      ASSERT_TRUE(predicted.complete);
      const double simulated = static_cast<double>(hosts[0].arrivals.back().ns);
      EXPECT_NEAR(predicted.ns, simulated, simulated * 0.05) << senders << " senders, " << packets;
    }
}

}  // namespace
}  // namespace herald::sim
