// SPDX-License-Identifier: BSD-3-Clause
#include "type/layout.hpp"

#include <algorithm>
#include <new>

#include "type/build.hpp"
#include "type/maker.hpp"

namespace herald::type {
namespace {

constexpr std::uint64_t kSignatureBase = 0x9e3779b97f4a7c15u;  // odd, so that powers stay invertible

std::uint64_t power(std::uint64_t base, std::uint64_t exponent) noexcept {
  std::uint64_t result = 1;
  for (; exponent != 0; exponent >>= 1, base *= base) {
    if ((exponent & 1) != 0) result *= base;
  }
  return result;
}

Checked low_end(std::int64_t count, std::int64_t stride) noexcept {
  return stride < 0 ? Checked{count - 1} * stride : Checked{0};
}
Checked high_end(std::int64_t count, std::int64_t stride) noexcept {
  return stride > 0 ? Checked{count - 1} * stride : Checked{0};
}

}  // namespace

Signature signature_of_basic(Basic basic) noexcept {
  std::uint64_t z = (static_cast<std::uint64_t>(basic) + 1) * 0xbf58476d1ce4e5b9u;
  z ^= z >> 31;
  return {z * 0x94d049bb133111ebu, kSignatureBase};
}

Signature signature_of_layout(const Layout& layout) noexcept {
  return {layout.signature(), power(kSignatureBase, static_cast<std::uint64_t>(layout.elements()))};
}

Signature joined(Signature a, Signature b) noexcept { return {a.hash * b.power + b.hash, a.power * b.power}; }

Signature repeated(Signature one, std::int64_t count) noexcept {
  Signature result;
  for (; count > 0; count >>= 1, one = joined(one, one)) {
    if ((count & 1) != 0) result = joined(result, one);
  }
  return result;
}

void Sum::widen(bool& any, std::int64_t& lo, std::int64_t& hi, Checked new_lo, Checked new_hi) noexcept {
  ok_ = ok_ && new_lo.ok() && new_hi.ok();
  lo = any ? std::min(lo, new_lo.value()) : new_lo.value();
  hi = any ? std::max(hi, new_hi.value()) : new_hi.value();
  any = true;
}

void Sum::add(const Layout& item, std::int64_t count, std::int64_t stride, std::int64_t offset) noexcept {
  if (count == 0) return;
  const Bounds& b = item.bounds();
  const Checked lo = low_end(count, stride) + offset;
  const Checked hi = high_end(count, stride) + offset;
  if (b.marked) widen(any_mark_, mark_lo_, mark_hi_, lo + b.lb, hi + b.ub);
  if (b.marked || b.size != 0) align_ = std::max(align_, b.align);
  if (b.size == 0) return;
  widen(any_item_, item_lo_, item_hi_, lo + b.lb, hi + b.ub);
  widen(any_data_, data_lo_, data_hi_, lo + b.true_lb, hi + b.true_ub);
  const Checked size = Checked{b.size} * count + size_;
  ok_ = ok_ && size.ok();
  if (!ok_) return;
  size_ = size.value();
  elements_ += count * item.elements();  // at most size_
  signature_ = joined(signature_, repeated(signature_of_layout(item), count));
  if (basic_ == Basic::none) basic_ = item.basic();
  if (basic_ != item.basic() || item.basic() == Basic::none) mixed_ = true;
}

Bounds Sum::bounds() noexcept {
  Bounds b;
  b.size = size_;
  b.align = align_;
  b.true_lb = data_lo_;
  b.true_ub = data_hi_;
  b.marked = any_mark_;
  b.lb = any_mark_ ? mark_lo_ : item_lo_;
  b.ub = any_mark_ ? mark_hi_ : item_hi_;
  const Checked extent = Checked{b.ub} - b.lb;
  ok_ = ok_ && extent.ok() && (Checked{b.true_ub} - b.true_lb).ok();
  if (!b.marked && extent.value() % align_ != 0) {
    const Checked ub = Checked{b.ub} + (align_ - extent.value() % align_);
    ok_ = ok_ && ub.ok() && (ub - b.lb).ok();
    b.ub = ub.value();
  }
  return b;
}

void LayoutMaker::derive(Layout& layout) noexcept {
  const Node& move = *layout.move_tree_;
  layout.run_ = move.kind == Node::Kind::leaf && move.bytes != 0;
  layout.dense_ = layout.run_ && layout.extent() == layout.size();
}

Status LayoutMaker::make(Sum& sum, NodeRef elements, NodeRef move, LayoutRef& out) noexcept {
  const Bounds bounds = sum.bounds();
  if (!sum.ok()) return Status::bad_argument;
  if (!elements || !move) return Status::no_memory;
  if (elements->depth > kMaxDepth) return Status::unsupported;
  Layout* layout = new (std::nothrow) Layout;
  if (layout == nullptr) return Status::no_memory;
  layout->bounds_ = bounds;
  layout->elements_ = sum.elements();
  layout->signature_ = sum.signature().hash;
  layout->basic_ = sum.basic();
  layout->elements_tree_ = std::move(elements);
  layout->move_tree_ = std::move(move);
  derive(*layout);
  out = LayoutRef::adopt(layout);
  return Status::ok;
}

Status LayoutMaker::with_bounds(const Layout& item, const Bounds& bounds, LayoutRef& out) noexcept {
  Layout* layout = new (std::nothrow) Layout;
  if (layout == nullptr) return Status::no_memory;
  layout->bounds_ = bounds;
  layout->elements_ = item.elements_;
  layout->signature_ = item.signature_;
  layout->basic_ = item.basic_;
  layout->elements_tree_ = item.elements_tree_;
  layout->move_tree_ = item.move_tree_;
  derive(*layout);
  out = LayoutRef::adopt(layout);
  return Status::ok;
}

Status LayoutMaker::single(Basic basic, LayoutRef& out) noexcept {
  const BasicRow& row = row_of(basic);
  Layout* layout = new (std::nothrow) Layout;
  if (layout == nullptr) return Status::no_memory;
  if (basic == Basic::none) {
    layout->elements_tree_ = empty_node();
  } else {
    layout->bounds_ = {row.size, 0, row.size, 0, row.size, row.align, false};
    layout->elements_ = 1;
    layout->signature_ = signature_of_basic(basic).hash;
    layout->elements_tree_ = make_leaf(basic, 0, 1);
  }
  out = LayoutRef::adopt(layout);
  if (!layout->elements_tree_) return Status::no_memory;
  layout->move_tree_ = layout->elements_tree_;
  derive(*layout);
  return Status::ok;
}

const Layout* LayoutMaker::keep(const LayoutRef& layout, Basic basic) noexcept {
  Layout* kept = const_cast<Layout*>(layout.get());  // made here, so not a const object
  kept->basic_ = basic;
  kept->immortal_ = true;
  for (const Node* node : {kept->elements_tree_.get(), kept->move_tree_.get()}) {
    const_cast<Node*>(node)->immortal = true;
  }
  return kept;
}

void Layout::destroy() const noexcept { LayoutMaker::destroy(this); }

std::uint64_t Layout::signature_of(std::int64_t count) const noexcept {
  return repeated(signature_of_layout(*this), count).hash;
}

bool Layout::fits(std::int64_t count) const noexcept {
  if (count <= 0 || size() == 0) return count >= 0;
  const Checked lo = low_end(count, extent()) + true_lb();
  const Checked hi = high_end(count, extent()) + true_ub();
  return (Checked{size()} * count).ok() && lo.ok() && hi.ok() && (hi - lo).ok();
}

}  // namespace herald::type
