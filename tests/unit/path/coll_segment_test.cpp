// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: a rank reads a post before its data, or that of another operation; a slot is reused
// while a rank still reads it; a barrier word releases a rank early; a collective segment is created without
// space or attached with other sizes; its name is left behind. Threads stand for ranks, so that
// ThreadSanitizer sees the memory that processes would share.
#include "path/shm/coll_segment.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "cache_lines.hpp"
#include "path/shm/file.hpp"
#include "path/shm/segment.hpp"

namespace herald::path {
namespace {

constexpr int kOperations = 3000;

std::uint64_t value_of(int rank, std::uint64_t number) { return number * 1000 + static_cast<unsigned>(rank); }

// All ranks post, meet in a barrier, and read all posts. In every third operation only rank 0 posts and does
// not wait for the readers: only free slots limit it.
void take_part(void* memory, const ChannelShape& shape, int rank, int& wrong) {
  Channel channel(memory, shape, rank);
  const int ranks = static_cast<int>(shape.ranks);
  for (std::uint64_t number = 0; number < kOperations; ++number) {
    const bool one = number % 3 == 2;
    (void)channel.set_low(number);
    if (!one || rank == 0) {
      while (!channel.is_free(number)) std::this_thread::yield();
      const std::uint64_t value = value_of(rank, number);
      std::memcpy(channel.room(number), &value, sizeof value);
      channel.post(number, 0, 0, sizeof value);
      if (!one) channel.arrive(number, 0);
    }
    if (!one)
      while (!channel.met(number, 0)) std::this_thread::yield();
    for (int from = 0; from < (one ? 1 : ranks); ++from) {
      const Post* post = channel.posted(number, from, 0);
      while (one && post == nullptr) {
        std::this_thread::yield();
        post = channel.posted(number, from, 0);
      }
      std::uint64_t value = 0;
      if (post != nullptr) std::memcpy(&value, channel.copy_of(number, from), sizeof value);
      if (post == nullptr || post->bytes != sizeof value || value != value_of(from, number)) ++wrong;
    }
    (void)channel.set_low(number + 1);
  }
}

TEST(CollSegment, posts_and_barriers_belong_to_their_operation) {
  for (const std::uint32_t ranks : {2u, 3u, 5u}) {
    const ChannelShape shape{ranks, 4, 256};
    std::vector<Line> memory(shape.bytes() / sizeof(Line) + 1);
    std::memset(static_cast<void*>(memory.data()), 0, memory.size() * sizeof(Line));
    std::vector<int> wrong(ranks, 0);
    std::vector<std::thread> threads;
    for (std::uint32_t r = 0; r < ranks; ++r)
      threads.emplace_back(take_part, memory.data(), shape, static_cast<int>(r), std::ref(wrong[r]));
    for (std::thread& thread : threads) thread.join();
    for (const int count : wrong) EXPECT_EQ(count, 0) << ranks << " ranks";
  }
}

TEST(CollSegment, a_slot_is_free_only_when_all_are_done_with_it) {
  const ChannelShape shape{2, 4, 256};
  std::vector<Line> memory(shape.bytes() / sizeof(Line) + 1);
  std::memset(static_cast<void*>(memory.data()), 0, memory.size() * sizeof(Line));
  Channel ours(memory.data(), shape, 0), theirs(memory.data(), shape, 1);
  EXPECT_TRUE(ours.is_free(3));
  EXPECT_FALSE(ours.is_free(4));
  EXPECT_EQ(ours.set_low(9), Channel::kRingNone);
  EXPECT_FALSE(ours.is_free(4));
  ours.request_slot(6);
  EXPECT_EQ(theirs.set_low(2), Channel::kRingNone);  // not enough yet
  EXPECT_EQ(theirs.set_low(3), 0);                   // rank 0 is to be rung, once
  ours.request_slot(6);
  theirs.request_slot(7);
  EXPECT_EQ(ours.set_low(10), Channel::kRingAll);
  EXPECT_EQ(ours.set_low(11), Channel::kRingNone);
  EXPECT_TRUE(ours.is_free(6));
  EXPECT_FALSE(ours.is_free(7));
  EXPECT_TRUE(ours.has_completed(2, 1));
  EXPECT_FALSE(ours.has_completed(3, 1));
}

// With many slots a rank publishes its progress only now and then, but before the others need it.
TEST(CollSegment, completion_is_published_in_time) {
  const ChannelShape shape{2, 32, 256};
  std::vector<Line> memory(shape.bytes() / sizeof(Line) + 1);
  std::memset(static_cast<void*>(memory.data()), 0, memory.size() * sizeof(Line));
  Channel ours(memory.data(), shape, 0), theirs(memory.data(), shape, 1);
  for (std::uint64_t number = 0; number < 200; ++number) {
    ASSERT_TRUE(ours.is_free(number)) << number;
    (void)ours.set_low(number + 1);
    (void)theirs.set_low(number + 1);
    EXPECT_FALSE(ours.has_completed(number + 1, 1));
  }
  std::uint64_t ahead = 200;
  while (ours.is_free(ahead)) ++ahead;
  EXPECT_GE(ahead, 200u + 24u);
  EXPECT_LE(ahead, 200u + 32u);
  ours.request_slot(ahead);
  (void)ours.set_low(300);
  EXPECT_EQ(theirs.set_low(208), 0);  // rings rank 0
  EXPECT_TRUE(ours.is_free(ahead));
}

// A rank that posts does not see a sleeper, or the words of a channel overlap.
TEST(CollSegment, a_watching_rank_is_seen_by_the_others) {
  const ChannelShape shape{3, 4, 256};
  std::vector<Line> memory(shape.bytes() / sizeof(Line) + 1);
  Channel one(memory.data(), shape, 0), other(memory.data(), shape, 2);
  EXPECT_FALSE(one.is_watched());
  other.watch();
  one.watch();
  other.request_slot(5);
  EXPECT_TRUE(one.is_watched());
  one.unwatch();
  EXPECT_TRUE(one.is_watched());
  EXPECT_EQ(Channel::kRingNone, one.set_low(1));  // rank 1 has not published yet
  other.unwatch();
  EXPECT_FALSE(one.is_watched());
}

TEST(CollSegment, is_created_attached_and_leaves_no_name) {
  const std::string path =
      "/dev/shm/herald-" + std::to_string(::geteuid()) + "-boardtest-" + std::to_string(::getpid());
  const CollSegmentShape shape = CollSegmentShape::make(3, 1 << 18);
  ASSERT_NE(shape.place_bytes, 0u);
  EXPECT_LE(shape.bytes(), std::size_t{1} << 18);
  CollSegment made, attached, wrong;
  ASSERT_TRUE(made.create(path, shape, 7));
  EXPECT_FALSE(CollSegment().create(path, shape, 7));  // the name is taken
  EXPECT_EQ(::access(path.c_str(), F_OK), 0);          // and stays with its owner
  EXPECT_FALSE(wrong.attach(path, shape, 8));
  EXPECT_FALSE(wrong.attach(path, CollSegmentShape::make(4, 1 << 18), 7));
  ASSERT_TRUE(attached.attach(path, shape, 7));
  made.unlink();
  EXPECT_NE(::access(path.c_str(), F_OK), 0);
  Channel out = made.channel(1, 0), in = attached.channel(1, 2);
  out.post(5, 1, 99, 3);
  ASSERT_NE(in.posted(5, 0, 1), nullptr);
  EXPECT_EQ(in.posted(5, 0, 1)->address, 99u);
  EXPECT_EQ(in.posted(9, 0, 1), nullptr);
}

// Other jobs of the same user start all the time, and remove files with a free lock.
TEST(CollSegment, is_not_removed_as_stale_while_it_is_created) {
  char folder[] = "/dev/shm/herald-segments-XXXXXX";
  ASSERT_NE(::mkdtemp(folder), nullptr);
  const std::string path = std::string(folder) + "/herald-" + std::to_string(::geteuid()) + "-x-0-1";
  const CollSegmentShape shape = CollSegmentShape::make(2, 1 << 18);
  std::atomic<bool> done{false};
  std::thread tidy([&] {
    while (!done) (void)remove_stale_segments(folder, ::geteuid());
  });
  int bad = 0;
  for (int i = 0; i < 10000; ++i) {
    CollSegment made, attached;
    if (!made.create(path, shape, 7) || !attached.attach(path, shape, 7)) ++bad;
  }
  for (int i = 0; i < 10000; ++i) {  // as on file systems without O_TMPFILE
    const NewFile file = make_file(path, false);
    if (file.fd < 0 || !file.named || ::access(path.c_str(), F_OK) != 0) ++bad;
    ::unlink(path.c_str());
    if (file.fd >= 0) ::close(file.fd);
  }
  done = true;
  tidy.join();
  EXPECT_EQ(bad, 0);
  EXPECT_EQ(::rmdir(folder), 0);
}

TEST(CollSegment, creation_fails_where_it_is_impossible) {
  EXPECT_EQ(CollSegmentShape::make(1000, 1 << 16).place_bytes, 0u);
  EXPECT_EQ(CollSegmentShape::make(2, 0).place_bytes, 0u);
  CollSegment segment;
  EXPECT_FALSE(segment.create("/nowhere/herald-segment", CollSegmentShape::make(2, 1 << 18), 1));
  EXPECT_FALSE(segment.attach("/nowhere/herald-segment", CollSegmentShape::make(2, 1 << 18), 1));
}

TEST(CollSegment, a_post_longer_than_its_place_is_reported_and_not_read) {
  const ChannelShape shape{2, 4, 256};
  std::vector<Line> memory(shape.bytes() / sizeof(Line) + 1);
  std::memset(static_cast<void*>(memory.data()), 0, memory.size() * sizeof(Line));
  Channel ours(memory.data(), shape, 0), theirs(memory.data(), shape, 1);
  theirs.post(0, 0, 0, shape.inline_bytes());
  EXPECT_NE(ours.posted(0, 1, 0), nullptr);
  EXPECT_EQ(ours.damaged_by(), -1);
  theirs.post(1, 0, 0, shape.inline_bytes() + 1);
  EXPECT_EQ(ours.posted(1, 1, 0), nullptr);
  EXPECT_EQ(ours.damaged_by(), 1);
}

// The word holds a rank that another process wrote: the caller indexes its peers by it.
TEST(CollSegment, a_rank_that_does_not_exist_is_not_rung) {
  const ChannelShape shape{2, 4, 256};
  std::vector<Line> memory(shape.bytes() / sizeof(Line) + 1);
  std::memset(static_cast<void*>(memory.data()), 0, memory.size() * sizeof(Line));
  Channel ours(memory.data(), shape, 0), theirs(memory.data(), shape, 1);
  EXPECT_EQ(theirs.set_low(9), Channel::kRingNone);
  *reinterpret_cast<std::uint64_t*>(memory.data()) = std::uint64_t{1} << 16 | 500;
  EXPECT_EQ(ours.set_low(9), Channel::kRingAll);
}

}  // namespace
}  // namespace herald::path
