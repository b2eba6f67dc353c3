// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: a block lands at the wrong rank or place, wraps round wrongly for some root, is lost
// when its size is 0, or is cut differently by ranks that describe the same bytes by different types; gaps of
// a type are written; a buffer is reused while a message still needs it.
#include "cases.hpp"
#include "tests/unit/effort.hpp"

namespace herald::coll {
namespace {

bool moves(Op op) { return op >= Op::bcast && op <= Op::alltoallw; }
bool has_root(Op op) { return op >= Op::bcast && op <= Op::scatterv; }
bool to_root(Op op) { return op == Op::gather || op == Op::gatherv; }
bool from_root(Op op) { return op == Op::scatter || op == Op::scatterv; }
bool to_all(Op op) { return op == Op::allgather || op == Op::allgatherv; }
bool all_to_all(Op op) { return op == Op::alltoall || op == Op::alltoallv || op == Op::alltoallw; }
bool varies(Op op) {
  return op == Op::gatherv || op == Op::scatterv || op == Op::allgatherv || op >= Op::alltoallv;
}

// Items that go from one rank to another.
std::int64_t block_count(Op op, const Case& c, int from, int to) {
  if (!varies(op) || c.count == 0) return c.count;
  if (all_to_all(op)) return c.in_place ? (from + to + c.count) % 4 : (from + 2 * to + c.count) % 4;
  // In cases with many items, only some blocks are longer than a cell of a tree.
  const std::int64_t few = ((from_root(op) ? to : from) * 3 + c.count) % 5;
  return c.count >= 3 ? few * 5 : few;
}

// Blocks of one buffer: in reverse order and with room between them, where the call allows that.
struct Placing {
  std::vector<std::int64_t> counts, displs;
  std::vector<const type::Layout*> layouts;
  std::int64_t items = 0;
};

Placing place(Op op, const Case& c, bool sending, int rank, const type::Layout& layout) {
  Placing p;
  const bool many = all_to_all(op) || (sending ? from_root(op) : to_root(op) || to_all(op));
  const int blocks = many ? c.ranks : 1;
  p.displs.resize(static_cast<std::size_t>(blocks));
  for (int i = 0; i < blocks; ++i) {
    const int from = sending ? rank : (many ? i : c.root), to = sending ? (many ? i : c.root) : rank;
    p.counts.push_back(block_count(op, c, from, to));
    p.layouts.push_back(&layout);
  }
  const bool spread = varies(op) && many;
  for (int k = 0; k < blocks; ++k) {
    const int i = spread ? blocks - 1 - k : k;
    p.displs[static_cast<std::size_t>(i)] = p.items * (op == Op::alltoallw ? layout.extent() : 1);
    p.items += p.counts[static_cast<std::size_t>(i)] + (spread ? 1 : 0);
  }
  return p;
}

std::int64_t address(const Placing& p, Op op, const type::Layout& layout, int block, std::int64_t i) {
  const std::int64_t at = p.displs[static_cast<std::size_t>(block)];
  return (op == Op::alltoallw ? at : at * layout.extent()) + i * layout.extent();
}

Blocks blocks_of(Op op, Buffer buffer, const Case& c, const type::Layout& layout,
                 std::vector<std::int64_t>& counts, std::vector<std::int64_t>& displs,
                 std::vector<const type::Layout*>& layouts, const Placing& p, bool per_rank) {
  Blocks blocks{buffer, &layout, c.count};
  if (!varies(op)) return blocks;
  if (!per_rank) {
    blocks.count = p.counts[0];
    return blocks;
  }
  counts = p.counts;
  displs = p.displs;
  layouts = p.layouts;
  blocks.counts = counts.data();
  blocks.displacements = displs.data();
  if (op == Op::alltoallw) blocks.layouts = layouts.data();
  return blocks;
}

const type::Layout& layout_at(const Case& c, bool sending, int rank) {
  return (sending ? c.gappy_send : c.gappy_recv) != (rank % 2 == 1) ? gappy_layout() : dense_layout();
}

void prepare(Op op, const Case& c, std::vector<Member>& members) {
  for (int r = 0; r < c.ranks; ++r) {
    Member& m = members[static_cast<std::size_t>(r)];
    const bool root = r == c.root;
    const type::Layout &send = layout_at(c, true, r), &recv = layout_at(c, false, r);
    const Placing out = place(op, c, true, r, send), in = place(op, c, false, r, recv);
    const bool in_place = c.in_place && op != Op::bcast && (!has_root(op) || root);
    m.send = Memory(send, out.items);
    m.recv = Memory(recv, in.items);
    const auto fill = [&](Memory& memory, const Placing& p, const type::Layout& layout, int block, int to,
                          std::int64_t count) {
      for (std::int64_t i = 0; i < count; ++i)
        memory.set(address(p, op, layout, block, i), layout, made_up(r, to, i));
    };
    if (op == Op::bcast) {
      if (root) fill(m.recv, in, recv, 0, 0, c.count);
    } else if (all_to_all(op)) {
      for (int j = 0; j < c.ranks; ++j) {
        const auto at = static_cast<std::size_t>(j);
        if (in_place)
          fill(m.recv, in, recv, j, j, in.counts[at]);
        else
          fill(m.send, out, send, j, j, out.counts[at]);
      }
    } else if (from_root(op)) {
      for (int j = 0; root && j < c.ranks; ++j)
        fill(m.send, out, send, j, j, out.counts[static_cast<std::size_t>(j)]);
    } else if (in_place) {
      fill(m.recv, in, recv, r, 0, in.counts[static_cast<std::size_t>(r)]);
    } else {
      fill(m.send, out, send, 0, 0, out.counts[0]);
    }
    CollSpec& spec = m.spec;
    spec.op = op;
    spec.rank = r;
    spec.size = c.ranks;
    spec.root = c.root;
    spec.in_place = in_place;
    spec.bytes = varies(op) ? 0 : static_cast<std::uint64_t>(c.count) * sizeof(Item);
    spec.send = blocks_of(op, Buffer::send, c, send, m.send_counts, m.send_displs, m.send_layouts, out,
                          all_to_all(op) || from_root(op));
    spec.recv = blocks_of(op, Buffer::recv, c, recv, m.recv_counts, m.recv_displs, m.recv_layouts, in,
                          all_to_all(op) || to_root(op) || to_all(op));
    // Arguments that are not significant at this rank are absent.
    if (op == Op::bcast || (from_root(op) && !root) || (in_place && !from_root(op))) spec.send = Blocks{};
    if ((to_root(op) && !root) || (from_root(op) && in_place)) spec.recv = Blocks{};
  }
}

void check(Op op, const Case& c, const std::vector<Member>& members) {
  for (int r = 0; r < c.ranks; ++r) {
    const Member& m = members[static_cast<std::size_t>(r)];
    const type::Layout& recv = layout_at(c, false, r);
    const Placing in = place(op, c, false, r, recv);
    ASSERT_TRUE(m.recv.gaps_intact()) << "rank " << r;
    if (m.spec.recv.layout == nullptr) continue;
    const int blocks = static_cast<int>(in.counts.size());
    for (int j = 0; j < blocks; ++j)
      for (std::int64_t i = 0; i < in.counts[static_cast<std::size_t>(j)]; ++i) {
        const Item wanted = op == Op::bcast  ? made_up(c.root, 0, i)
                            : from_root(op)  ? made_up(c.root, r, i)
                            : all_to_all(op) ? made_up(j, r, i)
                                             : made_up(j, 0, i);
        ASSERT_EQ(m.recv.get(address(in, op, recv, j, i), recv), wanted)
            << "rank " << r << " block " << j << " item " << i;
      }
  }
}

void try_case(const Algorithm& algorithm, const Case& c, std::uint64_t seed) {
  if (!is_run(seed) || !fits(algorithm, c)) return;
  SCOPED_TRACE(text_of(algorithm, c, seed));
  std::vector<Member> members(static_cast<std::size_t>(c.ranks));
  prepare(algorithm.op, c, members);
  for (Member& member : members) put_on_hosts(c, member.spec);
  Prng prng(seed);
  std::string why;
  ASSERT_TRUE(run_job(algorithm, members, sum, prng, why)) << why;
  check(algorithm.op, c, members);
}

TEST(CollData, every_algorithm_against_the_definition) {
  std::uint64_t seed = 1;
  for (const Algorithm* algorithm : algorithms()) {
    if (!moves(algorithm->op)) continue;
    for (const int ranks : kRankCounts)
      for (const std::int64_t count : {0, 1, 2, 7, 40})
        for (int root = 0; root < (has_root(algorithm->op) ? ranks : 1); ++root)
          for (int flags = 0; flags < 8; ++flags) {
            if (root > 1 && (root + flags / 2) % 2 != 0) continue;  // half of them, for most roots
            Case c;
            c.ranks = ranks;
            c.root = root;
            c.count = count;
            c.in_place = (flags & 1) != 0;
            c.gappy_send = (flags & 2) != 0;
            c.gappy_recv = (flags & 4) != 0;
            for (int again = ranks <= 5 ? 2 : 1; again > 0; --again) try_case(*algorithm, c, seed++);
            if (HasFatalFailure()) return;
          }
  }
}

// Much data: enough for several segments and for uneven parts.
TEST(CollData, data_of_several_segments) {
  std::uint64_t seed = 99;
  for (const Algorithm* algorithm : algorithms()) {
    if (algorithm->op != Op::bcast && algorithm->op != Op::allgather) continue;
    for (const int ranks : {2, 4, 5})
      for (const int flags : {0, 1, 2, 3}) {
        Case c;
        c.ranks = ranks;
        c.root = ranks - 1;
        c.count = 5003;
        c.gappy_send = (flags & 1) != 0;
        c.gappy_recv = (flags & 2) != 0;
        try_case(*algorithm, c, seed++);
        if (HasFatalFailure()) return;
      }
  }
}

// Windows: more ranks than messages that may be in flight.
TEST(CollData, many_ranks_stay_within_their_windows) {
  std::uint64_t seed = 77;
  for (const Algorithm* algorithm : algorithms()) {
    if (!moves(algorithm->op)) continue;
    Case c;
    c.ranks = 40;
    c.count = 3;
    for (const bool in_place : {false, true}) {
      c.in_place = in_place;
      try_case(*algorithm, c, seed++);
      if (HasFatalFailure()) return;
    }
  }
}

// Several ranks on a host: parts of a plan mistake each other's ranks, posts or messages.
TEST(CollData, hosts_with_several_ranks) {
  std::uint64_t seed = 31;
  for (const Algorithm* algorithm : algorithms()) {
    if (!moves(algorithm->op)) continue;
    for (const Cluster& cluster : clusters())
      for (const std::int64_t count : {0, 1, 3, 40})
        for (int root = 0; root < (has_root(algorithm->op) ? cluster.ranks() : 1); ++root)
          for (int flags = 0; flags < 16; ++flags) {
            Case c;
            c.cluster = &cluster;
            c.ranks = cluster.ranks();
            c.root = root;
            c.count = count;
            c.in_place = (flags & 1) != 0;
            c.gappy_send = (flags & 2) != 0;
            c.gappy_recv = (flags & 4) != 0;
            c.shared_bytes = (flags & 8) != 0 ? kSharedBytes : 0;
            for (int again = 0; again < 2; ++again) try_case(*algorithm, c, seed++);
            if (HasFatalFailure()) return;
          }
  }
}

}  // namespace
}  // namespace herald::coll
