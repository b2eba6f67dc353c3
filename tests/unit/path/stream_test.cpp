// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: a chunk is read before it is complete, or twice; it is filled again while a rank still
// reads it; a ring is larger than allowed. Threads stand for ranks, so that ThreadSanitizer sees the memory
// that processes would share.
#include "path/shm/stream.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

#include "cache_lines.hpp"

namespace herald::path {
namespace {

// Rank 0 writes a stream, the others read it; then rank 1 writes.
void use_streams(void* memory, const StreamShape& shape, int rank, int& wrong) {
  constexpr std::uint64_t kPositions = 400;
  Streams streams(memory, shape, rank);
  for (int owner = 0; owner < 2; ++owner) {
    for (std::uint64_t position = 0; position < kPositions; ++position) {
      const std::uint64_t value = position * 10 + static_cast<unsigned>(owner);
      if (rank == owner) {
        while (!streams.is_free(position)) std::this_thread::yield();
        std::memcpy(streams.room(position), &value, sizeof value);
        std::memcpy(streams.room(position) + StreamShape::kChunkBytes - sizeof value, &value, sizeof value);
        streams.publish(position, shape.ranks - 1);
        continue;
      }
      const std::byte* chunk = streams.find(owner, position);
      while (chunk == nullptr) {
        std::this_thread::yield();
        chunk = streams.find(owner, position);
      }
      std::uint64_t first = 0, last = 0;
      std::memcpy(&first, chunk, sizeof first);
      std::memcpy(&last, chunk + StreamShape::kChunkBytes - sizeof last, sizeof last);
      if (first != value || last != value) ++wrong;
      (void)streams.has_read(owner, position);
    }
  }
}

TEST(Stream, a_chunk_for_one_reader_is_free_when_that_rank_has_read_it) {
  const StreamShape shape{4, 2};
  std::vector<Line> memory(shape.bytes() / sizeof(Line));
  std::memset(static_cast<void*>(memory.data()), 0, memory.size() * sizeof(Line));
  Streams ours(memory.data(), shape, 0), theirs(memory.data(), shape, 2);
  for (std::uint64_t position = 0; position < 7; ++position) {
    ASSERT_TRUE(ours.is_free(position)) << position;
    ours.publish(position, 1);
    EXPECT_FALSE(ours.is_free(position + shape.chunks));
    ASSERT_NE(theirs.find(0, position), nullptr);
    EXPECT_TRUE(theirs.has_read(0, position));  // the last reader
  }
}

TEST(Stream, chunks_are_read_complete_and_once_by_all) {
  for (const std::uint32_t ranks : {2u, 3u, 5u}) {
    const StreamShape shape{ranks, 4};
    std::vector<Line> memory(shape.bytes() / sizeof(Line));
    std::memset(static_cast<void*>(memory.data()), 0, memory.size() * sizeof(Line));
    std::vector<int> wrong(ranks, 0);
    std::vector<std::thread> threads;
    for (std::uint32_t r = 0; r < ranks; ++r)
      threads.emplace_back(use_streams, memory.data(), shape, static_cast<int>(r), std::ref(wrong[r]));
    for (std::thread& thread : threads) thread.join();
    for (const int count : wrong) EXPECT_EQ(count, 0) << ranks << " ranks";
  }
}

TEST(Stream, the_last_reader_frees_a_chunk) {
  const StreamShape shape{3, 2};
  std::vector<Line> memory(shape.bytes() / sizeof(Line));
  std::memset(static_cast<void*>(memory.data()), 0, memory.size() * sizeof(Line));
  Streams owner(memory.data(), shape, 0), one(memory.data(), shape, 1), two(memory.data(), shape, 2);
  for (const std::uint64_t position : {0u, 1u}) {
    EXPECT_TRUE(owner.is_free(position));
    EXPECT_EQ(one.find(0, position), nullptr);
    owner.publish(position, 2);
    EXPECT_NE(one.find(0, position), nullptr);
  }
  EXPECT_FALSE(owner.is_free(2));
  EXPECT_FALSE(one.has_read(0, 0));
  EXPECT_FALSE(owner.is_free(2));
  EXPECT_TRUE(two.has_read(0, 0));
  EXPECT_TRUE(owner.is_free(2));
  EXPECT_FALSE(owner.is_free(3));
  EXPECT_EQ(one.find(0, 2), nullptr);
}

TEST(Stream, uses_no_more_memory_than_allowed) {
  for (const std::uint32_t ranks : {2u, 7u, 16u, 100u, 4096u})
    for (const std::uint64_t most : {0u, 1u << 15, 1u << 20, 1u << 21, 1u << 24}) {
      const StreamShape shape = StreamShape::make(ranks, most);
      EXPECT_LE(shape.bytes(), most);
      EXPECT_TRUE(shape.chunks == 0 || shape.chunks >= 2);
      EXPECT_EQ(shape.chunks & (shape.chunks - 1), 0u);
    }
  EXPECT_EQ(StreamShape::make(2, 1 << 21).chunks, StreamShape::kMostChunks);
}

}  // namespace
}  // namespace herald::path
