// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: data leaves before the receive has started, or never; partitions that are cut
// differently at the two sides end in the wrong place; short partitions leave one by one; marks of threads
// are lost; a malformed call is followed; a lost peer leaves a request open.
#include "p2p/partitioned.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <thread>

#include "tests/unit/p2p/world.hpp"

using namespace herald;
using namespace herald::test;
using namespace herald::p2p;

namespace {

struct Pair {
  World world;
  Bytes out, in;
  std::vector<Status> sent, received;
  std::unique_ptr<PartSend> send;
  std::unique_ptr<PartRecv> recv;

  Pair(bool far, int sends, int receives, std::size_t bytes, std::size_t room, std::uint64_t seed = 1)
      : world(CoreConfig{.peers = 2,
                         .push_bytes = 100,
                         .remote_first = 100,
                         .remote_more = 500,
                         .remote_allowance = 3000},
              far, 300, seed),
        out(bytes),
        in(room) {
    std::iota(out.begin(), out.end(), static_cast<unsigned char>(seed));
    send = std::make_unique<PartSend>(world.core(0).partitioned(), spec(1, out, sends, sent));
    recv = std::make_unique<PartRecv>(world.core(1).partitioned(), spec(0, in, receives, received));
  }
  static PartSpec spec(PeerId peer, Bytes& data, int partitions, std::vector<Status>& done) {
    PartSpec made;
    made.key = {peer, 1, 7, 0};
    made.data = type::Cursor::bytes(data.data(), data.size());
    made.partitions = partitions;
    made.on_done = [](void* owner, Status s) { static_cast<std::vector<Status>*>(owner)->push_back(s); };
    made.owner = &done;
    return made;
  }
  void mark(int partition) {
    EXPECT_EQ(send->mark(partition), PartSend::Mark::ok);
    EXPECT_TRUE(send->claim_post());
    send->post_marked(false);
  }
};

}  // namespace

TEST(Partitioned, data_waits_for_the_start_of_the_receive) {
  for (const bool far : {false, true}) {
    Pair pair(far, 4, 4, 4000, 4000);
    pair.send->start();
    for (int i = 0; i < 4; ++i) pair.mark(i);
    pair.world.settle();
    EXPECT_TRUE(pair.sent.empty());
    pair.recv->start();
    pair.world.settle();
    EXPECT_EQ(pair.sent, std::vector{Status::ok});
    EXPECT_EQ(pair.received, std::vector{Status::ok});
    EXPECT_EQ(pair.in, pair.out);
  }
}

TEST(Partitioned, each_side_cuts_the_message_as_it_likes) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Prng prng(seed);
    const int sends = 1 + static_cast<int>(prng.below(12)), receives = 1 + static_cast<int>(prng.below(12));
    const auto bytes = static_cast<std::size_t>(sends * receives) * (1 + prng.below(900));
    Pair pair(seed % 2 == 0, sends, receives, bytes, bytes, seed);
    for (int round = 0; round < 3; ++round) {
      std::fill(pair.in.begin(), pair.in.end(), 0);
      std::vector<int> order(static_cast<std::size_t>(sends));
      std::iota(order.begin(), order.end(), 0);
      for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[prng.below(i)]);
      pair.send->start();
      pair.recv->start();
      for (const int partition : order) {
        pair.mark(partition);
        if (prng.below(2) == 0) pair.world.core(0).partitioned().post_short_runs();
        if (prng.below(2) == 0) pair.world.settle();
        const auto size = bytes / static_cast<std::size_t>(receives);
        for (int p = 0; p < receives; ++p) {
          const auto at = static_cast<std::ptrdiff_t>(size) * p, end = at + static_cast<std::ptrdiff_t>(size);
          const bool equal = std::equal(pair.in.begin() + at, pair.in.begin() + end, pair.out.begin() + at);
          EXPECT_TRUE(equal || !pair.recv->has_arrived(p)) << "seed " << seed;
        }
      }
      pair.world.settle();
      EXPECT_EQ(pair.in, pair.out) << "seed " << seed;
      EXPECT_EQ(pair.sent.size(), static_cast<std::size_t>(round + 1)) << "seed " << seed;
      EXPECT_EQ(pair.received.size(), static_cast<std::size_t>(round + 1)) << "seed " << seed;
    }
  }
}

TEST(Partitioned, short_partitions_leave_together) {
  Pair pair(true, 200, 1, 200, 200);
  pair.recv->start();
  pair.send->start();
  pair.world.settle();
  const std::uint64_t before = pair.world.core(0).completions().counters.finished;
  for (int i = 0; i < 200; ++i) pair.mark(i);
  pair.world.settle();
  EXPECT_EQ(pair.received.size(), 1u);
  EXPECT_LE(pair.world.core(0).completions().counters.finished - before, 5u);
}

TEST(Partitioned, marks_of_threads_are_not_lost) {
  constexpr int kThreads = 4, kEach = 2000;
  Pair pair(false, kThreads * kEach, 1, kThreads * kEach, kThreads * kEach);
  pair.recv->start();
  pair.send->start();
  std::atomic<int> claims{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) {
        EXPECT_EQ(pair.send->mark(t * kEach + i), PartSend::Mark::ok);
        if (pair.send->claim_post()) claims.fetch_add(1);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(claims.load(), 1) << "one thread posts for all";
  pair.send->post_marked(false);
  pair.world.settle();
  EXPECT_EQ(pair.received.size(), 1u);
  EXPECT_EQ(pair.in, pair.out);
}

TEST(Partitioned, wrong_marks_and_long_messages_are_reported) {
  Pair pair(false, 2, 1, 400, 300);
  EXPECT_EQ(pair.send->mark(0), PartSend::Mark::inactive);
  pair.send->start();
  pair.recv->start();
  EXPECT_EQ(pair.send->mark(2), PartSend::Mark::out_of_range);
  EXPECT_EQ(pair.send->mark(-1), PartSend::Mark::out_of_range);
  pair.mark(1);
  EXPECT_EQ(pair.send->mark(1), PartSend::Mark::twice);
  pair.mark(0);
  pair.world.settle();
  EXPECT_EQ(pair.received, std::vector{Status::truncated});
  EXPECT_TRUE(std::equal(pair.in.begin(), pair.in.end(), pair.out.begin()));
}

TEST(Partitioned, malformed_calls_are_dropped) {
  Pair pair(false, 2, 2, 100, 100);
  const auto call = [&](wire::PartKind kind, std::uint32_t round, std::uint64_t offset, std::uint64_t total) {
    wire::PartHeader header{};
    header.context = 1;
    header.tag = 7;
    header.kind = kind;
    header.round = round;
    header.offset = offset;
    header.total = total;
    pair.world.core(0).services().call(1, ServiceId::partitioned, header);
    pair.world.settle();
  };
  const auto bad = [&] { return pair.world.core(1).completions().counters.bad_packets; };
  call(wire::PartKind::data, 1, 0, 0);  // not started
  EXPECT_EQ(bad(), 1u);
  pair.recv->start();
  call(wire::PartKind::data, 2, 0, 0);  // of another round
  call(wire::PartKind::data, 1, 101, 100);
  call(wire::PartKind::none, 1, 0, 100);
  EXPECT_EQ(bad(), 4u);
  EXPECT_TRUE(pair.received.empty());
  pair.world.core(1).partitioned().abandon([](PeerId) { return true; });
  EXPECT_EQ(pair.received, std::vector{Status::peer_lost});
}
