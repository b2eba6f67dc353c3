// SPDX-License-Identifier: BSD-3-Clause
#include "type/build.hpp"

#include <cstddef>

#include "type/maker.hpp"

namespace herald::type {
namespace {

struct Block {
  const Layout* item;
  std::int64_t count;
  Checked offset;
};

// Blocks of items, each a row of `count` spaced by the item's extent. `block_at(i)` gives the i-th.
template <class BlockAt>
Status assemble(std::size_t length, BlockAt block_at, LayoutRef& out) noexcept {
  Sum sum;
  bool alike = true;  // both trees of the items are the same object
  for (std::size_t i = 0; i < length; ++i) {
    const Block block = block_at(i);
    if (block.count < 0 || (block.count != 0 && !block.offset.ok())) return Status::bad_argument;
    sum.add(*block.item, block.count, block.item->extent(), block.offset.value());
    alike = alike && &block.item->elements_tree() == &block.item->move_tree();
    if (!sum.ok()) return Status::bad_argument;
  }
  PartList elements{false};
  PartList move{true};
  if (length != 0 && (!elements.reserve(length) || !move.reserve(length))) return Status::no_memory;
  for (std::size_t i = 0; i < length; ++i) {
    const Block block = block_at(i);
    const std::int64_t stride = block.item->extent();
    elements.add(NodeRef{&block.item->elements_tree()}, block.count, stride, block.offset.value());
    move.add(NodeRef{&block.item->move_tree()}, block.count, stride, block.offset.value());
  }
  const bool share = alike && elements.length() == move.length();
  NodeRef elements_tree = elements.finish();
  NodeRef move_tree = share ? elements_tree : move.finish();
  return LayoutMaker::make(sum, std::move(elements_tree), std::move(move_tree), out);
}

// `count` items, `stride` bytes apart.
Status loop(std::int64_t count, std::int64_t stride, const Layout& item, LayoutRef& out) noexcept {
  if (count < 0) return Status::bad_argument;
  Sum sum;
  sum.add(item, count, stride, 0);
  if (!sum.ok()) return Status::bad_argument;
  NodeRef elements = make_loop(NodeRef{&item.elements_tree()}, count, stride, 0);
  NodeRef move = elements;
  if (&item.move_tree() != &item.elements_tree())
    move = make_loop(NodeRef{&item.move_tree()}, count, stride, 0);
  return LayoutMaker::make(sum, std::move(elements), std::move(move), out);
}

}  // namespace

Status contiguous(std::int64_t count, const Layout& item, LayoutRef& out) noexcept {
  return loop(count, item.extent(), item, out);
}

Status hvector(std::int64_t count, std::int64_t block, std::int64_t stride, const Layout& item,
               LayoutRef& out) noexcept {
  if (count < 0 || block < 0) return Status::bad_argument;
  if (count == 0 || block == 0) return loop(0, 0, item, out);
  if (block == 1) return loop(count, stride, item, out);
  LayoutRef row;
  if (const Status status = contiguous(block, item, row); status != Status::ok) return status;
  return loop(count, stride, *row, out);
}

Status vector(std::int64_t count, std::int64_t block, std::int64_t stride, const Layout& item,
              LayoutRef& out) noexcept {
  if (count <= 1 || block <= 0) return hvector(count, block, 0, item, out);  // the stride is never used
  const Checked bytes = Checked{stride} * item.extent();
  if (!bytes.ok()) return Status::bad_argument;
  return hvector(count, block, bytes.value(), item, out);
}

Status indexed(Ints blocks, Ints displacements, const Layout& item, LayoutRef& out) noexcept {
  if (blocks.size() != displacements.size()) return Status::bad_argument;
  return assemble(
      blocks.size(),
      [&](std::size_t i) noexcept {
        return Block{&item, blocks[i], Checked{displacements[i]} * item.extent()};
      },
      out);
}

Status hindexed(Ints blocks, Ints displacements, const Layout& item, LayoutRef& out) noexcept {
  if (blocks.size() != displacements.size()) return Status::bad_argument;
  return assemble(
      blocks.size(),
      [&](std::size_t i) noexcept {
        return Block{&item, blocks[i], displacements[i]};
      },
      out);
}

Status indexed_block(std::int64_t block, Ints displacements, const Layout& item, LayoutRef& out) noexcept {
  return assemble(
      displacements.size(),
      [&](std::size_t i) noexcept {
        return Block{&item, block, Checked{displacements[i]} * item.extent()};
      },
      out);
}

Status hindexed_block(std::int64_t block, Ints displacements, const Layout& item, LayoutRef& out) noexcept {
  return assemble(
      displacements.size(),
      [&](std::size_t i) noexcept {
        return Block{&item, block, displacements[i]};
      },
      out);
}

Status structure(Ints blocks, Ints displacements, std::span<const Layout* const> items,
                 LayoutRef& out) noexcept {
  if (blocks.size() != displacements.size() || blocks.size() != items.size()) return Status::bad_argument;
  return assemble(
      blocks.size(),
      [&](std::size_t i) noexcept {
        return Block{items[i], blocks[i], displacements[i]};
      },
      out);
}

Status resized(const Layout& item, std::int64_t lb, std::int64_t extent, LayoutRef& out) noexcept {
  const Checked ub = Checked{lb} + extent;
  if (!ub.ok()) return Status::bad_argument;
  Bounds bounds = item.bounds();
  bounds.lb = lb;
  bounds.ub = ub.value();
  bounds.marked = true;
  return LayoutMaker::with_bounds(item, bounds, out);
}

}  // namespace herald::type
