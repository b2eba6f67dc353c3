// SPDX-License-Identifier: BSD-3-Clause
// Alltoall of short blocks over hosts with several ranks: each leader gathers the blocks of its host, the
// leaders exchange them host by host, and each leader scatters the received blocks. Blocks are plain bytes in
// scratch memory of the leaders.
#include "coll/make/makers.hpp"
#include "coll/make/two_level.hpp"

namespace herald::coll {
namespace {

// One copy per block at the leader: a longer plan is too large for the cache.
constexpr int kMostBlocks = 1024;
constexpr double kStepNs = 30;

bool fits(const Shape& shape) noexcept {
  return fits_two_level(shape) && shape.ranks * shape.largest_host <= kMostBlocks;
}

double estimate(std::uint64_t bytes, const Shape& shape) noexcept {
  const auto n = static_cast<std::uint64_t>(shape.ranks),
             here = static_cast<std::uint64_t>(shape.largest_host);
  const double blocks = static_cast<double>(n * here);
  return host_ns(Op::gather, n * bytes, shape) + leaders_ns(Op::alltoall, here * here * bytes, shape) +
         host_ns(Op::scatter, n * bytes, shape) +
         2 * blocks * (kStepNs + static_cast<double>(bytes) * shape.cost.copy_byte_ns);
}

// Blocks at a leader: a row for each of its ranks; or a field for each host, where the blocks of one rank are
// contiguous.
struct LeaderBlocks {
  const Levels& l;
  Piece rows, fields;

  Piece in_row(int place, int rank) const noexcept {
    return bytes_of(rows, at(place * l.spec.size + rank), l.spec.bytes);
  }
  std::uint64_t field_begin(int host) const noexcept { return at(l.all.before(host) * l.count); }
  std::uint64_t field_bytes(int host) const noexcept { return at(l.all.count(host) * l.count); }
  Piece in_field(int host, int index) const noexcept {
    return bytes_of(fields, field_begin(host) + at(index), l.spec.bytes);
  }
  std::uint64_t at(int blocks) const noexcept { return static_cast<std::uint64_t>(blocks) * l.spec.bytes; }
};

// `out`: rows to fields, by local sender; else received fields, by remote sender, to rows.
void sort(const LeaderBlocks& at_leader, bool out) noexcept {
  const Cluster& all = at_leader.l.all;
  for (int host = 0; host < all.hosts(); ++host)
    for (int other = 0; other < all.count(host); ++other)
      for (int place = 0; place < at_leader.l.count; ++place) {
        const Piece row = at_leader.in_row(place, all.on_host(host)[static_cast<std::size_t>(other)]);
        if (out)
          at_leader.l.b.copy(row, at_leader.in_field(host, place * all.count(host) + other));
        else
          at_leader.l.b.copy(at_leader.in_field(host, other * at_leader.l.count + place), row);
      }
}

// Between the leaders: fields of one to fields of the other.
void exchange(Levels& l, const LeaderBlocks& from, const LeaderBlocks& to) noexcept {
  const auto field = from.field_bytes(0);
  CollSpec outer = l.part(l.all.equal() ? Op::alltoall : Op::alltoallv, 0, l.all.equal() ? field : 0);
  outer.send = byte_blocks(from.fields, field);
  outer.recv = byte_blocks(to.fields, field);
  std::vector<std::int64_t> counts, displs;
  for (int host = 0; host < l.all.hosts(); ++host) {
    counts.push_back(static_cast<std::int64_t>(from.field_bytes(host)));
    displs.push_back(static_cast<std::int64_t>(from.field_begin(host)));
  }
  if (!l.all.equal()) {
    outer.send.counts = outer.recv.counts = counts.data();
    outer.send.displacements = outer.recv.displacements = displs.data();
  }
  l.among_hosts(outer);
}

Blocks all_blocks(Blocks blocks, int ranks) noexcept {
  blocks.count *= ranks;
  return blocks;
}

void make(const CollSpec& spec, Builder& b) noexcept {
  if (spec.bytes == 0) return;
  Levels l(spec, b);
  const std::uint64_t row = spec.bytes * static_cast<std::uint64_t>(spec.size);
  CollSpec inner = l.part(Op::gather, 0, row), back = l.part(Op::scatter, 0, row);
  inner.send = all_blocks(spec.in_place ? spec.recv : spec.send, spec.size);
  back.recv = all_blocks(spec.recv, spec.size);
  const bool leads = l.place == 0;
  LeaderBlocks out{l, {}, {}}, in{l, {}, {}};
  if (leads) {
    const std::uint64_t room = row * static_cast<std::uint64_t>(l.count);
    out.rows = b.scratch(room);
    out.fields = b.scratch(room);
    in.fields = b.scratch(room);
    in.rows = out.rows;
    inner.recv = back.send = byte_blocks(out.rows, row);
    if (l.count == 1) b.copy(inner.send.range(0, 1), out.rows);
  }
  l.on_host(inner, false);
  b.fence();
  if (leads) {
    sort(out, true);
    b.fence();
    exchange(l, out, in);
    b.fence();
    sort(in, false);
    b.fence();
    if (l.count == 1) b.copy(in.rows, back.recv.range(0, 1));
  }
  l.on_host(back, true);
}

constexpr Algorithm kRows[] = {
    {Op::alltoall, "two_level", "gathered on each host, one message between each pair of hosts, scattered",
     fits, estimate, make},
};

}  // namespace

constinit const std::span<const Algorithm> kTwoLevelAlltoallAlgorithms = kRows;

}  // namespace herald::coll
