// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: operations overtake each other when one of them has a bulk payload or waits for the
// lock; a flush is acknowledged too early; a reply goes to the wrong operation; a malformed call is followed;
// a lost target leaves operations open; an operation that follows a fence takes effect at a target that is
// still in it.
#include <gtest/gtest.h>

#include <numeric>

#include "rma/endpoint.hpp"
#include "tests/unit/p2p/world.hpp"
#include "type/build.hpp"

using namespace herald;
using namespace herald::rma;
using herald::test::World;

namespace {

const type::Layout& kLong = type::basic_layout(type::Basic::int64);

struct Job {
  World world;
  std::vector<std::vector<std::int64_t>> memory;
  std::vector<std::unique_ptr<Endpoint>> endpoints;
  std::vector<std::unique_ptr<Window>> windows;

  explicit Job(bool far, int peers = 3, std::uint64_t seed = 1)
      : world(p2p::CoreConfig{.peers = peers,
                              .push_bytes = 100,
                              .remote_first = 100,
                              .remote_more = 500,
                              .remote_allowance = 3000},
              far, 300, seed),
        memory(static_cast<std::size_t>(peers), std::vector<std::int64_t>(1000)) {
    std::vector<p2p::PeerId> all(static_cast<std::size_t>(peers));
    std::iota(all.begin(), all.end(), 0);
    for (int i = 0; i < peers; ++i) {
      p2p::Services& services = world.core(i).services();
      endpoints.push_back(std::make_unique<Endpoint>(services, [] {}));
      windows.push_back(std::make_unique<Window>(services, 77, all, i));
      endpoints.back()->add(*windows.back());
      window(i).target.memory().set(memory_of(i).data(), memory_of(i).size() * 8);
    }
  }
  Window& window(int rank) { return *windows[static_cast<std::size_t>(rank)]; }
  std::vector<std::int64_t>& memory_of(int rank) { return memory[static_cast<std::size_t>(rank)]; }

  void start(int from, int to, wire::RmaKind kind, std::int64_t* data, std::int64_t* result, int count,
             std::uint64_t offset = 0, op::Kind op = op::Kind::sum) {
    Operation operation;
    operation.kind = kind;
    operation.op = op;
    operation.basic = type::Basic::int64;
    const auto bytes = static_cast<std::size_t>(count) * 8;
    if (data != nullptr) operation.data = type::Cursor::bytes(data, bytes);
    if (result != nullptr) operation.result = type::Cursor::bytes(result, bytes);
    window(from).origin.start({to, offset, &kLong, count}, std::move(operation));
  }
};

}  // namespace

TEST(RmaService, updates_keep_their_order_around_a_bulk_payload) {
  for (const bool far : {false, true}) {
    Job job(far);
    std::vector<std::int64_t> large(500, 3), ones(1, 1), before(1, -1);
    job.start(0, 1, wire::RmaKind::accumulate, large.data(), nullptr, 500);
    job.start(0, 1, wire::RmaKind::get_accumulate, ones.data(), before.data(), 1, 0, op::Kind::replace);
    job.window(0).origin.flush(1);
    EXPECT_FALSE(job.window(0).origin.is_flushed(1));
    job.world.settle();
    EXPECT_TRUE(job.window(0).origin.is_flushed(1) && job.window(0).origin.is_locally_complete(1));
    EXPECT_EQ(before[0], 3);
    EXPECT_EQ(job.memory_of(1)[0], 1);
    EXPECT_EQ(job.memory_of(1)[499], 3);
    EXPECT_EQ(job.window(1).target.applied(), 2u);
  }
}

TEST(RmaService, operations_wait_for_the_lock_at_the_target) {
  for (const bool far : {false, true}) {
    Job job(far);
    std::vector<std::int64_t> first(300, 1), second(300, 2);
    job.window(0).origin.lock(2, true);
    job.world.settle();
    EXPECT_TRUE(job.window(0).origin.is_granted(2));
    job.window(1).origin.lock(2, true);
    job.start(1, 2, wire::RmaKind::put, second.data(), nullptr, 300);
    job.window(1).origin.unlock(2);
    job.world.settle();
    EXPECT_FALSE(job.window(1).origin.is_granted(2));
    EXPECT_FALSE(job.window(1).origin.is_flushed(2));
    EXPECT_EQ(job.memory_of(2)[0], 0);
    job.start(0, 2, wire::RmaKind::put, first.data(), nullptr, 300);
    job.window(0).origin.unlock(2);
    job.world.settle();
    EXPECT_TRUE(job.window(0).origin.is_flushed(2) && job.window(1).origin.is_flushed(2));
    EXPECT_EQ(job.memory_of(2)[299], 2);
    EXPECT_TRUE(job.window(2).target.request_own_lock(true)) << "all locks are released";
  }
}

TEST(RmaService, a_target_in_a_fence_keeps_operations_of_ranks_that_left_it) {
  for (const bool far : {false, true}) {
    Job job(far);
    std::vector<std::int64_t> before(400, 1), after(400, 2), seen(1, -1), ones(1, 1);
    job.start(1, 2, wire::RmaKind::put, before.data(), nullptr, 400);
    job.window(0).origin.pass_fence();  // rank 1 has not sent all of its operations, rank 2 waits for them
    job.start(0, 2, wire::RmaKind::put, after.data(), nullptr, 400);
    job.start(0, 2, wire::RmaKind::get_accumulate, ones.data(), seen.data(), 1, 0, op::Kind::sum);
    job.world.settle();
    EXPECT_EQ(job.window(2).target.applied(), 1u);
    EXPECT_EQ(job.memory_of(2)[399], 1);
    job.window(2).origin.pass_fence();
    job.window(2).target.pass_fence();
    job.world.settle();
    EXPECT_EQ(job.window(2).target.applied(), 3u);
    EXPECT_EQ(job.memory_of(2)[399], 2);
    EXPECT_EQ(seen[0], 2);
  }
}

TEST(RmaService, a_reply_is_a_flush_of_what_came_before) {
  Job job(true);
  std::vector<std::int64_t> large(500, 3), ones(1, 1), before(1, -1);
  job.start(0, 1, wire::RmaKind::put, large.data(), nullptr, 500);
  EXPECT_TRUE(job.window(0).origin.needs_flush(1));
  job.start(0, 1, wire::RmaKind::get_accumulate, ones.data(), before.data(), 1, 8);
  EXPECT_FALSE(job.window(0).origin.needs_flush(1));
  EXPECT_FALSE(job.window(0).origin.is_locally_complete(1));
  job.world.settle();
  EXPECT_TRUE(job.window(0).origin.is_locally_complete(1));
  EXPECT_EQ(before[0], 3);
  EXPECT_EQ(job.memory_of(1)[499], 3);
  job.start(0, 1, wire::RmaKind::accumulate, ones.data(), nullptr, 1);
  EXPECT_TRUE(job.window(0).origin.needs_flush(1));
  job.world.settle();
}

TEST(RmaService, described_types_arrive) {
  Job job(true);
  type::LayoutRef vector, other;
  ASSERT_EQ(type::vector(100, 1, 3, kLong, vector), Status::ok);
  ASSERT_EQ(type::vector(2, 1, 5, kLong, other), Status::ok);
  std::vector<std::int64_t> data(100), back(100);
  std::iota(data.begin(), data.end(), 1);
  const auto start = [&](wire::RmaKind kind, const type::Layout& type, std::vector<std::int64_t>& buffer,
                         std::uint64_t offset, std::size_t count) {
    Operation operation;
    operation.kind = kind;
    (kind == wire::RmaKind::put ? operation.data : operation.result) =
        type::Cursor::bytes(buffer.data(), count * 8);
    job.window(0).origin.start({1, offset, &type, 1}, std::move(operation));
  };
  start(wire::RmaKind::put, *vector, data, 8, 100);
  start(wire::RmaKind::put, *other, data, 7000, 2);
  start(wire::RmaKind::put, *vector, data, 16, 100);
  job.world.settle();
  start(wire::RmaKind::get, *vector, back, 8, 100);
  job.world.settle();
  EXPECT_EQ(back, data);
  EXPECT_EQ(job.memory_of(1)[0], 0);
  EXPECT_EQ(job.memory_of(1)[2], 1);
  EXPECT_EQ(job.memory_of(1)[3], 0);
  EXPECT_EQ(job.memory_of(1)[880], 2);
}

TEST(RmaService, an_access_outside_the_memory_is_reported) {
  Job job(false);
  std::int64_t value = 5, result = 9;
  job.start(0, 1, wire::RmaKind::put, &value, nullptr, 1, 8000);
  job.start(0, 1, wire::RmaKind::get, nullptr, &result, 1, 7996);
  job.world.settle();
  EXPECT_TRUE(job.window(0).origin.is_locally_complete(1));
  EXPECT_TRUE(job.window(0).origin.take_failure(1));
  EXPECT_FALSE(job.window(0).origin.take_failure(1));
  EXPECT_EQ(result, 9);
}

TEST(RmaService, malformed_calls_are_dropped) {
  Job job(false);
  p2p::Services& services = job.world.core(0).services();
  wire::RmaHeader header{};
  header.window = 77;
  header.kind = wire::RmaKind::put;
  header.count = 1;
  header.basic = 255;
  const auto send = [&](const wire::RmaHeader& bad) {
    services.call(1, kService, bad);
    job.world.settle();
  };
  wire::RmaHeader bad = header;
  bad.window = 78;
  send(bad);
  bad = header;
  bad.source = 2;  // another rank's
  send(bad);
  bad.source = 99;
  send(bad);
  EXPECT_EQ(job.world.core(1).counters().bad_packets, 3u);
  for (int kind = 0; kind < 256; ++kind) {
    bad = header;
    bad.kind = static_cast<wire::RmaKind>(kind);
    bad.op = static_cast<std::uint8_t>(kind);
    bad.flags = static_cast<std::uint8_t>(kind);
    send(bad);
  }
  EXPECT_EQ(job.memory_of(1), std::vector<std::int64_t>(1000));
}

TEST(RmaService, a_lost_target_ends_operations) {
  Job job(true);
  std::vector<std::int64_t> large(900), result(900);
  int ended = 0;
  Operation operation;
  operation.kind = wire::RmaKind::get;
  operation.result = type::Cursor::bytes(result.data(), 7200);
  operation.context = &ended;
  operation.on_complete = [](void* count, Status status) {
    *static_cast<int*>(count) += status == Status::peer_lost ? 1 : 100;
  };
  job.window(0).origin.start({1, 0, &kLong, 900}, std::move(operation));
  while (job.world.transmit(0, 1) != nullptr) {
  }
  job.start(0, 1, wire::RmaKind::put, large.data(), nullptr, 900);
  EXPECT_FALSE(job.window(0).origin.is_locally_complete(1));
  job.world.core(0).on_peer_gone(1);
  job.world.core(0).run_finished();
  job.window(0).origin.abandon(1);
  EXPECT_EQ(ended, 1);
  EXPECT_TRUE(job.window(0).origin.is_locally_complete(1));
}

TEST(RmaService, random_updates_add_up) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Job job(seed % 2 == 0, 4, seed);
    Prng chance(seed);
    std::vector<std::int64_t> ones(400, 1), expected(1000);
    std::deque<std::vector<std::int64_t>> results;
    for (int i = 0; i < 60; ++i) {
      const int from = static_cast<int>(chance.below(3)), count = 1 + static_cast<int>(chance.below(400));
      const std::uint64_t at = chance.below(600);
      for (int k = 0; k < count; ++k) ++expected[at + static_cast<std::size_t>(k)];
      std::int64_t* result = nullptr;
      if (chance.below(2) == 0) result = results.emplace_back(400).data();
      job.start(from, 3, result != nullptr ? wire::RmaKind::get_accumulate : wire::RmaKind::accumulate,
                ones.data(), result, count, at * 8);
      if (chance.below(3) == 0) (void)job.world.transmit(from, 3);
      if (chance.below(3) == 0) (void)job.world.deliver(from, 3);
    }
    job.world.settle();
    EXPECT_EQ(job.memory_of(3), expected) << "seed " << seed;
    EXPECT_EQ(job.window(3).target.applied(), 60u);
  }
}
