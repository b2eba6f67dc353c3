// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: the network itself is at fault: it is faster or slower than its lines, keeps what
// should be lost or loses what should be kept, forgets a datagram, or runs differently from the same seed.
// Then what the protocols show on it would mean nothing.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include "sim/net/net.hpp"

namespace herald::sim {
namespace {

struct Seen {
  Instant at;
  HostId from;
  std::uint8_t link;
  std::vector<std::byte> bytes;
};

// Sends what it is told in its first turn, and notes what comes.
class Plain final : public Node {
 public:
  Plain(Net& net, HostId me) : net_(net), me_(me) { net.attach(me, *this); }
  void turn(Instant now) override {
    Arrival arrival;
    while (net_.receive(me_, arrival))
      seen.push_back({now, arrival.from, arrival.link, {arrival.bytes.begin(), arrival.bytes.end()}});
    if (act) act(now);
  }
  Instant wake_at() const override { return wake; }

  std::function<void(Instant)> act;
  std::vector<Seen> seen;
  Instant wake = kNever;

 private:
  Net& net_;
  HostId me_;
};

struct Cluster {
  explicit Cluster(const NetConfig& config) : net(config) {
    for (HostId i = 0; i < config.hosts; ++i) nodes.push_back(std::make_unique<Plain>(net, i));
  }
  Plain& operator[](std::size_t i) { return *nodes[i]; }
  Net net;
  std::vector<std::unique_ptr<Plain>> nodes;
};

NetConfig quick() {
  NetConfig config;
  config.wake = config.wake_jitter = config.per_turn = config.per_datagram = Duration{0};
  config.switch_delay = Duration{0};
  return config;
}

const std::vector<std::byte> kFull(1472, std::byte{7});
constexpr Instant kLong{3'600'000'000'000};

// `count` full datagrams from host 0 to host 1, at once.
void flood(Cluster& cluster, int count, HostId to = 1) {
  auto once = std::make_shared<bool>(false);
  cluster[0].act = [&cluster, count, to, once](Instant) {
    if (*once) return;
    *once = true;
    for (int i = 0; i < count; ++i) cluster.net.send(0, 0, to, kFull);
  };
}

TEST(SimNet, a_datagram_takes_the_time_of_two_lines) {
  NetConfig config = quick();
  config.shape.bits_per_second = 100'000'000;
  config.shape.delay = microseconds(10);
  Cluster cluster(config);
  flood(cluster, 3);
  cluster.net.run(kLong);
  ASSERT_EQ(cluster[1].seen.size(), 3u);
  // 1538 bytes at 100 Mbit/s: 123.04 us on each line; the second one follows on its heels.
  EXPECT_EQ(cluster[1].seen[0].at.ns, 2 * (123'040 + 10'000));
  EXPECT_EQ(cluster[1].seen[2].at.ns, 2 * (123'040 + 10'000) + 2 * 123'040);
  EXPECT_EQ(cluster[1].seen[0].from, 0);
  EXPECT_EQ(cluster[1].seen[0].bytes, kFull);
  EXPECT_EQ(cluster.net.under_way(), 0u);
}

TEST(SimNet, short_datagrams_fill_a_frame) {
  EXPECT_EQ(wire_bytes(0), 84u);
  EXPECT_EQ(wire_bytes(18), 84u);
  EXPECT_EQ(wire_bytes(19), 85u);
  EXPECT_EQ(wire_bytes(1472), 1538u);
}

TEST(SimNet, a_port_holds_its_bytes_and_no_more) {
  NetConfig config = quick();
  config.hosts = 3;
  config.shape.port_bytes = 20 * 1538;
  Cluster cluster(config);
  for (std::size_t from : {1u, 2u}) {
    auto once = std::make_shared<bool>(false);
    cluster[from].act = [&cluster, from, once](Instant) {
      for (int i = 0; !*once && i < 100; ++i) cluster.net.send(static_cast<HostId>(from), 0, 0, kFull);
      *once = true;
    };
  }
  cluster.net.run(kLong);
  // Twice as much comes in as goes out: about 20 wait at first, half of the rest is lost.
  EXPECT_NEAR(static_cast<double>(cluster[0].seen.size()), 120, 2);
  EXPECT_EQ(cluster.net.counters().port_full, 200 - cluster[0].seen.size());
  EXPECT_EQ(cluster.net.under_way(), 0u);
}

TEST(SimNet, a_full_interface_says_so_and_later_that_it_is_not) {
  NetConfig config = quick();
  config.shape.nic_bytes = 10 * 1538;
  Cluster cluster(config);
  int left = 100, turns = 0;
  cluster[0].act = [&](Instant) {
    ++turns;
    for (; left > 0 && cluster.net.may_send(0); --left) cluster.net.send(0, 0, 1, kFull);
  };
  cluster.net.run(kLong);
  EXPECT_EQ(left, 0);
  EXPECT_EQ(cluster[1].seen.size(), 100u);
  EXPECT_GT(turns, 10);
  EXPECT_LT(turns, 40);
}

TEST(SimNet, a_full_interface_drops_if_it_is_one_that_does) {
  NetConfig config = quick();
  config.nic_drops = true;
  config.shape.nic_bytes = 10 * 1538;
  Cluster cluster(config);
  flood(cluster, 100);
  cluster.net.run(kLong);
  EXPECT_EQ(cluster[1].seen.size(), 10u);
  EXPECT_EQ(cluster.net.counters().nic_full, 90u);
}

TEST(SimNet, a_paused_host_loses_what_its_socket_does_not_hold) {
  NetConfig config = quick();
  config.socket_bytes = 50 * (1472 + 768);
  Cluster cluster(config);
  flood(cluster, 80);
  cluster.net.at(Instant{1}, "pause", [](Net& net) { net.pause(1, milliseconds(50)); });
  cluster.net.run(kLong);
  ASSERT_EQ(cluster[1].seen.size(), 50u);
  EXPECT_EQ(cluster[1].seen[0].at.ns, 50'000'001);
  EXPECT_EQ(cluster.net.counters().socket_full, 30u);
}

TEST(SimNet, a_dead_host_neither_speaks_nor_hears) {
  Cluster cluster(quick());
  cluster.net.at(Instant{500'000}, "host 1 dies", [](Net& net) { net.kill(1); });
  flood(cluster, 150);
  bool spoke = false;
  cluster[1].act = [&](Instant now) { spoke = spoke || now.ns > 500'000; };
  cluster.net.run(kLong);
  EXPECT_FALSE(spoke);
  EXPECT_LT(cluster[1].seen.size(), 45u);
  EXPECT_EQ(cluster[1].seen.size() + cluster.net.counters().cut_off, 150u);
  EXPECT_EQ(cluster.net.under_way(), 0u);
}

TEST(SimNet, a_link_that_goes_down_takes_along_what_is_on_it) {
  NetConfig config = quick();
  config.links = 2;
  Cluster cluster(config);
  flood(cluster, 100);
  cluster.net.at(Instant{300'000}, "down", [](Net& net) { net.fabric().set_link(1, 0, false); });
  cluster.net.at(Instant{400'000}, "up", [](Net& net) { net.fabric().set_link(1, 0, true); });
  cluster.net.run(kLong);
  const std::size_t heard = cluster[1].seen.size();
  EXPECT_GT(heard, 80u);
  EXPECT_LT(heard, 95u);
  EXPECT_EQ(heard + cluster.net.counters().cut_off, 100u);
}

TEST(SimNet, links_are_separate) {
  NetConfig config = quick();
  config.links = 2;
  Cluster cluster(config);
  cluster.net.fabric().set_switch(0, false);
  cluster[0].act = [&](Instant) {
    cluster.net.send(0, 0, 1, kFull);
    cluster.net.send(0, 1, 1, kFull);
  };
  cluster.net.run(kLong);
  ASSERT_EQ(cluster[1].seen.size(), 1u);
  EXPECT_EQ(cluster[1].seen[0].link, 1);
}

TEST(SimNet, a_partition_divides_and_heals) {
  for (const bool one_way : {false, true}) {
    NetConfig config = quick();
    config.hosts = 4;
    Cluster cluster(config);
    cluster.net.fabric().partition({0, 0, 1, 1}, kNoLink, one_way);
    for (std::size_t from = 0; from < 4; ++from)
      cluster[from].act = [&cluster, from](Instant now) {
        if (now.ns != 0 && now.ns != 1'000'000) return;
        for (HostId to = 0; to < 4; ++to)
          if (to != static_cast<HostId>(from)) cluster.net.send(static_cast<HostId>(from), 0, to, kFull);
      };
    cluster.net.run(Instant{500'000});
    EXPECT_EQ(cluster[0].seen.size(), one_way ? 3u : 1u);  // the lower side hears the higher one
    EXPECT_EQ(cluster[2].seen.size(), 1u);
    cluster.net.fabric().partition({});
    for (HostId host = 0; host < 4; ++host) cluster.net.poke(host, Instant{1'000'000});
    cluster.net.run(kLong);
    EXPECT_EQ(cluster[2].seen.size(), 4u);
  }
}

double heard_share(const Faults& faults, int count) {
  NetConfig config = quick();
  config.faults = faults;
  config.shape.nic_bytes = config.shape.port_bytes = 1u << 30;
  config.socket_bytes = 1u << 30;
  Cluster cluster(config);
  flood(cluster, count);
  cluster.net.run(kLong);
  return static_cast<double>(cluster[1].seen.size()) / count;
}

TEST(SimNet, losses_are_as_frequent_as_asked) {
  EXPECT_NEAR(heard_share({.loss = 0.1}, 20000), 0.9, 0.01);
  EXPECT_NEAR(heard_share({.common_loss = 0.3}, 20000), 0.7, 0.015);
  EXPECT_NEAR(heard_share({.duplicate = 0.2}, 20000), 1.2, 0.015);
  EXPECT_NEAR(heard_share({.garbage = 0.2}, 20000), 1.2, 0.015);
  // Bad for 10 packets of 110 on average, and 8 of those 10 are lost.
  EXPECT_NEAR(heard_share({.burst_enter = 0.01, .burst_leave = 0.1, .burst_loss = 0.8}, 50000), 1 - 8.0 / 110,
              0.02);
}

TEST(SimNet, spoiled_datagrams_differ_and_the_others_do_not) {
  NetConfig config = quick();
  config.faults.flip = 0.25;
  config.faults.truncate = 0.25;
  config.shape.nic_bytes = config.shape.port_bytes = 1u << 30;
  Cluster cluster(config);
  flood(cluster, 2000);
  cluster.net.run(kLong);
  std::uint64_t wrong = 0;
  for (const Seen& each : cluster[1].seen) wrong += each.bytes != kFull ? 1 : 0;
  EXPECT_EQ(cluster[1].seen.size(), 2000u);
  EXPECT_GT(wrong, 700u);
  EXPECT_LE(wrong, cluster.net.counters().spoiled);
}

TEST(SimNet, reordered_datagrams_come_all) {
  NetConfig config = quick();
  config.faults.reorder = 0.3;
  Cluster cluster(config);
  int sent = 0;
  cluster[0].act = [&](Instant) {
    for (; sent < 100; ++sent) {
      std::vector<std::byte> bytes(100, static_cast<std::byte>(sent));
      cluster.net.send(0, 0, 1, bytes);
    }
  };
  cluster.net.run(kLong);
  ASSERT_EQ(cluster[1].seen.size(), 100u);
  std::vector<bool> came(100);
  int backward = 0, last = -1;
  for (const Seen& each : cluster[1].seen) {
    const int number = std::to_integer<int>(each.bytes[0]);
    backward += number < last ? 1 : 0;
    last = number;
    came[static_cast<std::size_t>(number)] = true;
  }
  EXPECT_GT(backward, 5);
  EXPECT_EQ(std::count(came.begin(), came.end(), true), 100);
}

TEST(SimNet, multicast_costs_one_line_and_reaches_the_members) {
  NetConfig config = quick();
  config.hosts = 5;
  Cluster cluster(config);
  for (HostId host : {0, 1, 2, 3}) cluster.net.fabric().join(9, host, 0);
  cluster.net.fabric().set_multicast_to(3, 0, false);
  cluster[0].act = [&](Instant now) {
    if (now.ns == 0) cluster.net.multicast(0, 0, 9, kFull);
  };
  cluster.net.run(kLong);
  EXPECT_EQ(cluster[0].seen.size(), 0u);  // not to the sender
  EXPECT_EQ(cluster[1].seen.size(), 1u);
  EXPECT_EQ(cluster[2].seen.size(), 1u);
  EXPECT_EQ(cluster[3].seen.size(), 0u);  // its port does not forward
  EXPECT_EQ(cluster[4].seen.size(), 0u);  // not a member
  EXPECT_EQ(cluster.net.counters().sent, 1u);
  EXPECT_EQ(cluster[1].seen[0].at.ns, cluster[2].seen[0].at.ns);
  cluster.net.fabric().set_multicast(0, false);
  cluster[0].act = [&](Instant) { cluster.net.multicast(0, 0, 9, kFull); };
  cluster.net.poke(0, cluster.net.now() + microseconds(1));
  cluster.net.run(kLong);
  EXPECT_EQ(cluster[1].seen.size(), 1u);
  EXPECT_EQ(cluster.net.under_way(), 0u);
}

TEST(SimNet, receivers_of_a_multicast_lose_each_for_itself_or_all_together) {
  for (const bool common : {false, true}) {
    NetConfig config = quick();
    config.hosts = 3;
    config.shape.nic_bytes = config.shape.port_bytes = 1u << 30;
    (common ? config.faults.common_loss : config.faults.loss) = 0.5;
    Cluster cluster(config);
    cluster.net.fabric().join(0, 1, 0);
    cluster.net.fabric().join(0, 2, 0);
    int sent = 0;
    cluster[0].act = [&](Instant) {
      for (; sent < 2000; ++sent) {
        std::vector<std::byte> bytes(8);
        std::memcpy(bytes.data(), &sent, sizeof sent);
        cluster.net.multicast(0, 0, 0, bytes);
      }
    };
    cluster.net.run(kLong);
    std::vector<int> heard(2000);
    for (std::size_t host : {1u, 2u})
      for (const Seen& each : cluster[host].seen) {
        int number = 0;
        std::memcpy(&number, each.bytes.data(), sizeof number);
        ++heard[static_cast<std::size_t>(number)];
      }
    const auto once = std::count(heard.begin(), heard.end(), 1);
    const auto twice = std::count(heard.begin(), heard.end(), 2);
    if (common) {
      EXPECT_EQ(once, 0);
      EXPECT_NEAR(static_cast<double>(twice), 1000, 100);
    } else {
      EXPECT_NEAR(static_cast<double>(once), 1000, 100);
      EXPECT_NEAR(static_cast<double>(twice), 500, 80);
    }
  }
}

TEST(SimNet, timers_come_when_asked_for) {
  Cluster cluster(quick());
  std::vector<std::int64_t> turns;
  cluster[0].act = [&](Instant now) {
    turns.push_back(now.ns);
    cluster[0].wake = turns.size() < 4 ? now + milliseconds(3) : kNever;
  };
  cluster.net.run(kLong);
  EXPECT_EQ(turns, (std::vector<std::int64_t>{0, 3'000'000, 6'000'000, 9'000'000}));
}

std::uint64_t history_of(std::uint64_t seed) {
  NetConfig config;
  config.seed = seed;
  config.hosts = 6;
  config.faults = {.loss = 0.05, .reorder = 0.1, .duplicate = 0.05, .flip = 0.05};
  Cluster cluster(config);
  Prng chance(seed);
  for (std::size_t i = 0; i < 6; ++i)
    cluster[i].act = [&cluster, &chance, i](Instant now) {
      for (int n = 0; n < 2 && now.ns < 10'000'000; ++n)
        cluster.net.send(static_cast<HostId>(i), 0, static_cast<HostId>((i + 1 + chance.below(5)) % 6),
                         std::span(kFull).first(chance.below(1472)));
      cluster[i].wake = now.ns < 10'000'000 ? now + microseconds(200) : kNever;
    };
  cluster.net.run(kLong);
  EXPECT_EQ(cluster.net.under_way(), 0u);
  return cluster.net.history();
}

TEST(SimNet, the_same_seed_gives_the_same_history) {
  EXPECT_EQ(history_of(1), history_of(1));
  EXPECT_EQ(history_of(77), history_of(77));
  EXPECT_NE(history_of(1), history_of(2));
}

}  // namespace
}  // namespace herald::sim
