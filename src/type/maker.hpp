// SPDX-License-Identifier: BSD-3-Clause
// type/maker.hpp: shared by the builders: accumulates bounds and makes a layout of its parts.
#pragma once
#include <cstdint>

#include "type/layout.hpp"
#include "type/node.hpp"
#include "type/number.hpp"

namespace herald::type {

// A hash of a sequence of element kinds that can be concatenated: h(ab) = h(a) * k^len(b) + h(b).
struct Signature {
  std::uint64_t hash = 0;
  std::uint64_t power = 1;  // k to the number of elements
};
Signature signature_of_basic(Basic basic) noexcept;
Signature signature_of_layout(const Layout& layout) noexcept;
Signature joined(Signature a, Signature b) noexcept;
Signature repeated(Signature one, std::int64_t count) noexcept;

// Accumulates the bounds of a new layout, block by block, by the rules of the standard: explicit bounds
// (resized) override implicit ones; implicit bounds are those of the items, padding included, with the extent
// rounded up to the alignment (as in Open MPI); items without data and without explicit bounds are ignored.
class Sum {
 public:
  // `count` items of `item`, `stride` bytes apart, the first at `offset`.
  void add(const Layout& item, std::int64_t count, std::int64_t stride, std::int64_t offset) noexcept;
  bool ok() const noexcept { return ok_; }
  Bounds bounds() noexcept;  // may clear ok()
  std::int64_t elements() const noexcept { return elements_; }
  Signature signature() const noexcept { return signature_; }
  Basic basic() const noexcept { return mixed_ ? Basic::none : basic_; }

 private:
  void widen(bool& any, std::int64_t& lo, std::int64_t& hi, Checked new_lo, Checked new_hi) noexcept;

  bool ok_ = true, any_data_ = false, any_item_ = false, any_mark_ = false, mixed_ = false;
  std::int64_t size_ = 0, elements_ = 0;
  std::int64_t data_lo_ = 0, data_hi_ = 0, item_lo_ = 0, item_hi_ = 0, mark_lo_ = 0, mark_hi_ = 0;
  std::int32_t align_ = 1;
  Basic basic_ = Basic::none;
  Signature signature_;
};

class LayoutMaker {
 public:
  // A null tree means that memory ran out.
  static Status make(Sum& sum, NodeRef elements, NodeRef move, LayoutRef& out) noexcept;
  static Status with_bounds(const Layout& item, const Bounds& bounds, LayoutRef& out) noexcept;
  static Status single(Basic basic, LayoutRef& out) noexcept;
  // Makes the layout that of `basic`, which is never freed.
  static const Layout* keep(const LayoutRef& layout, Basic basic) noexcept;
  static void destroy(const Layout* layout) noexcept { delete layout; }

 private:
  static void derive(Layout& layout) noexcept;
};

}  // namespace herald::type
