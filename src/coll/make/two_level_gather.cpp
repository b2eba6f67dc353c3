// SPDX-License-Identifier: BSD-3-Clause
// Gather, scatter and allgather over hosts with several ranks: the blocks of a host move together. If ranks
// are numbered host by host the blocks are contiguous in the buffer; else they are packed in scratch memory
// in host order, as plain bytes.
#include "coll/make/makers.hpp"
#include "coll/make/two_level.hpp"

namespace herald::coll {
namespace {

// The blocks of all ranks, host by host.
struct ByHosts {
  Blocks blocks;                             // of single ranks: block k belongs to rank order[k]
  std::vector<std::int64_t> counts, displs;  // of hosts
  std::uint64_t bytes = 0;                   // of all
  bool copied = false;                       // in scratch memory
  bool equal = false;                        // the same count from each host

  Blocks of_hosts() const noexcept {
    Blocks hosts = blocks;
    hosts.counts = counts.data();
    hosts.displacements = displs.data();
    return hosts;
  }
  // The blocks of one host, as blocks of single ranks (of equal size).
  Blocks on_host(const Cluster& all, int host) const noexcept {
    Blocks mine = blocks;
    mine.offset += all.before(host) * blocks.count * blocks.layout->extent();
    return mine;
  }
  // The blocks of one host as one.
  Blocks whole(int host) const noexcept {
    Blocks one = blocks;
    one.offset += displs[static_cast<std::size_t>(host)] * blocks.layout->extent();
    one.count = counts[static_cast<std::size_t>(host)];
    return one;
  }
};

// Blocks of equal size.
ByHosts by_hosts(const Cluster& all, const Blocks& blocks) noexcept {
  ByHosts out;
  out.blocks = blocks;
  for (int host = 0; host < all.hosts(); ++host) {
    out.counts.push_back(all.count(host) * blocks.count);
    out.displs.push_back(all.before(host) * blocks.count);
  }
  out.bytes = static_cast<std::uint64_t>(all.ranks()) * blocks.bytes(0);
  out.equal = all.equal();
  return out;
}
ByHosts by_hosts(Levels& l, const Blocks& buffer) noexcept {
  if (l.all.in_order() && buffer.layout != nullptr) return by_hosts(l.all, buffer);
  const Piece room = l.b.scratch(l.spec.bytes * static_cast<std::uint64_t>(l.all.ranks()));
  ByHosts out = by_hosts(l.all, byte_blocks(room, l.spec.bytes));
  out.copied = true;
  return out;
}
// The rank of each block in host order.
std::vector<int> host_order(const Cluster& all) noexcept {
  std::vector<int> order;
  for (int host = 0; host < all.hosts(); ++host)
    order.insert(order.end(), all.on_host(host).begin(), all.on_host(host).end());
  return order;
}

// Gather or scatter.
double estimate_rooted(Op op, std::uint64_t bytes, const Shape& shape) noexcept {
  const auto together = bytes * static_cast<std::uint64_t>(shape.largest_host);
  const double copies = shape.host_order ? 1 : 2;
  return host_ns(op, bytes, shape) + leaders_ns(op, together, shape) +
         copies * static_cast<double>(bytes) * shape.ranks * shape.cost.copy_byte_ns;
}
double estimate_gather(std::uint64_t bytes, const Shape& shape) noexcept {
  return estimate_rooted(Op::gather, bytes, shape);
}
double estimate_scatter(std::uint64_t bytes, const Shape& shape) noexcept {
  return estimate_rooted(Op::scatter, bytes, shape);
}

void make_gather(const CollSpec& spec, Builder& b) noexcept {
  if (spec.bytes == 0) return;
  Levels l(spec, b);
  const std::vector<int> representatives = l.representatives();
  const bool root = spec.rank == spec.root, at_root = l.host == l.root_host();
  const bool represents = representatives[static_cast<std::size_t>(l.host)] == spec.rank;
  // Inside a host blocks have equal size; between hosts with different numbers of ranks they do not.
  ByHosts all;
  if (root) all = by_hosts(l, spec.recv);
  const Op between = l.all.equal() ? Op::gather : Op::gatherv;
  CollSpec inner = l.part(Op::gather, at_root ? l.root_place() : 0, spec.bytes);
  CollSpec outer =
      l.part(between, l.root_host(), l.all.equal() ? spec.bytes * static_cast<std::uint64_t>(l.count) : 0);
  inner.send = outer.send = spec.send;
  if (root) {
    inner.recv = all.on_host(l.all, l.host);
    inner.in_place = spec.in_place && !all.copied;
    if (spec.in_place && all.copied)
      inner.send = spec.recv, inner.send.offset += spec.rank * spec.recv.count * spec.recv.layout->extent();
    if (l.count == 1 && !inner.in_place) b.copy(inner.send.range(0, 1), all.whole(l.host).range(0, 1));
    outer.recv = between == Op::gather ? all.blocks : all.of_hosts();
    if (between == Op::gather) outer.recv.count *= l.count;
    outer.in_place = true;
  } else if (represents && l.count > 1) {
    const Piece room = b.scratch(spec.bytes * static_cast<std::uint64_t>(l.count));
    inner.recv = byte_blocks(room, spec.bytes);
    outer.send = byte_blocks(room, room.bytes);
  }
  l.on_host(inner, false);
  b.fence();
  if (represents) l.among_hosts(outer, &representatives);
  if (!root || !all.copied) return;
  b.fence();
  const std::vector<int> order = host_order(l.all);
  for (int k = 0; k < spec.size; ++k)
    if (!(spec.in_place && order[static_cast<std::size_t>(k)] == spec.rank))
      b.copy(all.blocks.block(k), spec.recv.block(order[static_cast<std::size_t>(k)]));
}

void make_scatter(const CollSpec& spec, Builder& b) noexcept {
  if (spec.bytes == 0) return;
  Levels l(spec, b);
  const std::vector<int> representatives = l.representatives();
  const bool root = spec.rank == spec.root, at_root = l.host == l.root_host();
  const bool represents = representatives[static_cast<std::size_t>(l.host)] == spec.rank;
  const Op between = l.all.equal() ? Op::scatter : Op::scatterv;
  CollSpec inner = l.part(Op::scatter, at_root ? l.root_place() : 0, spec.bytes);
  CollSpec outer =
      l.part(between, l.root_host(), l.all.equal() ? spec.bytes * static_cast<std::uint64_t>(l.count) : 0);
  inner.recv = outer.recv = spec.recv;
  if (root) {
    const ByHosts all = by_hosts(l, spec.send);
    const std::vector<int> order = host_order(l.all);
    for (int k = 0; all.copied && k < spec.size; ++k)
      b.copy(spec.send.block(order[static_cast<std::size_t>(k)]), all.blocks.block(k));
    b.fence();
    inner.send = all.on_host(l.all, l.host);
    inner.in_place = spec.in_place;
    outer.send = between == Op::scatter ? all.blocks : all.of_hosts();
    if (between == Op::scatter) outer.send.count *= l.count;
    outer.in_place = true;
    l.among_hosts(outer, &representatives);
    if (l.count == 1 && !spec.in_place) b.copy(spec.send.block(spec.rank), spec.recv.range(0, 1));
    l.on_host(inner, false);
    return;
  }
  if (represents && l.count > 1) {
    const Piece room = b.scratch(spec.bytes * static_cast<std::uint64_t>(l.count));
    inner.send = byte_blocks(room, spec.bytes);
    outer.recv = byte_blocks(room, room.bytes);
  }
  if (represents) l.among_hosts(outer, &representatives);
  b.fence();
  l.on_host(inner, false);
}

double estimate_allgather(std::uint64_t bytes, const Shape& shape) noexcept {
  const auto together = bytes * static_cast<std::uint64_t>(shape.largest_host);
  const auto all = bytes * static_cast<std::uint64_t>(shape.ranks);
  const double copies = shape.host_order ? 0 : 2;
  return host_ns(Op::gather, bytes, shape) + leaders_ns(Op::allgather, together, shape) +
         host_ns(Op::bcast, all, shape) + copies * static_cast<double>(all) * shape.cost.copy_byte_ns;
}

// All steps after the leader has the blocks of its host.
void exchange_and_bcast(Levels& l, const ByHosts& all) noexcept {
  l.b.fence();
  CollSpec outer = l.part(all.equal ? Op::allgather : Op::allgatherv, 0, all.bytes);
  outer.in_place = true;
  outer.recv = all.of_hosts();
  if (outer.op == Op::allgather) {
    outer.recv = all.blocks;
    outer.recv.count *= l.count;
    outer.bytes /= static_cast<std::uint64_t>(l.all.hosts());
  }
  if (l.place == 0) l.among_hosts(outer);
  l.b.fence();
  CollSpec back = l.part(Op::bcast, 0, all.bytes);
  back.recv = all.blocks;
  back.recv.count = all.displs.back() + all.counts.back();
  l.on_host(back, true);
}

void copy_out(Levels& l, const ByHosts& all) noexcept {
  l.b.fence();
  const std::vector<int> order = host_order(l.all);
  std::uint64_t at = 0;
  const Piece whole = bytes_of(all.blocks.range(0, 1), 0, all.bytes);
  for (const int rank : order) {
    const Piece to = l.spec.recv.block(rank);
    if (!(l.spec.in_place && rank == l.spec.rank)) l.b.copy(bytes_of(whole, at, to.bytes), to);
    at += to.bytes;
  }
}

void make_allgather(const CollSpec& spec, Builder& b) noexcept {
  if (spec.bytes == 0) return;
  Levels l(spec, b);
  const ByHosts all = by_hosts(l, spec.recv);
  CollSpec inner = l.part(Op::gather, 0, spec.bytes);
  inner.send = spec.send;
  if (spec.in_place) {
    inner.send = spec.recv;
    inner.send.offset += spec.rank * spec.recv.count * spec.recv.layout->extent();
  }
  if (l.place == 0) inner.recv = all.on_host(l.all, l.host);
  inner.in_place = spec.in_place && !all.copied && l.place == 0;
  if (l.count == 1 && !inner.in_place) b.copy(inner.send.range(0, 1), inner.recv.block(0));
  l.on_host(inner, false);
  exchange_and_bcast(l, all);
  if (all.copied) copy_out(l, all);
}

double estimate_allgatherv(std::uint64_t bytes, const Shape& shape) noexcept {
  const double part = static_cast<double>(bytes) / shape.hosts;
  return host_ns(Op::gatherv, 0, shape) + part * shape.cost.copy_byte_ns +
         leaders_ns(Op::allgatherv, bytes, shape) + host_ns(Op::bcast, bytes, shape) +
         2 * static_cast<double>(bytes) * shape.cost.copy_byte_ns;
}

// Every rank knows all sizes. Always through scratch memory, as blocks may lie anywhere.
void make_allgatherv(const CollSpec& spec, Builder& b) noexcept {
  Levels l(spec, b);
  ByHosts all;
  std::vector<std::int64_t> counts, displs;  // of the ranks of this host
  all.copied = true;
  for (int host = 0; host < l.all.hosts(); ++host) {
    all.displs.push_back(static_cast<std::int64_t>(all.bytes));
    for (const int rank : l.all.on_host(host)) {
      const auto bytes = static_cast<std::int64_t>(spec.recv.bytes(rank));
      if (host == l.host) {
        displs.push_back(static_cast<std::int64_t>(all.bytes) - all.displs.back());
        counts.push_back(bytes);
      }
      all.bytes += static_cast<std::uint64_t>(bytes);
    }
    all.counts.push_back(static_cast<std::int64_t>(all.bytes) - all.displs.back());
  }
  if (all.bytes == 0) return;
  all.blocks = byte_blocks(b.scratch(all.bytes), all.bytes);
  CollSpec inner = l.part(Op::gatherv, 0, 0);
  const Piece own = spec.in_place ? spec.recv.block(spec.rank) : spec.send.range(0, 1);
  inner.send = item_blocks(own);
  inner.recv = all.whole(l.host);
  if (l.count == 1) b.copy(own, inner.recv.range(0, 1));
  inner.recv.counts = counts.data();
  inner.recv.displacements = displs.data();
  l.on_host(inner, false);
  exchange_and_bcast(l, all);
  copy_out(l, all);
}

constexpr Algorithm kRows[] = {
    {Op::gather, "two_level", "gather on each host, then one message from each host", fits_two_level,
     estimate_gather, make_gather},
    {Op::scatter, "two_level", "one message to each host, then scatter on each host", fits_two_level,
     estimate_scatter, make_scatter},
    {Op::allgather, "two_level", "gather on each host, exchange among leaders, broadcast on each host",
     fits_two_level, estimate_allgather, make_allgather},
    {Op::allgatherv, "two_level", "gather on each host, exchange among leaders, broadcast on each host",
     fits_two_level, estimate_allgatherv, make_allgatherv},
};

}  // namespace

constinit const std::span<const Algorithm> kTwoLevelGatherAlgorithms = kRows;

}  // namespace herald::coll
