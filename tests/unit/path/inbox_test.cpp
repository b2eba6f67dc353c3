// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: with several producers and a ring that wraps around many times, a packet is lost,
// duplicated, torn or overtakes an earlier one of the same producer; a full ring is not detected; a sleeping
// consumer is not woken; damage by a producer is followed.
#include <gtest/gtest.h>

#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "path/inbox.hpp"
#include "path/self/self.hpp"

using namespace herald;
using namespace herald::path;

namespace {

struct Item {
  std::uint64_t count;
  std::uint64_t mixed;
  unsigned char rest[40];
};

void put_all(Inbox& inbox, int producer, std::uint64_t items) {
  for (std::uint64_t i = 0; i < items; ++i) {
    std::uint64_t position = 0;
    Cell* cell = nullptr;
    while ((cell = inbox.claim(position)) == nullptr) sched_yield();
    Item item{i, i * 0x9e3779b97f4a7c15u + static_cast<unsigned>(producer), {}};
    std::memset(item.rest, static_cast<int>(i), sizeof item.rest);
    std::memcpy(cell->packet(), &item, sizeof item);
    inbox.publish(*cell, position, producer, sizeof item);
    inbox.bell().ring_if_asleep();
  }
}

// Sleeps whenever the inbox is empty. True if the items of every producer arrived complete and in order.
bool take_all(Inbox& inbox, int producers, std::uint64_t items) {
  std::vector<std::uint64_t> next(static_cast<std::size_t>(producers));
  for (std::uint64_t got = 0; got < items * static_cast<std::uint64_t>(producers);) {
    Cell* cell = inbox.front();
    if (cell == nullptr) {
      const std::uint32_t seen = inbox.bell().before_sleep();
      if (inbox.front() == nullptr) inbox.bell().sleep(seen, 20'000'000'000);
      inbox.bell().awake();
      continue;
    }
    Item item;
    std::memcpy(&item, cell->packet(), sizeof item);
    const auto from = static_cast<std::size_t>(cell->from);
    if (cell->size != sizeof item || from >= next.size() || item.count != next[from]++ ||
        item.mixed != item.count * 0x9e3779b97f4a7c15u + from)
      return false;
    for (unsigned char byte : item.rest)
      if (byte != static_cast<unsigned char>(item.count)) return false;
    inbox.pop();
    ++got;
  }
  return true;
}

void fill_in_shared_memory(bool quick) {
  const InboxShape shape = InboxShape::make(16, 100, 3);
  void* memory = mmap(nullptr, shape.bytes(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  Inbox inbox(memory, shape);
  inbox.create();
  if (quick) inbox.bell().use_membarrier();
  std::vector<pid_t> children;
  for (int i = 0; i < 3; ++i) {
    const pid_t pid = fork();
    if (pid == 0) {
      put_all(inbox, i, 20000);
      _exit(0);
    }
    children.push_back(pid);
  }
  EXPECT_TRUE(take_all(inbox, 3, 20000));
  for (pid_t pid : children) waitpid(pid, nullptr, 0);
  munmap(memory, shape.bytes());
}

}  // namespace

TEST(Inbox, several_threads_fill_a_small_ring_that_wraps_around) {
  SelfPath self;
  ASSERT_TRUE(self.open(8, 100, 4));
  constexpr int kProducers = 4;
  constexpr std::uint64_t kItems = 20000;
  std::vector<std::thread> threads;
  for (int i = 0; i < kProducers; ++i)
    threads.emplace_back([view = self.inbox(), i]() mutable { put_all(view, i, kItems); });
  EXPECT_TRUE(take_all(self.inbox(), kProducers, kItems));
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(self.inbox().front(), nullptr);
}

TEST(Inbox, several_processes_fill_a_ring_in_shared_memory) {
  for (const bool quick : {false, true}) fill_in_shared_memory(quick);
}

TEST(Inbox, a_full_ring_gives_no_cell_until_the_consumer_frees_one) {
  SelfPath self;
  ASSERT_TRUE(self.open(8, 100, 70));
  Inbox& inbox = self.inbox();
  std::uint64_t position = 0;
  for (int i = 0; i < 8; ++i) {
    Cell* cell = inbox.claim(position);
    ASSERT_NE(cell, nullptr);
    inbox.publish(*cell, position, 0, 0);
  }
  EXPECT_EQ(inbox.claim(position), nullptr);
  inbox.request_space(3);
  inbox.request_space(69);
  std::vector<std::uint32_t> rung;
  for (int i = 0; i < 2; ++i) {  // a quarter of the ring
    ASSERT_NE(inbox.front(), nullptr);
    inbox.pop();
  }
  inbox.notify_space(2, [&](std::uint32_t producer) { rung.push_back(producer); });
  EXPECT_EQ(rung, (std::vector<std::uint32_t>{3, 69}));
  inbox.notify_all([&](std::uint32_t) { FAIL() << "rung twice"; });
  EXPECT_NE(inbox.claim(position), nullptr);
  EXPECT_EQ(position, 8u);
}

TEST(Inbox, a_claimed_cell_blocks_the_cells_behind_it) {
  SelfPath self;
  ASSERT_TRUE(self.open(8, 100, 2));
  Inbox& inbox = self.inbox();
  std::uint64_t first = 0, second = 0;
  Cell* slow = inbox.claim(first);
  Cell* quick = inbox.claim(second);
  inbox.publish(*quick, second, 1, 0);
  EXPECT_EQ(inbox.front(), nullptr);
  inbox.publish(*slow, first, 0, 0);
  ASSERT_NE(inbox.front(), nullptr);
  EXPECT_EQ(inbox.front()->from, 0);
}

// Both sides of the flag: a ring between before_sleep() and sleep() must not be lost, and a producer that
// cleared the flag for an earlier packet must not leave the consumer asleep with the flag cleared.
TEST(Inbox, a_ring_before_the_sleep_begins_is_not_lost) {
  SelfPath self;
  ASSERT_TRUE(self.open(8, 100, 1));
  Doorbell& bell = self.inbox().bell();
  const std::uint32_t seen = bell.before_sleep();
  bell.ring_if_asleep();
  const auto begin = std::chrono::steady_clock::now();
  bell.sleep(seen, 5'000'000'000);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
  bell.ring_if_asleep();  // no sleeper: no count
  EXPECT_EQ(bell.rings(), seen + 1);
}

// Another process writes every field of a cell: a wrong value is reported and not used.
TEST(Inbox, damage_by_a_producer_is_reported_and_not_followed) {
  const auto check = [](auto damage, const char* says) {
    SelfPath self;
    ASSERT_TRUE(self.open(8, 100, 4));
    Inbox& inbox = self.inbox();
    std::uint64_t position = 0;
    Cell* cell = inbox.claim(position);
    inbox.publish(*cell, position, 1, 40);
    ASSERT_NE(inbox.front(), nullptr);
    EXPECT_EQ(inbox.damage(), nullptr);
    damage(*cell);
    EXPECT_EQ(inbox.front(), nullptr);
    ASSERT_NE(inbox.damage(), nullptr);
    EXPECT_NE(std::string(inbox.damage()).find(says), std::string::npos) << inbox.damage();
    EXPECT_TRUE(inbox.is_empty());
  };
  check([](Cell& cell) { cell.size = 5000; }, "longer than its cell");
  check([](Cell& cell) { cell.from = 4; }, "does not exist");
  check([](Cell& cell) { cell.from = -1; }, "does not exist");
  check([](Cell& cell) { cell.turn = 77; }, "turn");
}

TEST(Inbox, a_producer_that_does_not_exist_is_not_rung) {
  SelfPath self;
  ASSERT_TRUE(self.open(8, 100, 4));
  self.inbox().request_space(3);
  self.inbox().request_space(40);
  std::vector<std::uint32_t> rung;
  self.inbox().notify_all([&](std::uint32_t producer) { rung.push_back(producer); });
  EXPECT_EQ(rung, (std::vector<std::uint32_t>{3}));
  EXPECT_NE(self.inbox().damage(), nullptr);
}

TEST(InboxShape, rounds_up_and_detects_invalid_shapes) {
  const InboxShape shape = InboxShape::make(100, 4136, 5);
  EXPECT_EQ(shape.cells, 128u);
  EXPECT_GE(shape.packet_bytes(), 4136u);
  EXPECT_EQ(shape.cell_bytes % kCacheLine, 0u);
  EXPECT_TRUE(shape.sane());
  EXPECT_TRUE(InboxShape::make(~0ull, ~0ull, 1).sane());
  EXPECT_FALSE((InboxShape{.cells = 100, .cell_bytes = 4160, .producers = 5}).sane());
  EXPECT_FALSE((InboxShape{.cells = 128, .cell_bytes = 4161, .producers = 5}).sane());
  EXPECT_FALSE((InboxShape{.cells = 128, .cell_bytes = 0, .producers = 5}).sane());
  EXPECT_FALSE((InboxShape{.cells = 0, .cell_bytes = 4160, .producers = 5}).sane());
  EXPECT_FALSE((InboxShape{.cells = 128, .cell_bytes = 4160, .producers = 0}).sane());
}
