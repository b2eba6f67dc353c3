// SPDX-License-Identifier: BSD-3-Clause
// path/shm/stream.hpp: long data between ranks of one host through chunks of shared memory: one rank copies
// in while the others copy out. Each rank has a ring of chunks that only it fills; either all other ranks or
// one of them reads a chunk. Positions in a ring count from 0 and never wrap; position p uses chunk p mod
// chunks. A chunk carries its position (plus 1: memory begins as zero) and its number of readers; it is
// filled again when all have read it.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "path/inbox.hpp"

namespace herald::path {

struct StreamShape {
  std::uint32_t ranks = 0;
  std::uint32_t chunks = 0;  // of each rank; a power of two; 0: no streams
  // Measured: chunks of this size, in rings of several times the first-level cache, have the best throughput.
  static constexpr std::uint32_t kChunkBytes = 16384;
  static constexpr std::uint32_t kMostChunks = 16;

  // The largest shape of at most `most_bytes`.
  static constexpr StreamShape make(std::uint32_t ranks, std::uint64_t most_bytes) noexcept {
    StreamShape shape{ranks, kMostChunks};
    while (shape.chunks != 0 && shape.bytes() > most_bytes)
      shape.chunks = shape.chunks == 2 ? 0 : shape.chunks / 2;
    return shape;
  }
  constexpr std::size_t bytes() const noexcept;
};

struct ChunkHead {
  alignas(kCacheLine) std::atomic<std::uint64_t> stamp;  // by the owner
  alignas(kCacheLine) std::atomic<std::uint32_t> reads;  // by the others
};

constexpr std::size_t StreamShape::bytes() const noexcept {
  return std::size_t{ranks} * chunks * (sizeof(ChunkHead) + kChunkBytes);
}

// One rank's view of the rings of all ranks.
class Streams {
 public:
  Streams() noexcept = default;
  // `memory`: shape.bytes() bytes, zero at first, aligned to a cache line.
  Streams(void* memory, const StreamShape& shape, int rank) noexcept
      : memory_(static_cast<std::byte*>(memory)), shape_(shape), rank_(rank) {}

  // Owner: whether all readers are done with the previous data of the chunk.
  bool is_free(std::uint64_t position) noexcept {
    return position < shape_.chunks ||
           head(rank_, position).reads.load(std::memory_order_seq_cst) == shape_.ranks - 1;
  }
  std::byte* room(std::uint64_t position) noexcept { return data(rank_, position); }
  // For `readers` of the other ranks to read.
  void publish(std::uint64_t position, std::uint32_t readers) noexcept {
    ChunkHead& mine = head(rank_, position);
    mine.reads.store(shape_.ranks - 1 - readers, std::memory_order_relaxed);
    mine.stamp.store(position + 1, std::memory_order_release);
  }

  // Readers: null if it is not published yet.
  const std::byte* find(int owner, std::uint64_t position) noexcept {
    return head(owner, position).stamp.load(std::memory_order_seq_cst) == position + 1 ? data(owner, position)
                                                                                       : nullptr;
  }
  // True for the last reader.
  bool has_read(int owner, std::uint64_t position) noexcept {
    return head(owner, position).reads.fetch_add(1, std::memory_order_acq_rel) + 2 == shape_.ranks;
  }

 private:
  std::size_t index(int owner, std::uint64_t position) const noexcept {
    return static_cast<std::size_t>(owner) * shape_.chunks + (position & (shape_.chunks - 1));
  }
  ChunkHead& head(int owner, std::uint64_t position) noexcept {
    return reinterpret_cast<ChunkHead*>(memory_)[index(owner, position)];
  }
  std::byte* data(int owner, std::uint64_t position) noexcept {
    const std::size_t heads = std::size_t{shape_.ranks} * shape_.chunks * sizeof(ChunkHead);
    return memory_ + heads + index(owner, position) * StreamShape::kChunkBytes;
  }

  std::byte* memory_ = nullptr;
  StreamShape shape_;
  int rank_ = 0;
};

}  // namespace herald::path
