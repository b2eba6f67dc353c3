// SPDX-License-Identifier: BSD-3-Clause
#include "coll/block_list.hpp"

#include <algorithm>
#include <cstring>

#include "type/pack.hpp"

namespace herald::coll {
namespace {

class BlockList {
 public:
  BlockList(const Piece& list, const Places& places) noexcept
      : memory_(static_cast<std::byte*>(places.of(list))), blocks_(list.count), room_(list.bytes) {}

  // Where block `index` ends, and the next one begins.
  std::uint64_t end_of(std::int64_t index) const noexcept {
    if (index < 0) return static_cast<std::uint64_t>(blocks_) * sizeof(std::uint32_t);
    return word(index) & ~kMark;
  }
  bool is_left_out(std::int64_t index) const noexcept { return (word(index) & kMark) != 0; }
  // False: no rank would have made it so.
  bool find(std::int64_t index, type::Cursor& block) const noexcept {
    const std::uint64_t begin = end_of(index - 1), end = end_of(index);
    if (begin < end_of(-1) || begin > end || end > room_) return false;
    block = type::Cursor::bytes(memory_ + begin, end - begin);
    return true;
  }
  // False: there is no room.
  bool add(std::int64_t index, std::uint64_t bytes, type::Cursor& block) noexcept {
    const std::uint64_t begin = end_of(index - 1);
    const bool fits = begin <= room_ && bytes <= room_ - begin;
    set_word(index, static_cast<std::uint32_t>(fits ? begin + bytes : begin));
    block = fits ? type::Cursor::bytes(memory_ + begin, bytes) : type::Cursor();
    return fits;
  }
  void leave_out(std::int64_t index) noexcept {
    set_word(index, static_cast<std::uint32_t>(end_of(index - 1)) | kMark);
  }
  std::uint64_t filled() const noexcept { return std::min(end_of(blocks_ - 1), room_); }

 private:
  static constexpr std::uint32_t kMark = std::uint32_t{1} << 31;  // left out
  std::uint32_t word(std::int64_t index) const noexcept {
    std::uint32_t value = 0;
    std::memcpy(&value, memory_ + static_cast<std::size_t>(index) * sizeof value, sizeof value);
    return value;
  }
  void set_word(std::int64_t index, std::uint32_t value) noexcept {
    std::memcpy(memory_ + static_cast<std::size_t>(index) * sizeof value, &value, sizeof value);
  }

  std::byte* memory_;
  std::int64_t blocks_;
  std::uint64_t room_;
};

}  // namespace

type::Cursor filled_cursor(const Piece& list, const Places& places) noexcept {
  return type::Cursor::bytes(places.of(list), BlockList(list, places).filled());
}

bool copy_block(const Piece& from, const Piece& to, const Places& places) noexcept {
  if (from.block == kLeftOut || (from.block != kNoBlock && BlockList(from, places).is_left_out(from.block))) {
    if (to.block != kNoBlock) BlockList(to, places).leave_out(to.block);
    return to.block != kNoBlock;
  }
  type::Cursor source, target;
  if (from.block == kNoBlock)
    source = cursor(from, places);
  else if (!BlockList(from, places).find(from.block, source))
    return false;
  bool fits = true;
  if (to.block == kNoBlock)
    target = cursor(to, places);
  else
    fits = BlockList(to, places).add(to.block, source.total(), target);
  fits = fits && source.total() <= target.total();
  type::copy(source, target);
  return fits;
}

}  // namespace herald::coll
