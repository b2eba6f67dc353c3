// SPDX-License-Identifier: BSD-3-Clause
// type/layout.hpp: where the bytes of one item of a datatype lie. Immutable and reference-counted.
// A layout holds its bounds and two trees of strided loops (node.hpp): one that keeps every element's kind,
// for counting and for external32, and one with adjacent runs merged, for moving bytes.
// Invariant: the bytes of both trees are the same, in the same order (that of the MPI type map).
#pragma once
#include <atomic>
#include <cstdint>

#include "base/ref.hpp"
#include "base/status.hpp"
#include "type/basic.hpp"

namespace herald::type {

struct Node;
class Layout;
using LayoutRef = Ref<const Layout>;
using NodeRef = Ref<const Node>;

// The bounds of a layout, in bytes.
struct Bounds {
  std::int64_t size = 0;  // bytes of data
  std::int64_t lb = 0, ub = 0;
  std::int64_t true_lb = 0, true_ub = 0;  // where the data begins and ends
  std::int32_t align = 1;
  bool marked = false;  // lb and ub were set by `resized` and stay as they are
};

class Layout {
 public:
  std::int64_t size() const noexcept { return bounds_.size; }
  std::int64_t lb() const noexcept { return bounds_.lb; }
  std::int64_t ub() const noexcept { return bounds_.ub; }
  std::int64_t extent() const noexcept { return bounds_.ub - bounds_.lb; }
  std::int64_t true_lb() const noexcept { return bounds_.true_lb; }
  std::int64_t true_ub() const noexcept { return bounds_.true_ub; }
  std::int64_t true_extent() const noexcept { return bounds_.true_ub - bounds_.true_lb; }
  std::int32_t alignment() const noexcept { return bounds_.align; }
  const Bounds& bounds() const noexcept { return bounds_; }

  // Basic elements in one item; a pair counts as two.
  std::int64_t elements() const noexcept { return elements_; }
  // The kind of all elements if they are all of one kind (pairs: all whole pairs), else Basic::none.
  Basic basic() const noexcept { return basic_; }
  // The data of one item is one gap-free run, in order, beginning at true_lb().
  bool run() const noexcept { return run_; }
  // As run(), and so is the data of n items in a row: extent() == size().
  bool dense() const noexcept { return dense_; }
  // Depends on the sequence of element kinds only, not on where they lie nor on how the type was built.
  std::uint64_t signature() const noexcept { return signature_; }
  // The signature of `count` items in a row.
  std::uint64_t signature_of(std::int64_t count) const noexcept;

  // False if `count` items do not fit into 64 bits of size or of address.
  bool fits(std::int64_t count) const noexcept;

  const Node& elements_tree() const noexcept { return *elements_tree_; }
  const Node& move_tree() const noexcept { return *move_tree_; }

  void retain() const noexcept {
    if (!immortal_) uses_.fetch_add(1, std::memory_order_relaxed);
  }
  void release() const noexcept {
    if (!immortal_ && uses_.fetch_sub(1, std::memory_order_acq_rel) == 1) destroy();
  }
  Layout(const Layout&) = delete;
  Layout& operator=(const Layout&) = delete;

 private:
  friend class LayoutMaker;
  Layout() noexcept = default;
  ~Layout() = default;
  void destroy() const noexcept;

  mutable std::atomic<std::uint64_t> uses_{1};
  Bounds bounds_;
  std::int64_t elements_ = 0;
  std::uint64_t signature_ = 0;
  NodeRef elements_tree_;
  NodeRef move_tree_;
  Basic basic_ = Basic::none;
  bool run_ = false;
  bool dense_ = false;
  bool immortal_ = false;
};

// The layout of a predefined kind; it is never freed and not counted. Basic::none gives the empty
// layout.
const Layout& basic_layout(Basic basic) noexcept;

}  // namespace herald::type
