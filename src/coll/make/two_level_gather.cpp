// SPDX-License-Identifier: BSD-3-Clause
// Gather, scatter and allgather over hosts with several ranks: the blocks of a host travel together. If the
// ranks count up host after host they lie together in the buffer already; else they are put together in
// scratch memory, in the order of hosts, as plain bytes.
#include "coll/make/two_level.hpp"

namespace herald::coll {
namespace {

// The blocks of all ranks, host after host.
struct ByHosts {
  Blocks blocks;                             // of single ranks: block k belongs to rank order[k]
  std::vector<std::int64_t> counts, displs;  // of hosts
  std::uint64_t bytes = 0;                   // of all
  bool copied = false;                       // in scratch memory
  bool equal = false;                        // as much from each host

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
  const Piece room = l.b.scratch(l.ask.bytes * static_cast<std::uint64_t>(l.all.ranks()));
  ByHosts out = by_hosts(l.all, byte_blocks(room, l.ask.bytes));
  out.copied = true;
  return out;
}
// The rank whose block is at `index` when they are in the order of hosts.
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

void make_gather(const CollSpec& ask, Builder& b) noexcept {
  if (ask.bytes == 0) return;
  Levels l(ask, b);
  const std::vector<int> speakers = l.speakers();
  const bool root = ask.rank == ask.root, at_root = l.host == l.root_host();
  const bool speaks = speakers[static_cast<std::size_t>(l.host)] == ask.rank;
  // Without the others' sizes a host's gather is one of blocks of equal size, between them of any.
  ByHosts all;
  if (root) all = by_hosts(l, ask.recv);
  const Op between = l.all.equal() ? Op::gather : Op::gatherv;
  CollSpec inner = l.part(Op::gather, at_root ? l.root_place() : 0, ask.bytes);
  CollSpec outer =
      l.part(between, l.root_host(), l.all.equal() ? ask.bytes * static_cast<std::uint64_t>(l.count) : 0);
  inner.send = outer.send = ask.send;
  if (root) {
    inner.recv = all.on_host(l.all, l.host);
    inner.in_place = ask.in_place && !all.copied;
    if (ask.in_place && all.copied)
      inner.send = ask.recv, inner.send.offset += ask.rank * ask.recv.count * ask.recv.layout->extent();
    if (l.count == 1 && !inner.in_place) b.copy(inner.send.range(0, 1), all.whole(l.host).range(0, 1));
    outer.recv = between == Op::gather ? all.blocks : all.of_hosts();
    if (between == Op::gather) outer.recv.count *= l.count;
    outer.in_place = true;
  } else if (speaks && l.count > 1) {
    const Piece room = b.scratch(ask.bytes * static_cast<std::uint64_t>(l.count));
    inner.recv = byte_blocks(room, ask.bytes);
    outer.send = byte_blocks(room, room.bytes);
  }
  l.on_host(inner, false);
  b.then();
  if (speaks) l.among_hosts(outer, &speakers);
  if (!root || !all.copied) return;
  b.then();
  const std::vector<int> order = host_order(l.all);
  for (int k = 0; k < ask.size; ++k)
    if (!(ask.in_place && order[static_cast<std::size_t>(k)] == ask.rank))
      b.copy(all.blocks.block(k), ask.recv.block(order[static_cast<std::size_t>(k)]));
}

void make_scatter(const CollSpec& ask, Builder& b) noexcept {
  if (ask.bytes == 0) return;
  Levels l(ask, b);
  const std::vector<int> speakers = l.speakers();
  const bool root = ask.rank == ask.root, at_root = l.host == l.root_host();
  const bool speaks = speakers[static_cast<std::size_t>(l.host)] == ask.rank;
  const Op between = l.all.equal() ? Op::scatter : Op::scatterv;
  CollSpec inner = l.part(Op::scatter, at_root ? l.root_place() : 0, ask.bytes);
  CollSpec outer =
      l.part(between, l.root_host(), l.all.equal() ? ask.bytes * static_cast<std::uint64_t>(l.count) : 0);
  inner.recv = outer.recv = ask.recv;
  if (root) {
    const ByHosts all = by_hosts(l, ask.send);
    const std::vector<int> order = host_order(l.all);
    for (int k = 0; all.copied && k < ask.size; ++k)
      b.copy(ask.send.block(order[static_cast<std::size_t>(k)]), all.blocks.block(k));
    b.then();
    inner.send = all.on_host(l.all, l.host);
    inner.in_place = ask.in_place;
    outer.send = between == Op::scatter ? all.blocks : all.of_hosts();
    if (between == Op::scatter) outer.send.count *= l.count;
    outer.in_place = true;
    l.among_hosts(outer, &speakers);
    if (l.count == 1 && !ask.in_place) b.copy(ask.send.block(ask.rank), ask.recv.range(0, 1));
    l.on_host(inner, false);
    return;
  }
  if (speaks && l.count > 1) {
    const Piece room = b.scratch(ask.bytes * static_cast<std::uint64_t>(l.count));
    inner.send = byte_blocks(room, ask.bytes);
    outer.recv = byte_blocks(room, room.bytes);
  }
  if (speaks) l.among_hosts(outer, &speakers);
  b.then();
  l.on_host(inner, false);
}

double estimate_allgather(std::uint64_t bytes, const Shape& shape) noexcept {
  const auto together = bytes * static_cast<std::uint64_t>(shape.largest_host);
  const auto all = bytes * static_cast<std::uint64_t>(shape.ranks);
  const double copies = shape.host_order ? 0 : 2;
  return host_ns(Op::gather, bytes, shape) + leaders_ns(Op::allgather, together, shape) +
         host_ns(Op::bcast, all, shape) + copies * static_cast<double>(all) * shape.cost.copy_byte_ns;
}

// Everything after the blocks of a host have come to its leader.
void among_and_back(Levels& l, const ByHosts& all) noexcept {
  l.b.then();
  CollSpec outer = l.part(all.equal ? Op::allgather : Op::allgatherv, 0, all.bytes);
  outer.in_place = true;
  outer.recv = all.of_hosts();
  if (outer.op == Op::allgather) {
    outer.recv = all.blocks;
    outer.recv.count *= l.count;
    outer.bytes /= static_cast<std::uint64_t>(l.all.hosts());
  }
  if (l.place == 0) l.among_hosts(outer);
  l.b.then();
  CollSpec back = l.part(Op::bcast, 0, all.bytes);
  back.recv = all.blocks;
  back.recv.count = all.displs.back() + all.counts.back();
  l.on_host(back, true);
}

void copy_out(Levels& l, const ByHosts& all) noexcept {
  l.b.then();
  const std::vector<int> order = host_order(l.all);
  std::uint64_t at = 0;
  const Piece whole = bytes_of(all.blocks.range(0, 1), 0, all.bytes);
  for (const int rank : order) {
    const Piece to = l.ask.recv.block(rank);
    if (!(l.ask.in_place && rank == l.ask.rank)) l.b.copy(bytes_of(whole, at, to.bytes), to);
    at += to.bytes;
  }
}

void make_allgather(const CollSpec& ask, Builder& b) noexcept {
  if (ask.bytes == 0) return;
  Levels l(ask, b);
  const ByHosts all = by_hosts(l, ask.recv);
  CollSpec inner = l.part(Op::gather, 0, ask.bytes);
  inner.send = ask.send;
  if (ask.in_place) {
    inner.send = ask.recv;
    inner.send.offset += ask.rank * ask.recv.count * ask.recv.layout->extent();
  }
  if (l.place == 0) inner.recv = all.on_host(l.all, l.host);
  inner.in_place = ask.in_place && !all.copied && l.place == 0;
  if (l.count == 1 && !inner.in_place) b.copy(inner.send.range(0, 1), inner.recv.block(0));
  l.on_host(inner, false);
  among_and_back(l, all);
  if (all.copied) copy_out(l, all);
}

double estimate_allgatherv(std::uint64_t bytes, const Shape& shape) noexcept {
  const double part = static_cast<double>(bytes) / shape.hosts;
  return host_ns(Op::gatherv, 0, shape) + part * shape.cost.copy_byte_ns +
         leaders_ns(Op::allgatherv, bytes, shape) + host_ns(Op::bcast, bytes, shape) +
         2 * static_cast<double>(bytes) * shape.cost.copy_byte_ns;
}

// Every rank knows all sizes here. Always by way of scratch memory: blocks may lie anywhere.
void make_allgatherv(const CollSpec& ask, Builder& b) noexcept {
  Levels l(ask, b);
  ByHosts all;
  std::vector<std::int64_t> counts, displs;  // of the ranks of this host
  all.copied = true;
  for (int host = 0; host < l.all.hosts(); ++host) {
    all.displs.push_back(static_cast<std::int64_t>(all.bytes));
    for (const int rank : l.all.on_host(host)) {
      const auto bytes = static_cast<std::int64_t>(ask.recv.bytes(rank));
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
  const Piece own = ask.in_place ? ask.recv.block(ask.rank) : ask.send.range(0, 1);
  inner.send = Blocks{own.buffer, own.layout, own.count};
  inner.send.offset = own.offset;
  inner.recv = all.whole(l.host);
  if (l.count == 1) b.copy(own, inner.recv.range(0, 1));
  inner.recv.counts = counts.data();
  inner.recv.displacements = displs.data();
  l.on_host(inner, false);
  among_and_back(l, all);
  copy_out(l, all);
}

}  // namespace

const Algorithm kGatherTwoLevel{
    Op::gather,     "two_level",     "on each host, then one message from each host",
    fits_two_level, estimate_gather, make_gather};
const Algorithm kScatterTwoLevel{
    Op::scatter,    "two_level",      "one message to each host, then on each host",
    fits_two_level, estimate_scatter, make_scatter};
const Algorithm kAllgatherTwoLevel{
    Op::allgather,  "two_level",        "gathered on each host, among their leaders, handed out on each host",
    fits_two_level, estimate_allgather, make_allgather};
const Algorithm kAllgathervTwoLevel{Op::allgatherv,
                                    "two_level",
                                    "gathered on each host, among their leaders, handed out on each host",
                                    fits_two_level,
                                    estimate_allgatherv,
                                    make_allgatherv};

}  // namespace herald::coll
