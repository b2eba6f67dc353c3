// SPDX-License-Identifier: BSD-3-Clause
// io/view.hpp: which bytes of a file one rank sees, and in which order: copies of a filetype, one after
// another, from a displacement on. A position is a number of bytes of the view; the filetype is never listed:
// every question descends its tree of loops, so a type with 10,000 pieces costs a few steps.
// Invariant: if ordered(), file offsets grow with positions.
#pragma once
#include <array>
#include <cstdint>
#include <span>

#include "type/cursor.hpp"
#include "type/layout.hpp"

namespace herald::io {

// Adjacent bytes of a file.
struct Segment {
  std::int64_t offset;
  std::int64_t bytes;
  std::int64_t end() const noexcept { return offset + bytes; }
};

class View {
 public:
  View() noexcept;  // the bytes of the file
  // Both layouts describe the file, not memory: their sizes are those of the data representation.
  View(std::int64_t disp, const type::Layout& etype, const type::Layout& filetype) noexcept;

  std::int64_t disp() const noexcept { return disp_; }
  std::int64_t etype_bytes() const noexcept { return etype_bytes_; }
  const type::LayoutRef& filetype() const noexcept { return filetype_; }
  bool empty() const noexcept { return filetype_->size() == 0; }
  // Adjacent positions are adjacent in the file.
  bool contiguous() const noexcept { return filetype_->dense(); }
  bool ordered() const noexcept { return ordered_; }
  // Positions that 64-bit file offsets can reach.
  std::int64_t most_bytes() const noexcept { return most_bytes_; }

  std::int64_t offset_of(std::int64_t position) const noexcept;
  // How many bytes of the view lie before this offset of the file. Needs ordered().
  std::int64_t position_at(std::int64_t offset) const noexcept;

 private:
  friend class Walker;
  type::Cursor cursor_at(std::int64_t position) const noexcept;

  std::int64_t disp_ = 0, etype_bytes_ = 1, items_ = 0, most_bytes_ = 0;
  bool ordered_ = true;
  type::LayoutRef filetype_;
};

// Yields the segments of `bytes` bytes of a view, from a position on, in order.
class Walker {
 public:
  Walker(const View& view, std::int64_t position, std::int64_t bytes) noexcept;
  // False at the end.
  bool next(Segment& out) noexcept;

 private:
  bool refill() noexcept;
  static constexpr std::size_t kBatch = 64;
  type::Cursor cursor_;
  std::int64_t left_;
  std::array<type::Run, kBatch> runs_;
  std::size_t count_ = 0, at_ = 0;
};

// How the pieces of a layout follow each other; the worst comes last.
enum class Order : std::uint8_t { increasing, overlapping, decreasing };
Order order_of(const type::Layout& layout) noexcept;

}  // namespace herald::io
