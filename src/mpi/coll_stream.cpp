// SPDX-License-Identifier: BSD-3-Clause
// mpi/coll_stream.cpp: the steps of plans that move long data through chunks of shared memory. A post says
// where in its rank's ring a stream begins and how long it is. One operation at a time fills our ring, in the
// order in which they began: the oldest of all operations never waits for a younger one.
#include <algorithm>
#include <cstring>

#include "mpi/coll_shared.hpp"
#include "mpi/op.hpp"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace herald::mpi {
namespace {

static_assert(coll::kStreamChunk == path::StreamShape::kChunkBytes);

std::uint64_t payload(const coll::Step& step) noexcept { return coll::kStreamChunk / step.unit * step.unit; }

}  // namespace

void copy_cold(void* there, const void* here, std::size_t bytes) noexcept {
  auto* to = static_cast<std::byte*>(there);
  const auto* from = static_cast<const std::byte*>(here);
#if defined(__SSE2__)
  constexpr std::size_t kLine = 64, kWord = sizeof(__m128i);
  const std::size_t head = std::min((0 - reinterpret_cast<std::uintptr_t>(to)) % kLine, bytes);
  std::memcpy(to, from, head);
  to += head, from += head, bytes -= head;
  for (; bytes >= kLine; to += kLine, from += kLine, bytes -= kLine)
    for (std::size_t at = 0; at < kLine; at += kWord)
      _mm_stream_si128(reinterpret_cast<__m128i*>(to + at),
                       _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at)));
  _mm_sfence();  // other threads of the program may look
#endif
  std::memcpy(to, from, bytes);
}

void SharedChannel::publish(int whom) noexcept {
  const int readers = whom == coll::kAllRanks ? static_cast<int>(peers_->size()) - 1 : 1;
  streams_.publish(stream_next_++, static_cast<std::uint32_t>(readers));
  wake(whom);
}

// `progress`: 1 and the bytes that are poured.
bool SharedChannel::stream_write(std::uint64_t number, const coll::Step& step, const coll::Places& places,
                                 std::uint64_t& progress) noexcept {
  if (stream_writers_.front() != number) return false;
  if (progress == 0) {
    if (!is_free(channels_[0], number)) return false;
    channels_[0].post(number, step.tag, kStreamBit | stream_next_, step.a.bytes);
    wake(step.partner);
    progress = 1;
  }
  for (std::uint64_t done = progress - 1; done != step.a.bytes; progress = 1 + done) {
    if (!streams_.is_free(stream_next_)) return false;
    const std::uint64_t bytes = std::min(step.a.bytes - done, payload(step));
    cursor(bytes_of(step.a, done, bytes), places).pack(streams_.room(stream_next_), bytes);
    publish(step.partner);
    done += bytes;
  }
  return true;
}

// `progress`: bytes that are drawn.
bool SharedChannel::draw(const path::Post& post, const coll::Step& step, const coll::Places& places,
                         std::uint64_t& progress) noexcept {
  const std::uint64_t first = post.address & ~kStreamBit;
  while (progress != post.bytes) {
    const std::uint64_t position = first + progress / payload(step);
    const std::byte* chunk = streams_.find(step.partner, position);
    if (chunk == nullptr) return false;
    const std::uint64_t bytes = std::min(post.bytes - progress, payload(step));
    const std::uint64_t room = std::min(bytes, step.a.bytes - std::min(progress, step.a.bytes));
    if (step.cold && step.a.layout == nullptr)
      copy_cold(static_cast<std::byte*>(places.of(step.a)) + progress, chunk, room);
    else if (room != 0)
      cursor(bytes_of(step.a, progress, room), places).unpack(chunk, room);
    if (streams_.has_read(step.partner, position)) wake(step.partner);
    progress += bytes;
  }
  return true;
}

// `progress`: 1 and the operands that are done, chunk after chunk, in each from the last rank to the first. A
// chunk is reduced in our ring if it is poured on, or if our own part lies where the result goes.
bool SharedChannel::fold(std::uint64_t number, const coll::Step& step, const coll::Places& places,
                         const Reducer& reducer, std::uint64_t& progress, int& error) noexcept {
  const bool stream_writes = step.partner != coll::kNoRank;
  const bool in_ring = stream_writes || places.of(step.a) == places.of(step.b);
  if (stream_writers_.front() != number) return false;
  if (progress == 0) {
    if (stream_writes && !is_free(channels_[0], number)) return false;
    if (stream_writes) channels_[0].post(number, step.tag, kStreamBit | stream_next_, step.a.bytes);
    progress = 1;
  }
  const std::int64_t gap = step.a.layout->true_lb();
  auto* own = static_cast<std::byte*>(places.of(step.a)) + gap;
  auto* to = static_cast<std::byte*>(places.of(step.b)) + gap;
  const auto ranks = std::uint64_t{peers_->size()};
  for (;; ++progress) {
    const std::uint64_t chunk = (progress - 1) / ranks, nth = (progress - 1) % ranks;
    const std::uint64_t at = chunk * payload(step);
    if (at >= step.a.bytes) return true;
    const std::uint64_t bytes = std::min(step.a.bytes - at, payload(step));
    if (nth == 0 && in_ring && !streams_.is_free(stream_next_)) return false;
    const int rank = static_cast<int>(ranks - 1 - nth);
    const std::byte* operand = own + at;
    std::uint64_t position = 0;
    if (rank != place_) {
      const path::Post* post = channels_[0].posted(number, rank, 0);
      if (post == nullptr) return false;
      if ((post->address & kStreamBit) == 0 || post->bytes != step.a.bytes) {
        error = MPI_ERR_TRUNCATE;  // the ranks do not agree on what they reduce
        return true;
      }
      position = (post->address & ~kStreamBit) + chunk;
      operand = streams_.find(rank, position);
      if (operand == nullptr) return false;
    }
    std::byte* sum = in_ring ? streams_.room(stream_next_) : to + at;
    if (nth == 0)
      std::memcpy(sum, operand, bytes);
    else if (const int failed = reduce_into(*reducer.op, *reducer.datatype, operand - gap, sum - gap,
                                            static_cast<MPI_Count>(bytes / step.unit));
             failed != MPI_SUCCESS)
      error = failed;
    if (rank != place_ && streams_.has_read(rank, position)) wake(rank);
    if (nth + 1 != ranks) continue;
    if (in_ring) std::memcpy(to + at, sum, bytes);
    if (stream_writes) publish(step.partner);
  }
}

}  // namespace herald::mpi
