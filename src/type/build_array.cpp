// SPDX-License-Identifier: BSD-3-Clause
// Parts of multidimensional arrays: subarray and darray. Both go from the fastest to the slowest dimension,
// wrap the layout so far into one more loop each, and finally set the bounds to the whole array.
#include "type/build.hpp"
#include "type/number.hpp"

namespace herald::type {
namespace {

// The dimension that varies `step`-th fastest.
std::size_t dimension_at(std::size_t step, std::size_t dimensions, Order order) noexcept {
  return order == Order::fortran ? step : dimensions - 1 - step;
}

Status place(const Layout& item, std::int64_t offset, std::int64_t whole_bytes, LayoutRef& out) noexcept {
  LayoutRef shifted;
  if (const Status status = hindexed_block(1, Ints{&offset, 1}, item, shifted); status != Status::ok)
    return status;
  return resized(*shifted, 0, whole_bytes, out);
}

// One dimension of a darray: process `coordinate` of `procs` has blocks of `block` indices, distributed
// cyclically. `stride` is the distance of adjacent indices; `inner` is the layout at one index.
Status deal(const Layout& inner, std::int64_t indices, std::int64_t block, std::int64_t procs,
            std::int64_t coordinate, std::int64_t stride, LayoutRef& out) noexcept {
  const Checked first = Checked{coordinate} * block;
  const Checked round = Checked{procs} * block;
  const Checked round_bytes = round * stride;
  if (!first.ok() || !round.ok()) return Status::bad_argument;
  if (first.value() >= indices) return contiguous(0, inner, out);
  const std::int64_t span = indices - first.value();
  std::int64_t full = span / round.value();
  std::int64_t rest = span % round.value();
  if (rest >= block) {
    ++full;
    rest = 0;
  }
  LayoutRef one, many, tail;
  Status status = hvector(block <= indices ? block : 0, 1, stride, inner, one);
  if (status == Status::ok && full > 1 && !round_bytes.ok()) status = Status::bad_argument;
  if (status == Status::ok) status = hvector(full, 1, full > 1 ? round_bytes.value() : 0, *one, many);
  if (status == Status::ok) status = hvector(rest, 1, stride, inner, tail);
  if (status != Status::ok) return status;
  const Checked at = first * stride;
  const Checked tail_at = (first + Checked{full} * round) * stride;
  if (!at.ok() || (rest != 0 && !tail_at.ok())) return Status::bad_argument;
  const std::int64_t blocks[] = {full > 0 ? 1 : 0, rest > 0 ? 1 : 0};
  const std::int64_t displacements[] = {at.value(), rest > 0 ? tail_at.value() : 0};
  const Layout* const items[] = {many.get(), tail.get()};
  return structure(blocks, displacements, items, out);
}

// The block size of one dimension of a darray; 0 if the arguments are invalid.
std::int64_t block_size(Distribution distribution, std::int64_t indices, std::int64_t darg,
                        std::int64_t procs) noexcept {
  if (indices < 1 || procs < 1) return 0;
  if (darg != kDefaultDarg && darg < 1 && distribution != Distribution::none) return 0;
  switch (distribution) {
    case Distribution::none: return procs == 1 ? indices : 0;
    case Distribution::cyclic: return darg == kDefaultDarg ? 1 : darg;
    case Distribution::block:
      if (darg == kDefaultDarg) return (indices - 1) / procs + 1;
      // Every index must have an owner.
      return (indices - 1) / darg < procs ? darg : 0;
  }
  return 0;
}

}  // namespace

Status subarray(Ints sizes, Ints subsizes, Ints starts, Order order, const Layout& item,
                LayoutRef& out) noexcept {
  const std::size_t n = sizes.size();
  if (n == 0 || subsizes.size() != n || starts.size() != n) return Status::bad_argument;
  LayoutRef layout{&item};
  Checked stride = item.extent();
  Checked offset = 0;
  for (std::size_t step = 0; step < n; ++step) {
    const std::size_t d = dimension_at(step, n, order);
    if (sizes[d] < 1 || subsizes[d] < 1 || subsizes[d] > sizes[d]) return Status::bad_argument;
    if (starts[d] < 0 || starts[d] > sizes[d] - subsizes[d] || !stride.ok()) return Status::bad_argument;
    LayoutRef next;
    const Status status = hvector(subsizes[d], 1, stride.value(), *layout, next);
    if (status != Status::ok) return status;
    layout = next;
    offset = offset + stride * starts[d];
    stride = stride * sizes[d];
  }
  if (!offset.ok() || !stride.ok()) return Status::bad_argument;
  return place(*layout, offset.value(), stride.value(), out);
}

Status darray(const Darray& shape, const Layout& item, LayoutRef& out) noexcept {
  const std::size_t n = shape.sizes.size();
  if (n == 0 || shape.distributions.size() != n || shape.dargs.size() != n || shape.procs.size() != n) {
    return Status::bad_argument;
  }
  Checked grid = 1;
  for (const std::int64_t procs : shape.procs) {
    if (procs < 1) return Status::bad_argument;
    grid = grid * procs;
  }
  if (!grid.ok() || grid.value() != shape.ranks || shape.rank < 0 || shape.rank >= shape.ranks) {
    return Status::bad_argument;
  }
  LayoutRef layout{&item};
  Checked stride = item.extent();
  for (std::size_t step = 0; step < n; ++step) {
    const std::size_t d = dimension_at(step, n, shape.order);
    std::int64_t faster = 1;  // ranks that differ only in the dimensions after d
    for (std::size_t i = d + 1; i < n; ++i) faster *= shape.procs[i];
    const std::int64_t coordinate = shape.rank / faster % shape.procs[d];
    const std::int64_t block =
        block_size(shape.distributions[d], shape.sizes[d], shape.dargs[d], shape.procs[d]);
    if (block == 0 || !stride.ok()) return Status::bad_argument;
    LayoutRef next;
    const Status status =
        deal(*layout, shape.sizes[d], block, shape.procs[d], coordinate, stride.value(), next);
    if (status != Status::ok) return status;
    layout = next;
    stride = stride * shape.sizes[d];
  }
  if (!stride.ok()) return Status::bad_argument;
  return resized(*layout, 0, stride.value(), out);
}

}  // namespace herald::type
