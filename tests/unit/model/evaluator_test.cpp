// SPDX-License-Identifier: BSD-3-Clause
// The evaluator against times computed by hand: a port that serves two messages at once, a processor that
// is in two places or a wait that is not counted would make it choose the wrong algorithm.
#include "model/evaluator.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "model/baselines.hpp"

namespace herald::model {
namespace {

// Builds a schedule rank by rank.
class Steps {
 public:
  explicit Steps(std::vector<int> hosts) {
    schedule_.host = std::move(hosts);
    schedule_.ranks = static_cast<int>(schedule_.host.size());
    schedule_.hosts = 1 + *std::max_element(schedule_.host.begin(), schedule_.host.end());
    for (int h = 0; h < schedule_.hosts; ++h)
      schedule_.ranks_per_host =
          std::max(schedule_.ranks_per_host,
                   static_cast<int>(std::count(schedule_.host.begin(), schedule_.host.end(), h)));
  }
  void rank() { schedule_.first.push_back(static_cast<std::uint32_t>(schedule_.steps.size())); }
  std::uint32_t add(Kind kind, int partner, double bytes, std::vector<std::uint32_t> after = {},
                    int tag = 0) {
    Step step;
    step.kind = kind;
    step.partner = partner;
    step.bytes = bytes;
    step.tag = static_cast<std::uint8_t>(tag);
    step.needs = static_cast<std::uint32_t>(after.size());
    after_.push_back(std::move(after));
    schedule_.steps.push_back(step);
    return static_cast<std::uint32_t>(schedule_.steps.size() - 1);
  }
  void acknowledge() { schedule_.steps.back().acknowledged = true; }
  Prediction run(const Parameters& parameters) {
    rank();
    schedule_.steps.emplace_back();
    for (std::uint32_t i = 0; i < schedule_.steps.size(); ++i) {
      schedule_.steps[i].successors = static_cast<std::uint32_t>(schedule_.next.size());
      for (std::uint32_t j = 0; j < after_.size(); ++j)
        for (const std::uint32_t before : after_[j])
          if (before == i) schedule_.next.push_back(j);
    }
    return Evaluator().run(schedule_, parameters);
  }

 private:
  Schedule schedule_;
  std::vector<std::vector<std::uint32_t>> after_;
};

// Round figures: O_s 100, g_s = g_r 1000 + m, L 5000 + m, O_r 200, U_r 300. One packet has 1000 bytes.
Parameters round_figures() {
  Parameters p;
  PathParameters& udp = p.of(Path::udp);
  udp.send_overhead = Function::line(100, 0);
  udp.send_gap = udp.recv_gap = Function::line(1000, 1);
  udp.latency = Function::line(5000, 1);
  udp.recv_overhead = Function::line(200, 0);
  udp.user_recv = Function::line(300, 0);
  udp.eager_bytes = 1e6;
  udp.packet_bytes = 1000;
  p.of(Path::mcast) = udp;
  PathParameters& shm = p.of(Path::shm);
  shm.send_overhead = Function::line(50, 0.1);
  shm.latency = Function::line(70, 0);
  shm.user_recv = Function::line(30, 0.1);
  shm.eager_bytes = 1e6;
  shm.packet_bytes = 1e6;
  p.copy_in_cache = p.copy_out_of_cache = p.copy_in_memory = Function::line(10, 0.1);
  p.reduce = {Function::line(0, 0.2), Function::line(0, 0.2)};
  p.spin_ns = 1e9;
  p.cores = 64;
  return p;
}

TEST(Evaluator, adds_the_phases_of_one_message) {
  Steps steps({0, 1});
  steps.rank(), steps.add(Kind::send, 1, 400);
  steps.rank(), steps.add(Kind::recv, 0, 400);
  const Prediction p = steps.run(round_figures());
  ASSERT_TRUE(p.complete);
  EXPECT_DOUBLE_EQ(p.ns, 100 + 5400 + 200 + 300) << "O_s + L + O_r + U_r";
}

TEST(Evaluator, overlaps_the_packets_of_a_long_message) {
  Parameters figures = round_figures();
  figures.of(Path::udp).recv_gap = Function::line(0, 0.5);  // faster than the line
  Steps steps({0, 1});
  steps.rank(), steps.add(Kind::send, 1, 10000);
  steps.rank(), steps.add(Kind::recv, 0, 10000);
  const Prediction p = steps.run(figures);
  EXPECT_DOUBLE_EQ(p.ns, 100 + 15000 + 500);
  EXPECT_DOUBLE_EQ(p.split.wire, 15000);
  EXPECT_DOUBLE_EQ(p.split.overhead, 600);
  EXPECT_NEAR(p.split.total(), p.ns, 1e-6);
}

TEST(Evaluator, lets_several_senders_share_the_port_of_a_receiver) {
  Steps steps({0, 1, 2, 3});
  steps.rank();
  for (int from = 1; from < 4; ++from) steps.add(Kind::recv, from, 9000);
  for (int from = 1; from < 4; ++from) steps.rank(), steps.add(Kind::send, 0, 9000);
  const Prediction p = steps.run(round_figures());
  ASSERT_TRUE(p.complete);
  // First packets are at the port at 100 + 6000 - 2000; then three gaps, and the last message is handled.
  EXPECT_DOUBLE_EQ(p.ns, 4100 + 3 * 10000 + 500);
  EXPECT_DOUBLE_EQ(p.split.contention, 20000);
}

TEST(Evaluator, lets_the_ranks_of_a_host_share_its_port) {
  Steps steps({0, 0, 1, 2});
  steps.rank(), steps.add(Kind::send, 2, 9000);
  steps.rank(), steps.add(Kind::send, 3, 9000);
  steps.rank(), steps.add(Kind::recv, 0, 9000);
  steps.rank(), steps.add(Kind::recv, 1, 9000);
  const Prediction p = steps.run(round_figures());
  // The second message leaves when the first has: 100 + 10000; it takes 14000.
  EXPECT_DOUBLE_EQ(p.ns, 100 + 10000 + 14000 + 500);
}

TEST(Evaluator, charges_a_full_port_of_the_switch) {
  Parameters figures = round_figures();
  figures.switch_bytes = 15000;
  figures.repair_ns = 70000;
  const auto gather = [&](double bytes) {
    Steps steps({0, 1, 2});
    steps.rank(), steps.add(Kind::recv, 1, bytes), steps.add(Kind::recv, 2, bytes);
    steps.rank(), steps.add(Kind::send, 0, bytes);
    steps.rank(), steps.add(Kind::send, 0, bytes);
    return steps.run(figures).ns;
  };
  EXPECT_DOUBLE_EQ(gather(6000), 4100 + 2 * 7000 + 500);
  EXPECT_DOUBLE_EQ(gather(9000), 4100 + 2 * 10000 + 70000 + 500);
}

// Section 5.3 of the paper: the second sender starts when the first has delivered its data.
TEST(Evaluator, hands_a_start_signal_from_sender_to_sender) {
  Parameters figures = round_figures();
  figures.switch_bytes = 15000;
  figures.repair_ns = 70000;
  Steps steps({0, 1, 2});
  steps.rank(), steps.add(Kind::recv, 1, 9000), steps.add(Kind::recv, 2, 9000);
  steps.rank();
  const std::uint32_t sent = steps.add(Kind::send, 0, 9000);
  steps.acknowledge();
  steps.add(Kind::send, 2, 0, {sent}, 1);
  steps.rank();
  const std::uint32_t start = steps.add(Kind::recv, 1, 0, {}, 1);
  steps.add(Kind::send, 0, 9000, {start});
  const Prediction p = steps.run(figures);
  ASSERT_TRUE(p.complete);
  // Data 4100 + 10000 + 500, its answer 5000, the signal 100 + 5000 + 500, and the second data.
  EXPECT_DOUBLE_EQ(p.ns, 14600 + 5000 + 5600 + 14600);
}

// An acknowledgement tells that the message was matched, not that it has come.
TEST(Evaluator, acknowledges_a_message_when_its_receive_starts) {
  Steps steps({0, 1});
  steps.rank();
  const std::uint32_t sent = steps.add(Kind::send, 1, 400);
  steps.acknowledge();
  steps.add(Kind::copy, -1, 0, {sent});
  steps.rank();
  const std::uint32_t busy = steps.add(Kind::copy, -1, 200000);
  steps.add(Kind::recv, 0, 400, {busy});
  const Prediction p = steps.run(round_figures());
  ASSERT_TRUE(p.complete);
  // The copy 20010, O_r 200, U_r 300, the answer 5000, the copy of nothing 10.
  EXPECT_DOUBLE_EQ(p.ns, 20010 + 200 + 300 + 5000 + 10);
}

TEST(Evaluator, delays_sends_by_receives_where_a_port_does_both) {
  const auto forward = [](double share) {
    Parameters figures = round_figures();
    figures.interference = share;
    Steps steps({0, 1, 2});
    steps.rank();
    for (int k = 0; k < 20; ++k) steps.add(Kind::send, 1, 9000, {}, k);
    steps.rank();
    for (int k = 0; k < 20; ++k) {
      const std::uint32_t got = steps.add(Kind::recv, 0, 9000, {}, k);
      steps.add(Kind::send, 2, 9000, {got}, k);
    }
    steps.rank();
    for (int k = 0; k < 20; ++k) steps.add(Kind::recv, 1, 9000, {}, k);
    return steps.run(figures).ns;
  };
  // Full duplex: a gap for each message. Half duplex: two of them.
  EXPECT_NEAR(forward(0), 21 * 10000 + 10000, 6000);
  EXPECT_NEAR(forward(1), 40 * 10000 + 10000, 25000);
}

TEST(Evaluator, holds_a_long_message_until_its_receive_starts) {
  Parameters figures = round_figures();
  figures.of(Path::udp).eager_bytes = 1000;
  figures.of(Path::udp).recv_gap = Function::line(0, 0.5);
  Steps steps({0, 1});
  steps.rank(), steps.add(Kind::send, 1, 2000);
  steps.rank();
  const std::uint32_t busy = steps.add(Kind::copy, -1, 100000);
  steps.add(Kind::recv, 0, 2000, {busy});
  const Prediction p = steps.run(figures);
  // Copy 10010, the pull 5000, then the message; the sender hears of it 5000 later.
  EXPECT_DOUBLE_EQ(p.ns, 10010 + 5000 + 100 + 7000 + 500 + 5000);
}

TEST(Evaluator, multicasts_once_for_all) {
  Parameters figures = round_figures();
  figures.fan_out_ns = 40;
  const auto with = [&](Kind kind, int receivers) {
    std::vector<int> hosts;
    for (int i = 0; i <= receivers; ++i) hosts.push_back(i);
    Steps steps(hosts);
    steps.rank();
    if (kind == Kind::cast) steps.add(Kind::cast, -1, 9000);
    if (kind == Kind::send)
      for (int to = 1; to <= receivers; ++to) steps.add(Kind::send, to, 9000);
    for (int to = 1; to <= receivers; ++to) steps.rank(), steps.add(Kind::recv, 0, 9000);
    return steps.run(figures).ns;
  };
  EXPECT_DOUBLE_EQ(with(Kind::cast, 8), with(Kind::cast, 1));
  EXPECT_DOUBLE_EQ(with(Kind::send, 8), with(Kind::send, 1) + 7 * 10000);
}

TEST(Evaluator, walks_a_fused_exchange) {
  Steps steps({0, 1, 2});
  steps.rank();
  const std::uint32_t all = steps.add(Kind::gather, 3, 8);
  steps.add(Kind::announce, -1, 8, {all});
  steps.rank(), steps.add(Kind::contribute, -1, 8);
  steps.rank(), steps.add(Kind::contribute, -1, 8);
  const Prediction p = steps.run(round_figures());
  ASSERT_TRUE(p.complete);
  // Up: 100 + 5008, one more gap of 1008, 500; down: 100 + 5008 + 500.
  EXPECT_DOUBLE_EQ(p.ns, 100 + 5008 + 1008 + 500 + 100 + 5008 + 500);
}

TEST(Evaluator, waits_at_barrier_words_and_for_posts) {
  Steps steps({0, 0, 0});
  for (int rank = 0; rank < 3; ++rank) {
    steps.rank();
    const std::uint32_t copied = steps.add(Kind::copy, -1, rank * 1000.0);
    const std::uint32_t here = steps.add(Kind::arrive, 0, 0, {copied});
    const std::uint32_t all = steps.add(Kind::wait_arrived, -1, 0, {here});
    if (rank == 0) steps.add(Kind::post, 0, 500, {all});
    if (rank != 0) steps.add(Kind::fetch, 0, 500, {all});
  }
  const Prediction p = steps.run(round_figures());
  ASSERT_TRUE(p.complete);
  // The slowest copy 210, a word 60, a post by address 60, a fetch 70 + 30 + 50.
  EXPECT_DOUBLE_EQ(p.ns, 210 + 60 + 60 + 150);
}

TEST(Evaluator, stretches_work_where_ranks_outnumber_cores) {
  Parameters figures = round_figures();
  figures.cores = 1;
  Steps steps({0, 0});
  steps.rank(), steps.add(Kind::copy, -1, 1000);
  steps.rank(), steps.add(Kind::copy, -1, 1000);
  EXPECT_DOUBLE_EQ(steps.run(figures).ns, 220);
}

TEST(Evaluator, wakes_a_rank_that_waited_longer_than_it_spins) {
  Parameters figures = round_figures();
  figures.spin_ns = 1000;
  figures.wake_ns = 7777;
  Steps steps({0, 1});
  steps.rank(), steps.add(Kind::send, 1, 400);
  steps.rank(), steps.add(Kind::recv, 0, 400);
  EXPECT_DOUBLE_EQ(steps.run(figures).ns, 100 + 5400 + 500 + 7777);
}

TEST(Evaluator, reports_messages_that_do_not_match) {
  Steps steps({0, 1});
  steps.rank(), steps.add(Kind::send, 1, 8);
  steps.rank(), steps.add(Kind::recv, 0, 8, {}, 3);
  EXPECT_FALSE(steps.run(round_figures()).complete);
}

// The paper's own network (table 1) and its broadcast of k packets down a binomial tree of 16: the bottleneck
// is the first inner processor, which receives and sends (equation 2), not the root (equation 1).
TEST(Evaluator, finds_the_bottleneck_of_a_pipelined_tree_off_its_root) {
  Parameters paper;
  PathParameters& udp = paper.of(Path::udp);
  udp.send_overhead = Function::line(6308, 29.1);
  udp.send_gap = udp.recv_gap = Function::line(6730, 0);
  udp.latency = Function::line(16684 + 1556, 82.6);
  udp.recv_overhead = Function::line(12245, 42.6);
  udp.user_recv = Function::line(9930, 0);
  udp.eager_bytes = 1500;
  paper.spin_ns = 1e12;
  paper.cores = 1;
  constexpr double kBytes = 40;
  udp.packet_bytes = kBytes;
  constexpr int kRanks = 16;
  const auto broadcast = [&](const Parameters& parameters, int packets) {
    std::vector<int> hosts;
    for (int i = 0; i < kRanks; ++i) hosts.push_back(i);
    Steps steps(hosts);
    for (int rank = 0; rank < kRanks; ++rank) {
      steps.rank();
      const int span = rank == 0 ? kRanks : rank & -rank;
      for (int k = 0; k < packets; ++k) {
        std::vector<std::uint32_t> got;
        if (rank != 0) got.push_back(steps.add(Kind::recv, rank & (rank - 1), kBytes, {}, k));
        for (int distance = span / 2; distance > 0; distance /= 2)
          steps.add(Kind::send, rank + distance, kBytes, got, k);
      }
    }
    const Prediction p = steps.run(parameters);
    EXPECT_TRUE(p.complete);
    return p.ns;
  };
  const auto each_with = [&](const Parameters& parameters) {
    return (broadcast(parameters, 60) - broadcast(parameters, 20)) / 40;
  };
  const double each = each_with(paper);
  const double gap = 6730, receive = 12245 + 42.6 * kBytes + 9930;
  const double equation_1 = 4 * gap, equation_2 = 3 * gap + receive;
  EXPECT_NEAR(each, equation_2, equation_2 * 0.06);
  EXPECT_GT(each, equation_1 * 1.3);
  // As in figure 2 the Postal model, which is LogP with o = 0 and g = 1, follows equation 1.
  EXPECT_NEAR(each_with(postal_parameters(paper)), equation_1, equation_1 * 0.01);
  // A single packet takes about as long in all models.
  const double one = broadcast(paper, 1);
  EXPECT_NEAR(broadcast(postal_parameters(paper), 1), one, one * 0.25);
  EXPECT_NEAR(broadcast(logp_parameters(paper), 1), one, one * 0.05);
}

}  // namespace
}  // namespace herald::model
