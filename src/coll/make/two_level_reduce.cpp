// SPDX-License-Identifier: BSD-3-Clause
// Reductions over hosts with several ranks.
#include "coll/make/blocks_together.hpp"
#include "coll/make/makers.hpp"
#include "coll/make/two_level.hpp"

namespace herald::coll {
namespace {

// Reduce and allreduce over hosts with several ranks. An operation that does not commute needs ranks that are
// numbered host by host.
double estimate_reduce(std::uint64_t bytes, const Shape& shape) noexcept {
  return host_ns(Op::reduce, bytes, shape) + leaders_ns(Op::reduce, bytes, shape);
}

// One rank of each host (the root on its own host) reduces that host's contributions; then those are reduced.
void make_reduce(const CollSpec& spec, Builder& b) noexcept {
  if (spec.bytes == 0) return;
  Levels l(spec, b);
  const std::vector<int> representatives = l.representatives();
  const bool at_root = l.host == l.root_host(),
             represents = representatives[static_cast<std::size_t>(l.host)] == spec.rank;
  const Blocks own = spec.in_place ? spec.recv : spec.send;
  CollSpec outer = l.part(Op::reduce, l.root_host(), spec.bytes);
  outer.recv = spec.recv;
  outer.send = own;
  outer.in_place = spec.in_place;
  if (l.count > 1) {
    CollSpec inner = l.part(Op::reduce, at_root ? l.root_place() : 0, spec.bytes);
    inner.send = own;
    inner.in_place = spec.in_place;
    if (spec.rank == spec.root) {
      inner.recv = spec.recv;
      outer.in_place = true;
    } else if (represents) {
      inner.recv = outer.send = item_blocks(b.scratch_items(*own.layout, own.count));
    }
    l.on_host(inner, false);
    b.fence();
  }
  if (represents) l.among_hosts(outer, &representatives);
}

double estimate_allreduce(std::uint64_t bytes, const Shape& shape) noexcept {
  return host_ns(Op::reduce, bytes, shape) + leaders_ns(Op::allreduce, bytes, shape) +
         host_ns(Op::bcast, bytes, shape);
}

void make_allreduce(const CollSpec& spec, Builder& b) noexcept {
  if (spec.bytes == 0) return;
  Levels l(spec, b);
  CollSpec inner = l.part(Op::reduce, 0, spec.bytes), outer = l.part(Op::allreduce, 0, spec.bytes);
  inner.send = outer.send = spec.in_place ? spec.recv : spec.send;
  inner.recv = outer.recv = spec.recv;
  inner.in_place = spec.in_place && l.place == 0;
  outer.in_place = spec.in_place || l.count > 1;
  l.on_host(inner, false);
  b.fence();
  if (l.place == 0) l.among_hosts(outer);
  b.fence();
  inner.op = Op::bcast;
  inner.send = Blocks{};
  inner.in_place = false;
  l.on_host(inner, true);
}

// Reduce-scatter over hosts with several ranks: each leader reduces its host's contributions, the leaders
// reduce-scatter among themselves, and each scatters on its host. If ranks are not numbered host by host,
// leaders first permute the blocks; then the operation must commute.
double estimate_scatter(std::uint64_t bytes, const Shape& shape) noexcept {
  const double copies = (shape.host_order ? 0 : 1) + 1.0 / shape.hosts;
  return host_ns(Op::reduce, bytes, shape) + leaders_ns(Op::reduce_scatter, bytes, shape) +
         host_ns(Op::scatterv, 0, shape) + copies * static_cast<double>(bytes) * shape.cost.copy_byte_ns;
}

// Items of each host, and where they begin if blocks are stored host by host.
struct HostParts {
  std::vector<std::int64_t> counts, displs;
};
HostParts parts_of_hosts(const Levels& l) noexcept {
  HostParts parts;
  std::int64_t at = 0;
  for (int host = 0; host < l.all.hosts(); ++host) {
    parts.displs.push_back(at);
    for (const int rank : l.all.on_host(host)) at += l.spec.send.block(rank).count;
    parts.counts.push_back(at - parts.displs.back());
  }
  return parts;
}

// All blocks, host by host; `all`: contiguous by rank.
Piece by_hosts(Levels& l, const Piece& all) noexcept {
  if (l.all.in_order()) return all;
  const Piece sorted = l.b.scratch_items(*all.layout, all.count);
  std::int64_t at = 0;
  for (int host = 0; host < l.all.hosts(); ++host)
    for (const int rank : l.all.on_host(host)) {
      const std::int64_t begin = block_begin(l.spec, rank), count = block_begin(l.spec, rank + 1) - begin;
      l.b.copy(items_of(all, begin, count), items_of(sorted, at, count));
      at += count;
    }
  l.b.fence();
  return sorted;
}

void make_scatter(const CollSpec& spec, Builder& b) noexcept {
  if (spec.bytes == 0) return;
  Levels l(spec, b);
  Piece all = blocks_together(spec);
  CollSpec inner = l.part(Op::reduce, 0, spec.bytes);
  inner.send = item_blocks(all);
  if (l.place == 0 && l.count > 1) {
    all = b.scratch_items(*all.layout, all.count);
    inner.recv = item_blocks(all);
  }
  l.on_host(inner, false);
  b.fence();
  const HostParts parts = parts_of_hosts(l);
  const std::int64_t mine = parts.counts[static_cast<std::size_t>(l.host)];
  Piece part;
  if (l.place == 0) {
    const Piece sorted = by_hosts(l, all);
    CollSpec outer = l.part(Op::reduce_scatter, 0, spec.bytes);
    outer.send = item_blocks(sorted);
    outer.send.counts = parts.counts.data();
    outer.send.displacements = parts.displs.data();
    outer.recv = spec.recv;
    outer.in_place = l.count == 1 && spec.in_place && l.all.in_order();
    if (l.count > 1) {
      part = b.scratch_items(*all.layout, mine);
      outer.recv = item_blocks(part);
    }
    l.among_hosts(outer);
  }
  b.fence();
  if (mine == 0) return;
  std::vector<std::int64_t> counts, displs;
  for (const int rank : l.all.on_host(l.host)) {
    displs.push_back(counts.empty() ? 0 : displs.back() + counts.back());
    counts.push_back(spec.send.block(rank).count);
  }
  CollSpec back = l.part(Op::scatterv, 0, 0);
  back.recv = spec.recv;
  if (l.place == 0) {
    back.send = item_blocks(part);
    back.send.counts = counts.data();
    back.send.displacements = displs.data();
  }
  l.on_host(back, true);
}

constexpr const char* kTextScatter =
    "reduced on each host, then among leaders, then distributed on each host";

constexpr Algorithm kRows[] = {
    {Op::reduce, "two_level", "on each host, then among one rank of each", fits_two_level, estimate_reduce,
     make_reduce},
    {Op::allreduce, "two_level", "reduced on each host, then among leaders, then distributed on each host",
     fits_two_level, estimate_allreduce, make_allreduce},
    {Op::reduce_scatter, "two_level", kTextScatter, fits_two_level, estimate_scatter, make_scatter},
    {Op::reduce_scatter_block, "two_level", kTextScatter, fits_two_level, estimate_scatter, make_scatter},
};

}  // namespace

constinit const std::span<const Algorithm> kTwoLevelReduceAlgorithms = kRows;

}  // namespace herald::coll
