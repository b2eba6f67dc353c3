// SPDX-License-Identifier: BSD-3-Clause
#include "io/view.hpp"

#include <algorithm>
#include <limits>

#include "type/node.hpp"

namespace herald::io {
namespace {

constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();

// Where the data of a node begins and ends.
struct Span {
  std::int64_t low, high;
};

Order order_of(const type::Node& node, Span& out) noexcept;

Order order_of_turns(const type::Node& child, std::int64_t count, std::int64_t stride, std::int64_t offset,
                     Span& out) noexcept {
  Span one{};
  const Order inside = order_of(child, one);
  out = {offset + one.low, offset + one.high + (count - 1) * std::max<std::int64_t>(stride, 0)};
  if (count <= 1 || stride >= one.high - one.low) return inside;
  return stride < 0 ? Order::decreasing : std::max(inside, Order::overlapping);
}

Order order_of_parts(const type::Node& node, Span& out) noexcept {
  Order order = Order::increasing;
  std::int64_t last = 0;  // where the part before begins
  for (std::int64_t i = 0; i < node.count; ++i) {
    const type::Part& part = node.parts[static_cast<std::size_t>(i)];
    Span one{part.offset, part.offset + part.count * type::row_of(part.basic).size};
    if (part.node != nullptr)
      order = std::max(order, order_of_turns(*part.node, part.count, part.stride, part.offset, one));
    if (i == 0) out = one;
    if (i != 0 && one.low < out.high) order = std::max(order, Order::overlapping);
    if (i != 0 && one.low < last) order = Order::decreasing;
    out.high = std::max(out.high, one.high);
    last = one.low;
  }
  return order;
}

Order order_of(const type::Node& node, Span& out) noexcept {
  switch (node.kind) {
    case type::Node::Kind::leaf: out = {node.offset, node.offset + node.bytes}; return Order::increasing;
    case type::Node::Kind::loop:
      return order_of_turns(*node.child, node.count, node.stride, node.offset, out);
    case type::Node::Kind::parts: return order_of_parts(node, out);
  }
  return Order::decreasing;
}

}  // namespace

Order order_of(const type::Layout& layout) noexcept {
  Span span{};
  return layout.size() == 0 ? Order::increasing : order_of(layout.move_tree(), span);
}

View::View() noexcept
    : View(0, type::basic_layout(type::Basic::byte), type::basic_layout(type::Basic::byte)) {}

View::View(std::int64_t disp, const type::Layout& etype, const type::Layout& filetype) noexcept
    : disp_(disp), etype_bytes_(std::max<std::int64_t>(etype.size(), 1)), filetype_(&filetype) {
  const std::int64_t step = std::max({filetype.extent(), filetype.size(), std::int64_t{1}});
  const std::int64_t beyond = std::max<std::int64_t>(filetype.true_ub(), 0);
  items_ = disp > kLargest - beyond ? 0 : (kLargest - disp - beyond) / step;
  most_bytes_ = items_ * filetype.size();
  ordered_ = order_of(filetype) == Order::increasing && filetype.extent() >= filetype.true_extent();
}

type::Cursor View::cursor_at(std::int64_t position) const noexcept {
  // Offsets take the place of addresses.
  type::Cursor cursor(*filetype_, reinterpret_cast<void*>(static_cast<std::uintptr_t>(disp_)), items_);
  cursor.seek(static_cast<std::uint64_t>(position));
  return cursor;
}

std::int64_t View::offset_of(std::int64_t position) const noexcept {
  if (position >= most_bytes_) return kLargest;
  type::Cursor cursor = cursor_at(position);
  type::Run run{};
  (void)cursor.next_runs({&run, 1}, 1);
  return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(run.data));
}

std::int64_t View::position_at(std::int64_t offset) const noexcept {
  const std::int64_t start = disp_ + filetype_->true_lb();
  if (empty() || offset <= start || filetype_->extent() <= 0) return 0;
  if (contiguous()) return offset - start;
  const std::int64_t item = (offset - start) / filetype_->extent();
  std::int64_t low = std::min(item * filetype_->size(), most_bytes_);
  std::int64_t high = std::min(low + filetype_->size(), most_bytes_);
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (offset_of(middle) < offset)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

Walker::Walker(const View& view, std::int64_t position, std::int64_t bytes) noexcept
    : cursor_(view.cursor_at(position)), left_(bytes) {}

bool Walker::refill() noexcept {
  if (left_ == 0) return false;
  count_ = cursor_.next_runs(runs_, static_cast<std::size_t>(left_));
  at_ = 0;
  for (std::size_t i = 0; i < count_; ++i) left_ -= static_cast<std::int64_t>(runs_[i].bytes);
  return count_ != 0;
}

bool Walker::next(Segment& out) noexcept {
  if (at_ == count_ && !refill()) return false;
  const type::Run& run = runs_[at_++];
  out = {static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(run.data)),
         static_cast<std::int64_t>(run.bytes)};
  return true;
}

}  // namespace herald::io
