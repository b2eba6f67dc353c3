// SPDX-License-Identifier: BSD-3-Clause
// exec/stream.cpp: the steps of plans that move long data through chunks of shared memory. A post says where
// in its rank's ring a stream begins and how long it is. One run at a time fills our ring, in the order in
// which runs began: the oldest of all runs never waits for a younger one.
#include <algorithm>
#include <cstring>

#include "exec/shared_channel.hpp"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace herald::exec {
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
  _mm_sfence();  // other threads of the program may read it
#endif
  std::memcpy(to, from, bytes);
}

void SharedChannel::publish(int reader) noexcept {
  const int readers = reader == coll::kAllRanks ? ranks_->count() - 1 : 1;
  streams_.publish(stream_next_++, static_cast<std::uint32_t>(readers));
  note_ring(reader);
}

// `progress`: 1 plus the bytes written so far.
bool SharedChannel::stream_write(const Context& run, const coll::Step& step,
                                 std::uint64_t& progress) noexcept {
  if (stream_writers_.front() != run.number) return false;
  if (progress == 0) {
    if (!is_free(channels_[0], run.number)) return false;
    channels_[0].post(run.number, step.tag, marked(run, kStreamBit | stream_next_), step.a.bytes);
    note_ring(step.partner);
    progress = 1;
  }
  for (std::uint64_t done = progress - 1; done != step.a.bytes; progress = 1 + done) {
    if (!streams_.is_free(stream_next_)) return false;
    const std::uint64_t bytes = std::min(step.a.bytes - done, payload(step));
    cursor(bytes_of(step.a, done, bytes), run.places).pack(streams_.room(stream_next_), bytes);
    publish(step.partner);
    done += bytes;
  }
  return true;
}

// `progress`: bytes read so far.
bool SharedChannel::stream_read(const path::Post& post, const Context& run, const coll::Step& step,
                                std::uint64_t& progress) noexcept {
  const std::uint64_t first = post.place() & ~kStreamBit;
  while (progress != post.bytes) {
    const std::uint64_t position = first + progress / payload(step);
    const std::byte* chunk = streams_.find(step.partner, position);
    if (chunk == nullptr) return false;
    const std::uint64_t bytes = std::min(post.bytes - progress, payload(step));
    const std::uint64_t room = std::min(bytes, step.a.bytes - std::min(progress, step.a.bytes));
    if (step.cold && step.a.layout == nullptr)
      copy_cold(static_cast<std::byte*>(run.places.of(step.a)) + progress, chunk, room);
    else if (room != 0)
      cursor(bytes_of(step.a, progress, room), run.places).unpack(chunk, room);
    if (streams_.has_read(step.partner, position)) note_ring(step.partner);
    progress += bytes;
  }
  return true;
}

// `progress`: 1 plus the operands reduced so far, chunk after chunk, in each from the last rank to the first.
// A chunk is reduced in our ring if it is written on to others, or if our own part lies where the result
// goes.
bool SharedChannel::stream_reduce(const Context& run, const coll::Step& step, std::uint64_t& progress,
                                  Status& error) noexcept {
  const bool writes_on = step.partner != coll::kNoRank;
  const bool in_ring = writes_on || run.places.of(step.a) == run.places.of(step.b);
  if (stream_writers_.front() != run.number) return false;
  if (progress == 0) {
    if (writes_on && !is_free(channels_[0], run.number)) return false;
    if (writes_on)
      channels_[0].post(run.number, step.tag, marked(run, kStreamBit | stream_next_), step.a.bytes);
    progress = 1;
  }
  const std::int64_t gap = step.a.layout->true_lb();
  auto* own = static_cast<std::byte*>(run.places.of(step.a)) + gap;
  auto* to = static_cast<std::byte*>(run.places.of(step.b)) + gap;
  const auto ranks = static_cast<std::uint64_t>(ranks_->count());
  for (;; ++progress) {
    const std::uint64_t chunk = (progress - 1) / ranks, nth = (progress - 1) % ranks;
    const std::uint64_t at = chunk * payload(step);
    if (at >= step.a.bytes) return true;
    const std::uint64_t bytes = std::min(step.a.bytes - at, payload(step));
    if (nth == 0 && in_ring && !streams_.is_free(stream_next_)) return false;
    const int rank = static_cast<int>(ranks - 1 - nth);
    const bool is_own = rank == ranks_->place;
    const std::byte* operand = own + at;
    std::uint64_t position = 0;
    if (!is_own) {
      const path::Post* post = channels_[0].posted(run.number, rank, 0);
      if (post == nullptr) return false;
      if ((post->address & kStreamBit) == 0 || post->bytes != step.a.bytes) {
        error = Status::truncated;  // the ranks do not agree on how much they reduce
        return true;
      }
      if (post->is_incomplete()) error = Status::peer_lost;
      position = (post->place() & ~kStreamBit) + chunk;
      operand = streams_.find(rank, position);
      if (operand == nullptr) return false;
    }
    std::byte* sum = in_ring ? streams_.room(stream_next_) : to + at;
    if (nth == 0)
      std::memcpy(sum, operand, bytes);
    else
      run.reduction.apply(operand - gap, sum - gap, static_cast<std::int64_t>(bytes / step.unit));
    if (!is_own && streams_.has_read(rank, position)) note_ring(rank);
    if (nth + 1 != ranks) continue;
    if (in_ring) std::memcpy(to + at, sum, bytes);
    if (writes_on) publish(step.partner);
  }
}

}  // namespace herald::exec
