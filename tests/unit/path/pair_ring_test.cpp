// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: a packet is lost, duplicated, torn or out of order where the ring wraps around; old
// bytes of a packet are taken for the next entry; a full ring is not detected, or stays full; an entry that a
// producer had not published when it died is read; damaged entries are followed.
#include "path/pair_ring.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "base/prng.hpp"

using namespace herald;
using namespace herald::path;

namespace {

class Memory {
 public:
  explicit Memory(const RingShape& shape) : bytes_(shape.bytes()) {
    data_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  }
  ~Memory() { munmap(data_, bytes_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  void* data() const { return data_; }
  std::uint64_t& word(std::size_t line) {
    return *reinterpret_cast<std::uint64_t*>(static_cast<std::byte*>(data_) + (line + 1) * kCacheLine);
  }

 private:
  std::size_t bytes_;
  void* data_;
};

// Each word of a packet looks like the word of an entry.
void fill(std::byte* out, std::uint32_t bytes, std::uint64_t count) {
  const std::uint64_t word = std::uint64_t{0x48524c44} << 32 | std::uint64_t{8} << 24 | (count & 0xff);
  for (std::uint32_t at = 0; at < bytes; ++at)
    out[at] =
        static_cast<std::byte>(word >> (at % 8 * 8) & 0xff) ^ static_cast<std::byte>(at >= 8 ? 0 : count);
}

bool equals(std::span<const std::byte> packet, std::uint32_t bytes, std::uint64_t count) {
  std::vector<std::byte> expected(bytes);
  fill(expected.data(), bytes, count);
  return packet.size() == bytes && (bytes == 0 || std::memcmp(packet.data(), expected.data(), bytes) == 0);
}

std::uint32_t next_bytes(Prng& chance, const RingShape& shape) {
  return static_cast<std::uint32_t>(chance.below(4) == 0 ? chance.below(shape.packet_bytes + 1)
                                                         : chance.below(100));
}

// Publishes one packet, if there is space.
bool put(RingWriter& writer, std::uint32_t bytes, std::uint64_t count) {
  std::byte* room = writer.claim(count % 3 == 0 ? RingShape::kPadded : RingShape::kWord);
  if (room == nullptr) return false;
  fill(room, bytes, count);
  if (count % 5 == 0) writer.expect_claim();
  writer.hand_over(bytes);
  writer.prepare(count % 2 == 0);
  return true;
}

}  // namespace

TEST(PairRing, packets_of_all_lengths_arrive_in_order) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    const RingShape shape = RingShape::make(seed * 1000, seed * 150);
    ASSERT_TRUE(shape.sane());
    const Memory memory(shape);
    RingWriter writer(memory.data(), shape);
    RingReader reader(memory.data(), shape);
    Prng turns(seed), sizes_in(seed), sizes_out(seed);
    std::uint64_t in = 0, out = 0;
    std::uint32_t next = next_bytes(sizes_in, shape);
    while (out < 20000) {
      for (std::uint64_t n = turns.below(30); n != 0 && put(writer, next, in); --n, ++in)
        next = next_bytes(sizes_in, shape);
      for (std::uint64_t n = turns.below(30); n != 0 && reader.front().data() != nullptr; --n, ++out) {
        ASSERT_TRUE(equals(reader.front(), next_bytes(sizes_out, shape), out)) << "seed " << seed;
        reader.pop();
      }
      ASSERT_TRUE(out < in || reader.front().data() == nullptr);
    }
  }
}

TEST(PairRing, packets_arrive_in_order_between_processes) {
  const RingShape shape = RingShape::make(32768, 400);
  const Memory memory(shape);
  constexpr std::uint64_t kPackets = 5000;
  const pid_t child = fork();
  if (child == 0) {
    RingWriter writer(memory.data(), shape);
    Prng sizes(7);
    for (std::uint64_t i = 0; i < kPackets; ++i) {
      const std::uint32_t bytes = next_bytes(sizes, shape);
      while (!put(writer, bytes, i)) sched_yield();
    }
    _exit(0);
  }
  RingReader reader(memory.data(), shape);
  Prng sizes(7);
  bool good = true;
  for (std::uint64_t i = 0; good && i < kPackets; ++i) {
    std::span<const std::byte> packet;
    while ((packet = reader.front()).data() == nullptr) sched_yield();
    good = equals(packet, next_bytes(sizes, shape), i);
    reader.pop();
  }
  EXPECT_TRUE(good);
  if (!good) kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

TEST(PairRing, a_full_ring_gives_no_space_until_a_quarter_is_free) {
  const RingShape shape = RingShape::make(4096, 100);
  const Memory memory(shape);
  RingWriter writer(memory.data(), shape);
  RingReader reader(memory.data(), shape);
  for (int round = 0; round < 50; ++round) {
    int in = 0, told = 0;
    while (std::byte* room = writer.claim()) {
      std::memset(room, in, 60);
      writer.publish(60);
      ++in;
    }
    EXPECT_GE(in, static_cast<int>(shape.lines) / 4 / 2);
    for (int out = 0; out < in; ++out) {
      const std::span<const std::byte> packet = reader.front();
      ASSERT_EQ(packet.size(), 60u);
      EXPECT_EQ(packet[59], static_cast<std::byte>(out));
      told += reader.pop() ? 1 : 0;
    }
    EXPECT_GE(told, 1);  // a producer that waits for space is rung
    EXPECT_EQ(reader.front().data(), nullptr);
  }
}

TEST(PairRing, a_claimed_entry_is_not_visible_before_it_is_published) {
  const RingShape shape = RingShape::make(4096, 100);
  const Memory memory(shape);
  RingReader reader(memory.data(), shape);
  const pid_t child = fork();
  if (child == 0) {
    RingWriter writer(memory.data(), shape);
    put(writer, 7, 0);
    std::memset(writer.claim(), 0x55, 100);
    kill(getpid(), SIGKILL);
  }
  waitpid(child, nullptr, 0);
  EXPECT_EQ(reader.front().size(), 7u);
  reader.pop();
  EXPECT_EQ(reader.front().data(), nullptr);
  EXPECT_TRUE(reader.is_empty());
}

TEST(PairRing, damaged_entries_are_reported_and_not_followed) {
  const RingShape shape = RingShape::make(4096, 100);
  constexpr std::uint64_t kMark = std::uint64_t{0x48524c44} << 32;
  for (const std::uint64_t word :
       {std::uint64_t{1}, kMark + 5, kMark | 9u << 24 | 5, kMark | 8u << 24 | 5000,
        kMark | 8u << 24 | 0xff'ffff, (kMark + (std::uint64_t{1} << 32)) | 8u << 24}) {
    Memory memory(shape);
    memory.word(0) = word;
    RingReader reader(memory.data(), shape);
    EXPECT_EQ(reader.front().data(), nullptr) << word;
    EXPECT_NE(reader.damage(), nullptr) << word;
    EXPECT_TRUE(reader.is_empty());
  }
}

// A wrong position of the reader would let the writer overwrite entries that are not read yet.
TEST(PairRing, an_impossible_position_of_the_reader_stops_the_writer) {
  const RingShape shape = RingShape::make(4096, 100);
  for (const std::uint64_t position : {std::uint64_t{5}, ~std::uint64_t{0}}) {
    Memory memory(shape);
    RingWriter writer(memory.data(), shape);
    *static_cast<std::uint64_t*>(memory.data()) = position;
    EXPECT_EQ(writer.claim(), nullptr);
    EXPECT_NE(writer.damage(), nullptr);
    EXPECT_EQ(writer.claim(), nullptr);
  }
}

TEST(PairRing, inconsistent_shapes_are_not_sane) {
  RingShape shape = RingShape::make(32768, 4136);
  EXPECT_TRUE(shape.sane());
  EXPECT_EQ(shape.lines, 512u);
  shape.lines = 500;
  EXPECT_FALSE(shape.sane());
  shape.lines = 256;  // too few for packets of this length
  EXPECT_FALSE(shape.sane());
  shape.lines = 0;
  EXPECT_FALSE(shape.sane());
}
