// SPDX-License-Identifier: BSD-3-Clause
// Reduce-scatter over hosts with several ranks: each host's leader has what the host contributes, the leaders
// have the parts of their hosts, and each host hands its part out. If the ranks do not count up host after
// host, the leaders put the blocks into the order of hosts first; then the operation must commute.
#include "coll/make/blocks_together.hpp"
#include "coll/make/two_level.hpp"

namespace herald::coll {
namespace {

double estimate(std::uint64_t bytes, const Shape& shape) noexcept {
  const double copies = (shape.host_order ? 0 : 1) + 1.0 / shape.hosts;
  return host_ns(Op::reduce, bytes, shape) + leaders_ns(Op::reduce_scatter, bytes, shape) +
         host_ns(Op::scatterv, 0, shape) + copies * static_cast<double>(bytes) * shape.cost.copy_byte_ns;
}

// How many items each host gets, and where they begin if they lie host after host.
struct HostParts {
  std::vector<std::int64_t> counts, displs;
};
HostParts parts_of_hosts(const Levels& l) noexcept {
  HostParts parts;
  std::int64_t at = 0;
  for (int host = 0; host < l.all.hosts(); ++host) {
    parts.displs.push_back(at);
    for (const int rank : l.all.on_host(host)) at += l.ask.send.block(rank).count;
    parts.counts.push_back(at - parts.displs.back());
  }
  return parts;
}

// All blocks, host after host; `all`: one after another by rank.
Piece by_hosts(Levels& l, const Piece& all) noexcept {
  if (l.all.in_order()) return all;
  const Piece sorted = l.b.scratch_items(*all.layout, all.count);
  std::int64_t at = 0;
  for (int host = 0; host < l.all.hosts(); ++host)
    for (const int rank : l.all.on_host(host)) {
      const std::int64_t begin = block_begin(l.ask, rank), count = block_begin(l.ask, rank + 1) - begin;
      l.b.copy(items_of(all, begin, count), items_of(sorted, at, count));
      at += count;
    }
  l.b.then();
  return sorted;
}

Blocks blocks_at(const Piece& items) noexcept {
  Blocks blocks{items.buffer, items.layout, items.count};
  blocks.offset = items.offset;
  return blocks;
}

void make(const CollSpec& ask, Builder& b) noexcept {
  if (ask.bytes == 0) return;
  Levels l(ask, b);
  Piece all = blocks_together(ask);
  CollSpec inner = l.part(Op::reduce, 0, ask.bytes);
  inner.send = blocks_at(all);
  if (l.place == 0 && l.count > 1) {
    all = b.scratch_items(*all.layout, all.count);
    inner.recv = blocks_at(all);
  }
  l.on_host(inner, false);
  b.then();
  const HostParts parts = parts_of_hosts(l);
  const std::int64_t mine = parts.counts[static_cast<std::size_t>(l.host)];
  Piece part;
  if (l.place == 0) {
    const Piece sorted = by_hosts(l, all);
    CollSpec outer = l.part(Op::reduce_scatter, 0, ask.bytes);
    outer.send = blocks_at(sorted);
    outer.send.counts = parts.counts.data();
    outer.send.displacements = parts.displs.data();
    outer.recv = ask.recv;
    outer.in_place = l.count == 1 && ask.in_place && l.all.in_order();
    if (l.count > 1) {
      part = b.scratch_items(*all.layout, mine);
      outer.recv = blocks_at(part);
    }
    l.among_hosts(outer);
  }
  b.then();
  if (mine == 0) return;
  std::vector<std::int64_t> counts, displs;
  for (const int rank : l.all.on_host(l.host)) {
    displs.push_back(counts.empty() ? 0 : displs.back() + counts.back());
    counts.push_back(ask.send.block(rank).count);
  }
  CollSpec back = l.part(Op::scatterv, 0, 0);
  back.recv = ask.recv;
  if (l.place == 0) {
    back.send = blocks_at(part);
    back.send.counts = counts.data();
    back.send.displacements = displs.data();
  }
  l.on_host(back, true);
}

constexpr const char* kText = "reduced on each host, among their leaders, and handed out on each host";

}  // namespace

const Algorithm kReduceScatterTwoLevel{Op::reduce_scatter, "two_level", kText,
                                       fits_two_level,     estimate,    make};
const Algorithm kReduceScatterBlockTwoLevel{Op::reduce_scatter_block, "two_level", kText,
                                            fits_two_level,           estimate,    make};

}  // namespace herald::coll
