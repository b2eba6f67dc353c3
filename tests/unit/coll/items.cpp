// SPDX-License-Identifier: BSD-3-Clause
// The items that the ranks of a job send and reduce, and their memory.
#include <algorithm>

#include "job.hpp"
#include "type/pack.hpp"

namespace herald::coll {
namespace {

type::LayoutRef make_layout(bool gappy) {
  const type::Layout& word = type::basic_layout(type::Basic::uint32);
  type::LayoutRef out, framed;
  if (!gappy) {
    (void)type::contiguous(kWords, word, out);
    return out;
  }
  const std::int64_t blocks[] = {1, 2, 1}, at[] = {8, 16, 28};
  (void)type::hindexed(blocks, at, word, out);
  (void)type::resized(*out, 4, 36, framed);
  return framed;
}

}  // namespace

Item sum(const Item& a, const Item& b) noexcept {
  Item c;
  for (int i = 0; i < kWords; ++i) c.word[i] = a.word[i] + b.word[i];
  return c;
}

Item product(const Item& a, const Item& b) noexcept {
  Item c;
  for (int row = 0; row < 2; ++row)
    for (int column = 0; column < 2; ++column)
      c.word[2 * row + column] = a.word[2 * row] * b.word[column] + a.word[2 * row + 1] * b.word[2 + column];
  return c;
}

const type::Layout& dense_layout() {
  static const type::LayoutRef layout = make_layout(false);
  return *layout;
}
const type::Layout& gappy_layout() {
  static const type::LayoutRef layout = make_layout(true);
  return *layout;
}

Memory::Memory(const type::Layout& layout, std::int64_t items)
    : bytes_(static_cast<std::size_t>((items + 2) * 64 + 64), kPattern), layout_(&layout), items_(items) {
  base_ = (reinterpret_cast<std::uintptr_t>(bytes_.data()) + 63) / 64 * 64 + 64;
}

Item Memory::get(std::int64_t at, const type::Layout& layout) const {
  Item item;
  type::pack(layout, reinterpret_cast<const void*>(base_ + static_cast<std::uintptr_t>(at)), 1, &item);
  return item;
}

void Memory::set(std::int64_t at, const type::Layout& layout, const Item& item) {
  type::unpack(layout, reinterpret_cast<void*>(base_ + static_cast<std::uintptr_t>(at)), 1, &item);
}

bool Memory::gaps_intact() const {
  std::vector<std::byte> copy = bytes_;
  const std::uintptr_t shift = base_ - reinterpret_cast<std::uintptr_t>(bytes_.data());
  std::vector<std::byte> blank(static_cast<std::size_t>(layout_->size()), kPattern);
  for (std::int64_t i = 0; i < items_; ++i)
    type::unpack(*layout_, copy.data() + shift + i * layout_->extent(), 1, blank.data());
  return std::all_of(copy.begin(), copy.end(), [](std::byte b) { return b == kPattern; });
}

}  // namespace herald::coll
