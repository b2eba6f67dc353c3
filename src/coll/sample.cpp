// SPDX-License-Identifier: BSD-3-Clause
#include "coll/sample.hpp"

#include <algorithm>

#include "type/basic.hpp"

namespace herald::coll {
namespace {

bool reduces(Op op) noexcept {
  return op == Op::reduce || op == Op::allreduce || op == Op::scan || op == Op::exscan ||
         op == Op::reduce_scatter || op == Op::reduce_scatter_block;
}

}  // namespace

Sample::Sample(Op op, std::uint64_t bytes, const Shape& shape, const Cluster* cluster) noexcept {
  common_.op = op;
  common_.size = shape.ranks;
  common_.commutes = shape.commutes;
  common_.shared_bytes = shape.shared_bytes;
  common_.streams = shape.streams;
  common_.oversubscribed = shape.oversubscribed;
  common_.in_order = shape.in_order;
  common_.fast = shape.fast;
  common_.segment_bytes = shape.segment_bytes;
  common_.incast = shape.incast;
  common_.link_byte_ns = shape.link_byte_ns;
  if (shape.hosts > 1 && shape.hosts < shape.ranks) common_.cluster = cluster;
  if (op == Op::barrier) return;
  const auto n = static_cast<std::uint64_t>(shape.ranks);
  const type::Layout& layout = type::basic_layout(reduces(op) ? type::Basic::c_double : type::Basic::byte);
  const auto size = static_cast<std::uint64_t>(layout.size());
  const std::uint64_t items = bytes == 0 ? 0 : std::max<std::uint64_t>(1, bytes / size);
  common_.send = {Buffer::send, &layout, static_cast<std::int64_t>(items)};
  common_.recv = {Buffer::recv, &layout, static_cast<std::int64_t>(items)};
  common_.bytes = items * size;
  block_ = static_cast<std::int64_t>(items);
  switch (op) {
    case Op::allgatherv:
    case Op::reduce_scatter: spread(items, false); break;
    case Op::gatherv:
    case Op::scatterv:
    case Op::alltoallv:
    case Op::alltoallw: spread(items, true); break;
    case Op::reduce_scatter_block:
      block_ = static_cast<std::int64_t>((items + n - 1) / n);
      common_.bytes = static_cast<std::uint64_t>(block_) * n * size;
      break;
    default: break;
  }
}

// Counts of the blocks: all of `items`, or their sum.
void Sample::spread(std::uint64_t items, bool equal_blocks) noexcept {
  const std::int64_t n = common_.size, all = static_cast<std::int64_t>(items);
  std::int64_t at = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    counts_.push_back(equal_blocks ? all : all / n + (i < all % n ? 1 : 0));
    displacements_.push_back(at);
    byte_displacements_.push_back(at * common_.send.layout->extent());
    at += counts_.back();
  }
  if (equal_blocks) common_.bytes = 0;
  layouts_.assign(static_cast<std::size_t>(n), common_.send.layout);
}

CollSpec Sample::spec_of(int rank) const noexcept {
  CollSpec spec = common_;
  spec.rank = rank;
  const bool root = rank == 0;
  const auto spread_over = [&](Blocks& blocks) {
    blocks.counts = counts_.data();
    blocks.displacements = displacements_.data();
  };
  switch (spec.op) {
    case Op::bcast: spec.send = {}; break;
    case Op::reduce:
    case Op::gather:
      if (!root) spec.recv = {};
      break;
    case Op::scatter:
      if (!root) spec.send = {};
      break;
    case Op::gatherv:
      if (root)
        spread_over(spec.recv);
      else
        spec.recv = {};
      break;
    case Op::scatterv:
      if (root)
        spread_over(spec.send);
      else
        spec.send = {};
      break;
    case Op::allgatherv:
      spec.send.count = counts_[static_cast<std::size_t>(rank)];
      spread_over(spec.recv);
      break;
    case Op::reduce_scatter:
      spec.recv.count = counts_[static_cast<std::size_t>(rank)];
      spread_over(spec.send);
      break;
    case Op::reduce_scatter_block: spec.send.count = spec.recv.count = block_; break;
    case Op::alltoallv:
    case Op::alltoallw:
      spread_over(spec.send);
      spread_over(spec.recv);
      if (spec.op == Op::alltoallw) {
        spec.send.layouts = spec.recv.layouts = layouts_.data();
        spec.send.displacements = spec.recv.displacements = byte_displacements_.data();
      }
      break;
    default: break;
  }
  return spec;
}

}  // namespace herald::coll
