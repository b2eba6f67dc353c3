// SPDX-License-Identifier: BSD-3-Clause
// type/node.hpp: the tree of strided loops inside a layout: which bytes, in which order, without bounds.
//
//   leaf:  `count` adjacent elements of one kind, at `offset`
//   loop:  `count` iterations of `child`, the first at `offset`, then `stride` bytes apart
//   parts: a list; each part is a run of elements, or a loop over a node of its own
//
// The makers simplify: loops of one iteration vanish, loops with adjacent iterations become leaves, nested
// loops merge when their strides fit, regular lists become loops. They return null if memory runs out.
// Invariant: only an empty tree has 0 bytes; all offsets fit 64 bits (the builders check the bounds first).
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "type/layout.hpp"

namespace herald::type {

struct Part {
  std::int64_t offset;
  std::int64_t count;   // elements of a run; iterations of a loop
  std::int64_t stride;  // of a loop
  std::int64_t begin;   // bytes of the parts before this one
  const Node* node;     // null: a run of `basic`
  Basic basic;
};

struct Node {
  enum class Kind : std::uint8_t { leaf, loop, parts };

  mutable std::atomic<std::uint64_t> uses{1};
  Kind kind = Kind::leaf;
  Basic basic = Basic::byte;  // of a leaf
  bool immortal = false;
  std::int32_t depth = 1;
  std::int64_t offset = 0;
  std::int64_t count = 0;  // elements of a leaf; iterations of a loop; length of `parts`
  std::int64_t stride = 0;
  std::int64_t bytes = 0;
  std::int64_t elements = 0;
  std::int64_t external = 0;  // bytes in external32; at most `bytes`
  NodeRef child;
  std::unique_ptr<Part[]> parts;

  ~Node();
  void retain() const noexcept {
    if (!immortal) uses.fetch_add(1, std::memory_order_relaxed);
  }
  void release() const noexcept {
    if (!immortal && uses.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }
};

NodeRef empty_node() noexcept;
NodeRef make_leaf(Basic basic, std::int64_t offset, std::int64_t count) noexcept;
NodeRef make_loop(const NodeRef& child, std::int64_t count, std::int64_t stride,
                  std::int64_t offset) noexcept;

// Collects parts in order. With `as_bytes`, adjacent runs merge whatever their kinds.
class PartList {
 public:
  explicit PartList(bool as_bytes) noexcept : as_bytes_(as_bytes) {}
  ~PartList();
  PartList(const PartList&) = delete;
  PartList& operator=(const PartList&) = delete;

  bool reserve(std::size_t capacity) noexcept;
  void add(const NodeRef& node, std::int64_t count, std::int64_t stride, std::int64_t offset) noexcept;
  std::size_t length() const noexcept { return length_; }
  NodeRef finish() noexcept;

 private:
  bool regular() const noexcept;

  std::unique_ptr<Part[]> parts_;
  std::size_t length_ = 0;
  std::int64_t bytes_ = 0, elements_ = 0, external_ = 0;
  std::int32_t depth_ = 0;
  bool as_bytes_;
};

}  // namespace herald::type
