// SPDX-License-Identifier: BSD-3-Clause
// Parts of the mesh by themselves. What could go wrong: slots are allocated twice or leak, entries are freed
// before the last receiver has them, numbers wrap around, credit exceeds the budget, deadlines are out of
// order.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <vector>

#include "base/prng.hpp"
#include "rel/connection.hpp"
#include "rel/packet_pool.hpp"

namespace herald::rel {
namespace {

TEST(RelPool, slots_are_distinct_bounded_and_come_back) {
  PacketPool pool(1500, 100 * 1536);
  std::set<std::byte*> places;
  std::vector<PacketPool::Slot> slots;
  for (;;) {
    const PacketPool::Slot slot = pool.take();
    if (slot == PacketPool::kNone) break;
    slots.push_back(slot);
    std::memset(pool.at(slot), 0x5a, 1500);
    places.insert(pool.at(slot));
  }
  EXPECT_EQ(slots.size(), 100u);
  EXPECT_EQ(places.size(), 100u);
  EXPECT_EQ(pool.used_bytes(), 100u * 1536);
  for (const PacketPool::Slot slot : slots) pool.give(slot);
  EXPECT_EQ(pool.used_bytes(), 0u);
  EXPECT_GT(pool.held_bytes(), 0u);
  pool.sweep();
  EXPECT_GT(pool.held_bytes(), 0u) << "used since the last sweep";
  pool.sweep();
  EXPECT_EQ(pool.held_bytes(), 0u);
  EXPECT_NE(pool.take(), PacketPool::kNone);
}

TEST(RelPool, a_slab_in_use_is_never_freed) {
  PacketPool pool(200, 1 << 20);
  Prng prng(3);
  std::map<PacketPool::Slot, std::byte> held;
  for (int i = 0; i < 20'000; ++i) {
    if (prng.below(100) == 0) pool.sweep();
    if (prng.below(2) == 0 || held.empty()) {
      const PacketPool::Slot slot = pool.take();
      if (slot == PacketPool::kNone) continue;
      const auto mark = static_cast<std::byte>(prng.next());
      std::memset(pool.at(slot), static_cast<int>(mark), 200);
      ASSERT_TRUE(held.emplace(slot, mark).second);
    } else {
      const auto one = std::next(held.begin(), static_cast<long>(prng.below(held.size())));
      for (int at = 0; at < 200; ++at) ASSERT_EQ(pool.at(one->first)[at], one->second);
      pool.give(one->first);
      held.erase(one);
    }
  }
}

TEST(RelLog, an_entry_is_freed_when_the_last_cursor_has_passed) {
  PacketPool pool(100, 1 << 20);
  SendLog log;
  log.start_at(0xfffffff8);  // wraps around within
  log.set_cursors(3);
  for (int i = 0; i < 40; ++i) {
    ASSERT_TRUE(log.reserve());
    log.append().slot = pool.take();
  }
  const Seq first = log.first();
  for (Seq seq = first; seq != first + 20; ++seq) {
    log.pass(seq, pool);
    log.pass(seq, pool);
  }
  EXPECT_EQ(log.size(), 40u);
  log.pass(first + 1, pool);  // the slowest has a hole at the first
  EXPECT_EQ(log.size(), 40u);
  log.pass(first, pool);
  EXPECT_EQ(log.size(), 38u);
  EXPECT_EQ(pool.used_bytes(), 38u * 128);
  log.clear(pool);
  EXPECT_EQ(pool.used_bytes(), 0u);
  EXPECT_TRUE(log.holds_memory());
  log.shrink();
  EXPECT_FALSE(log.holds_memory());
}

TEST(RelLog, growth_keeps_entries_and_ends) {
  PacketPool pool(64, 1 << 20);
  SendLog log;
  log.start_at(0xffffff80);
  std::uint32_t count = 0;
  while (log.reserve()) {
    Entry& entry = log.append();
    entry.slot = pool.take();
    entry.order = count++;
  }
  EXPECT_EQ(count, SendLog::kMost);
  for (std::uint32_t i = 0; i < count; ++i) ASSERT_EQ(log[0xffffff80 + i].order, i);
  log.clear(pool);
}

TEST(RelCursor, knows_what_came_across_the_wrap) {
  Cursor cursor;
  cursor.next = 0xfffffffe;
  cursor.came = 0b1011;  // ffffffff, 0, 2
  EXPECT_TRUE(cursor.has(0xfffffffd));
  EXPECT_FALSE(cursor.has(0xfffffffe));
  EXPECT_TRUE(cursor.has(0xffffffff));
  EXPECT_TRUE(cursor.has(0));
  EXPECT_FALSE(cursor.has(1));
  EXPECT_TRUE(cursor.has(2));
  EXPECT_FALSE(cursor.has(0xfffffffe + 65));
  cursor.advance(1);
  EXPECT_TRUE(cursor.has(0));
  EXPECT_FALSE(cursor.has(1));
  EXPECT_TRUE(cursor.has(2));
  cursor.advance(500);
  EXPECT_EQ(cursor.came, 0u);
}

TEST(RelReorder, keeps_each_packet_until_it_is_taken) {
  PacketPool pool(64, 1 << 20);
  Reorder reorder;
  const Seq base = 0xfffffff0;
  for (std::uint32_t ahead = 1; ahead < Reorder::kMost; ahead += 3) {
    const std::array<std::byte, 2> body{std::byte(ahead), std::byte(ahead >> 8)};
    ASSERT_TRUE(reorder.keep(base + ahead, ahead, 0, body, pool));
  }
  for (std::uint32_t ahead = 0; ahead < Reorder::kMost; ++ahead)
    ASSERT_EQ(reorder.has(base + ahead), ahead % 3 == 1) << ahead;
  EXPECT_FALSE(reorder.has(base + 1 + Reorder::kMost));
  for (std::uint32_t ahead = 1; ahead < Reorder::kMost; ahead += 3) {
    const Reorder::Taken taken = reorder.take(base + ahead);
    ASSERT_EQ(taken.bytes, 2);
    ASSERT_EQ(pool.at(taken.slot)[1], std::byte(ahead >> 8));
    pool.give(taken.slot);
  }
  EXPECT_EQ(reorder.count(), 0u);
  EXPECT_EQ(pool.used_bytes(), 0u);
}

TEST(RelRtt, follows_the_samples) {
  Rtt rtt;
  const Duration first = microseconds(500), least = microseconds(300);
  EXPECT_GE(rtt.timeout(first, least).ns, 3 * first.ns);
  for (int i = 0; i < 100; ++i) rtt.add(microseconds(100));
  EXPECT_NEAR(rtt.smooth_ns, 100'000, 1000);
  EXPECT_GE(rtt.timeout(first, least).ns, least.ns);
  EXPECT_LT(rtt.timeout(first, least).ns, 2 * least.ns);
  for (int i = 0; i < 100; ++i) rtt.add(milliseconds(10));
  EXPECT_GT(rtt.timeout(first, least).ns, milliseconds(10).ns);
  EXPECT_EQ(rtt.least_ns, 100'000u);
  rtt.add({-5});  // a clock that jumps
  EXPECT_EQ(rtt.least_ns, 1u);
}

TEST(RelCredit, never_more_than_the_budget_beyond_the_eager_windows) {
  constexpr std::uint32_t kEager = 16, kBudget = 130;
  CreditBook book(kBudget, kEager);
  Prng prng(5);
  struct Peer {
    CreditBook::Account account;
    std::int32_t out = kEager;
  };
  std::vector<Peer> peers(20);
  for (int i = 0; i < 200'000; ++i) {
    Peer& peer = peers[prng.below(peers.size())];
    if (prng.below(20) == 0) book.set_backlogged(peer.account, prng.below(3) != 0);
    if (peer.out > 0 && prng.below(2) == 0) --peer.out;  // a packet came
    const std::uint32_t window =
        book.window(peer.account, kEager + static_cast<std::uint32_t>(prng.below(200)));
    ASSERT_GE(window, peer.account.backlogged ? 2 : kEager);
    peer.out = std::max(peer.out, static_cast<std::int32_t>(window));  // credit is never revoked
    book.set_outstanding(peer.account, peer.out);
    std::int64_t beyond = 0;
    for (const Peer& each : peers) beyond += std::max(0, each.out - static_cast<std::int32_t>(kEager));
    ASSERT_LE(beyond, kBudget);
    ASSERT_EQ(beyond, book.beyond());
  }
}

// Packets of one backlogged sender, `ns` apart; the first `queued` of them are read at once.
std::uint32_t budget_after(CreditBook& book, std::uint32_t packets, std::uint32_t queued, std::int64_t ns) {
  CreditBook::Account account;
  book.set_backlogged(account, true);
  Instant now{1'000'000};
  for (std::uint32_t i = 0; i < packets; ++i) {
    if (i > queued) now = now + Duration{ns};
    book.on_packet(now);
  }
  book.set_backlogged(account, false);
  return book.budget();
}

TEST(RelCredit, the_budget_grows_on_a_fast_link_only) {
  constexpr std::uint32_t kFirst = 131, kSockets = 700;
  constexpr std::int64_t kTenGbit = 1200, kOneGbit = 12'000;  // ns per packet
  CreditBook slow(kFirst, 21, kSockets), late(kFirst, 21, kSockets), fast(kFirst, 21, kSockets),
      small(kFirst, 21);
  EXPECT_EQ(budget_after(slow, 2000, 0, kOneGbit), kFirst);
  EXPECT_EQ(budget_after(late, 2000, kFirst, kOneGbit), kFirst) << "a full socket is no sign of a fast link";
  EXPECT_EQ(budget_after(small, 2000, 0, kTenGbit), kFirst) << "the sockets hold no more";
  EXPECT_EQ(budget_after(fast, 4 * kFirst - 1, 0, kTenGbit), kFirst) << "too few to judge";
  EXPECT_EQ(budget_after(fast, 2000, 0, kTenGbit), kSockets);
  fast.on_loss();
  EXPECT_EQ(fast.budget(), kSockets / 2);
  for (int i = 0; i < 3; ++i) fast.on_loss();
  EXPECT_EQ(fast.budget(), kFirst);
}

TEST(RelCredit, backlogged_senders_get_equal_shares) {
  CreditBook book(140, 16);
  CreditBook::Account a, b;
  book.set_backlogged(a, true);
  EXPECT_EQ(book.window(a, 1000), 140u);
  EXPECT_EQ(book.window(b, 1000), 16u);
  book.set_backlogged(b, true);
  EXPECT_EQ(book.window(a, 1000), 70u);
  EXPECT_EQ(book.window(b, 1000), 70u);
  std::vector<CreditBook::Account> many(26);
  for (CreditBook::Account& each : many) book.set_backlogged(each, true);
  EXPECT_EQ(book.window(a, 1000), 5u) << "28 with 16 each would be more than 140";
}

struct Timed {
  std::uint32_t heap_place = DeadlineHeap<Timed>::kOut;
  std::int64_t at = -1;
};

TEST(RelHeap, the_earliest_is_on_top) {
  DeadlineHeap<Timed> heap;
  std::vector<Timed> all(50);
  Prng prng(9);
  for (int i = 0; i < 50'000; ++i) {
    Timed& one = all[prng.below(all.size())];
    if (prng.below(3) == 0) {
      heap.remove(one);
      one.at = -1;
    } else {
      one.at = static_cast<std::int64_t>(prng.below(1000));
      heap.set(one, {one.at});
    }
    std::int64_t least = INT64_MAX;
    for (const Timed& each : all)
      if (each.at >= 0) least = std::min(least, each.at);
    ASSERT_EQ(heap.empty(), least == INT64_MAX);
    if (!heap.empty()) {
      ASSERT_EQ(heap.top().at.ns, least);
    }
  }
}

TEST(RelLink, data_takes_the_best_link_and_then_all_comparable_ones) {
  std::array<Link, 3> links;
  EXPECT_EQ(choose_link(links), 0);
  links[1].state = LinkState::live;
  EXPECT_EQ(choose_link(links), 1) << "one that answers is better than the first";
  links[0].state = links[2].state = LinkState::live;
  EXPECT_EQ(choose_link(links), 0);
  std::array<int, 3> sent{};
  links[2].packet_ns = 1e9F;  // slower by far
  for (int i = 0; i < 100; ++i) {
    const std::uint8_t by = choose_link(links);
    ++links[by].in_flight;
    ++sent[by];
  }
  EXPECT_NEAR(sent[0], sent[1], 10);
  EXPECT_EQ(sent[2], 0);
  links[0].state = LinkState::suspect;
  EXPECT_EQ(choose_link(links), 1);
}

TEST(RelLink, a_paused_receiver_does_not_make_a_link_slow) {
  Link link;
  link.in_flight = 100;
  Instant now{1'000'000};
  for (int i = 0; i < 1000; ++i) link.on_delivered(now = now + microseconds(48), 4);
  EXPECT_NEAR(link.packet_ns, 12'000, 1000);
  link.on_delivered(now = now + milliseconds(20), 4);
  EXPECT_LT(link.packet_ns, 14'000);
  for (int i = 0; i < 4000; ++i) link.on_delivered(now = now + microseconds(480), 4);
  EXPECT_NEAR(link.packet_ns, 120'000, 10'000) << "slower for good";
  link.on_delivered(now, 4);  // several acks at once
  EXPECT_NEAR(link.packet_ns, 120'000, 10'000);
}

}  // namespace
}  // namespace herald::rel
