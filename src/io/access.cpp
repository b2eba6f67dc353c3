// SPDX-License-Identifier: BSD-3-Clause
#include "io/access.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

namespace herald::io {
namespace {

constexpr std::size_t kRuns = 256, kMostSegments = 1 << 16;
constexpr std::int64_t kWorthAnIovec =
    1024;  // runs of memory that are shorter on average are copied together

class Access {
 public:
  Access(Storage& storage, const type::Cursor& memory, const Sieve& sieve, bool writes) noexcept
      : storage_(storage), memory_(memory), sieve_(sieve), writes_(writes) {}

  Outcome run(const View& view, std::int64_t position) noexcept {
    const auto total = static_cast<std::int64_t>(memory_.total());
    if (total == 0) return {};
    if (view.contiguous()) {
      (void)move({view.offset_of(position), total});
      return result_;
    }
    Walker walker(view, position, total);
    Segment segment{};
    bool more = walker.next(segment);
    while (more) {
      more = collect(walker, segment);
      const bool good = range_.size() == 1 ? move(range_[0]) : writes_ ? rewrite_range() : read_range();
      if (!good) break;
    }
    return result_;
  }

 private:
  // Fills range_ with `segment` and the following ones that belong to the same range; false: there are no
  // more, else `segment` is the first one after the range.
  bool collect(Walker& walker, Segment& segment) noexcept {
    range_.assign(1, segment);
    while (walker.next(segment)) {
      const std::int64_t gap = segment.offset - range_.back().end();
      if (gap < 0 || gap > sieve_.largest_gap || segment.end() - range_[0].offset > sieve_.buffer_bytes ||
          range_.size() == kMostSegments)
        return true;
      range_.push_back(segment);
    }
    return false;
  }

  // One segment, straight or, if memory has short runs, through the buffer. False: this was the end.
  bool move(const Segment& segment) noexcept {
    for (std::int64_t done = 0; done < segment.bytes;) {
      std::array<type::Run, kRuns> runs;
      const std::uint64_t from = memory_.position();
      const std::size_t count = memory_.next_runs(runs, static_cast<std::size_t>(segment.bytes - done));
      auto bytes = static_cast<std::int64_t>(memory_.position() - from);
      const bool copies = count == kRuns && bytes / static_cast<std::int64_t>(kRuns) < kWorthAnIovec;
      if (copies) {
        memory_.seek(from);
        bytes = std::min(segment.bytes - done, sieve_.buffer_bytes);
      }
      const Outcome one =
          copies ? copy(segment.offset + done, bytes) : pass(segment.offset + done, {runs.data(), count});
      result_.bytes += one.bytes;
      result_.error = one.error;
      if (one.error != 0 || one.bytes < bytes) return false;
      done += bytes;
    }
    return true;
  }

  Outcome pass(std::int64_t offset, std::span<const type::Run> runs) noexcept {
    return writes_ ? storage_.write(offset, runs) : storage_.read(offset, runs);
  }

  Outcome copy(std::int64_t offset, std::int64_t bytes) noexcept {
    buffer_.resize(static_cast<std::size_t>(bytes));
    if (writes_) {
      (void)memory_.pack(buffer_.data(), buffer_.size());
      return storage_.write(offset, buffer_.data(), bytes);
    }
    const Outcome one = storage_.read(offset, buffer_.data(), bytes);
    (void)memory_.unpack(buffer_.data(), static_cast<std::size_t>(one.bytes));
    return one;
  }

  bool read_range() noexcept {
    const std::int64_t start = range_[0].offset, bytes = range_.back().end() - start;
    buffer_.resize(static_cast<std::size_t>(bytes));
    const Outcome one = storage_.read(start, buffer_.data(), bytes);
    for (const Segment& segment : range_) {
      const std::int64_t got = std::clamp<std::int64_t>(start + one.bytes - segment.offset, 0, segment.bytes);
      (void)memory_.unpack(buffer_.data() + (segment.offset - start), static_cast<std::size_t>(got));
      result_.bytes += got;
    }
    result_.error = one.error;
    return one.error == 0 && one.bytes == bytes;
  }

  bool rewrite_range() noexcept {
    const std::int64_t start = range_[0].offset, bytes = range_.back().end() - start;
    buffer_.resize(static_cast<std::size_t>(bytes));
    const Outcome old = storage_.read(start, buffer_.data(), bytes);
    result_.error = old.error;
    if (old.error != 0) return false;
    std::memset(buffer_.data() + old.bytes, 0, static_cast<std::size_t>(bytes - old.bytes));
    for (const Segment& segment : range_)
      (void)memory_.pack(buffer_.data() + (segment.offset - start), static_cast<std::size_t>(segment.bytes));
    const Outcome one = storage_.write(start, buffer_.data(), bytes);
    for (const Segment& segment : range_)
      result_.bytes += std::clamp<std::int64_t>(start + one.bytes - segment.offset, 0, segment.bytes);
    result_.error = one.error;
    return one.error == 0;
  }

  Storage& storage_;
  type::Cursor memory_;
  const Sieve sieve_;
  const bool writes_;
  Outcome result_;
  std::vector<Segment> range_;
  std::vector<char> buffer_;
};

}  // namespace

Outcome read_view(Storage& storage, const View& view, std::int64_t position, type::Cursor memory,
                  const Sieve& sieve) noexcept {
  return Access(storage, memory, sieve, false).run(view, position);
}

Outcome write_view(Storage& storage, const View& view, std::int64_t position, type::Cursor memory,
                   const Sieve& sieve) noexcept {
  return Access(storage, memory, sieve, true).run(view, position);
}

}  // namespace herald::io
