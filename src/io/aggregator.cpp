// SPDX-License-Identifier: BSD-3-Clause
#include "io/aggregator.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace herald::io {
namespace {

constexpr std::int64_t kWordBits = 64;
// A window with more gaps than this is read first and then written as a whole.
constexpr int kMostWrites = 16;

}  // namespace

std::vector<std::int64_t> Aggregator::set_window(const Segment& window) noexcept {
  window_ = window;
  positions_.resize(ranks_.size());
  bytes_.resize(ranks_.size());
  std::int64_t first = window.end(), last = window.offset;
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    positions_[i] = positions_in(views_[i], ranks_[i], window);
    bytes_[i] = positions_[i].bytes();
    if (bytes_[i] == 0) continue;
    first = std::min(first, views_[i].offset_of(positions_[i].begin));
    last = std::max(last, views_[i].offset_of(positions_[i].end - 1) + 1);
  }
  window_ = {std::min(first, last), std::max<std::int64_t>(last - first, 0)};
  std::vector<std::int64_t> exchanged = bytes_;
  if (own_ != kNone) exchanged[own_] = 0;
  return exchanged;
}

template <class Byte, class Move>
void Aggregator::for_each_segment(Byte* data, Move move) noexcept {
  for (std::size_t i = 0; i < views_.size(); ++i) {
    if (bytes_[i] == 0) continue;
    type::Cursor memory;
    Byte* at = data;
    if (i == own_) {
      memory = own_memory_;
      memory.narrow(static_cast<std::uint64_t>(positions_[i].begin - ranks_[i].position),
                    static_cast<std::uint64_t>(bytes_[i]));
      at = memory.contiguous() ? static_cast<Byte*>(memory.contiguous_at()) : nullptr;
    }
    Walker walker(views_[i], positions_[i].begin, bytes_[i]);
    if (at == nullptr)
      for (Segment segment{}; walker.next(segment);) move(segment, at, memory);
    else
      for (Segment segment{}; walker.next(segment); at += segment.bytes) move(segment, at, memory);
    if (i != own_) data = at;
  }
}

void Aggregator::cover(const Segment& segment) noexcept {
  std::int64_t at = segment.offset - window_.offset;
  const std::int64_t end = at + segment.bytes;
  while (at < end) {
    const std::int64_t bit = at % kWordBits, count = std::min(kWordBits - bit, end - at);
    const std::uint64_t mask = count == kWordBits ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
    memory_.covered[static_cast<std::size_t>(at / kWordBits)] |= mask << bit;
    at += count;
  }
}

void Aggregator::scatter(const char* data) noexcept {
  for_each_segment(data, [this, file = memory_.file.data(), begin = window_.offset](
                             const Segment& segment, const char* from, type::Cursor& memory) {
    char* const to = file + (segment.offset - begin);
    const auto bytes = static_cast<std::size_t>(segment.bytes);
    if (from == nullptr)
      memory.pack(to, bytes);
    else
      std::memcpy(to, from, bytes);
    cover(segment);
  });
}

// The first byte from `from` on that is covered, or not covered; the end of the window if there is none.
std::int64_t Aggregator::find(std::int64_t from, bool covered) const noexcept {
  while (from < window_.bytes) {
    const std::uint64_t word = memory_.covered[static_cast<std::size_t>(from / kWordBits)];
    const std::uint64_t wanted = (covered ? word : ~word) >> (from % kWordBits);
    if (wanted != 0) return std::min<std::int64_t>(from + std::countr_zero(wanted), window_.bytes);
    from += kWordBits - from % kWordBits;
  }
  return window_.bytes;
}

int Aggregator::write(const char* data) noexcept {
  if (window_.bytes == 0) return 0;
  memory_.file.resize(static_cast<std::size_t>(window_.bytes));
  memory_.covered.assign(static_cast<std::size_t>((window_.bytes + kWordBits - 1) / kWordBits), 0);
  scatter(data);
  int runs = 0;
  for (std::int64_t at = find(0, true); at < window_.bytes && runs <= kMostWrites; ++runs)
    at = find(find(at, false), true);
  if (runs <= kMostWrites || !may_read_) return write_covered();
  if (const int error = fill_gaps()) return error;
  return storage_.write(window_.offset, memory_.file.data(), window_.bytes).error;
}

int Aggregator::write_covered() noexcept {
  for (std::int64_t at = find(0, true); at < window_.bytes;) {
    const std::int64_t end = find(at, false);
    const Outcome one = storage_.write(window_.offset + at, memory_.file.data() + at, end - at);
    if (one.error != 0) return one.error;
    at = find(end, true);
  }
  return 0;
}

// Bytes that no rank writes stay as they are in the file.
int Aggregator::fill_gaps() noexcept {
  std::vector<char> old(memory_.file.size());
  const Outcome one = storage_.read(window_.offset, old.data(), window_.bytes);
  if (one.error != 0) return one.error;
  for (std::int64_t at = find(0, false); at < window_.bytes;) {
    const std::int64_t end = find(at, true);
    std::memcpy(memory_.file.data() + at, old.data() + at, static_cast<std::size_t>(end - at));
    at = find(end, false);
  }
  return 0;
}

int Aggregator::read(char* data) noexcept {
  if (window_.bytes == 0) return 0;
  memory_.file.resize(static_cast<std::size_t>(window_.bytes));
  const Outcome one = storage_.read(window_.offset, memory_.file.data(), window_.bytes);
  if (one.error != 0) return one.error;
  std::memset(memory_.file.data() + one.bytes, 0, static_cast<std::size_t>(window_.bytes - one.bytes));
  for_each_segment(data, [file = memory_.file.data(), begin = window_.offset](
                             const Segment& segment, char* to, type::Cursor& memory) {
    const char* const from = file + (segment.offset - begin);
    const auto bytes = static_cast<std::size_t>(segment.bytes);
    if (to == nullptr)
      memory.unpack(from, bytes);
    else
      std::memcpy(to, from, bytes);
  });
  return 0;
}

}  // namespace herald::io
