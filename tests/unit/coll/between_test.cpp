// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: a rank gets data of its own group, or of the wrong rank of the other; groups of one
// rank or of unequal size fail; messages of two parts of a plan are mixed up; operands change places; the
// root's local group waits.
#include "cases.hpp"

namespace herald::coll {
namespace {

struct Pair {
  Op op = Op::barrier;
  int sizes[2] = {1, 1};
  int root_side = 0, root = 0;
  std::int64_t count = 1;
  bool commutes = true, gappy = false;

  int ranks() const { return sizes[0] + sizes[1]; }
  int first(int side) const { return side == 0 ? 0 : sizes[0]; }
  bool rooted() const { return op == Op::bcast || op == Op::gather || op == Op::scatter || op == Op::reduce; }
  // Of a reduce-scatter: both groups together have as many items.
  std::int64_t total() const { return count * sizes[0] * sizes[1]; }
  std::int64_t block_count(int side, int rank) const {
    const std::int64_t each = count * sizes[1 - side];
    if (op == Op::reduce_scatter && sizes[side] > 1) {  // the first rank has none
      if (rank == 0) return 0;
      if (rank == sizes[side] - 1) return 2 * each;
    }
    return each;
  }
  std::int64_t block_at(int side, int rank) const {
    std::int64_t at = 0;
    for (int i = 0; i < rank; ++i) at += block_count(side, i);
    return at;
  }
};

void prepare(const Pair& p, const Sides (&sides)[2], std::vector<Member>& members) {
  const type::Layout& layout = p.gappy ? gappy_layout() : dense_layout();
  for (int side = 0; side < 2; ++side)
    for (int r = 0; r < p.sizes[side]; ++r) {
      const int me = p.first(side) + r;
      Member& m = members[static_cast<std::size_t>(me)];
      const std::int64_t room = p.count * p.ranks() * p.ranks();
      m.send = Memory(layout, room);
      m.recv = Memory(layout, room);
      for (std::int64_t i = 0; i < room; ++i) m.send.set(i * layout.extent(), layout, made_up(me, 0, i));
      CollSpec& spec = m.spec;
      spec.op = p.op;
      spec.rank = r;
      spec.size = p.sizes[side];
      spec.sides = &sides[side];
      if (p.rooted()) spec.root = side != p.root_side ? p.root : r == p.root ? kRootSelf : kRootOwnGroup;
      spec.commutes = p.commutes;
      spec.bytes = static_cast<std::uint64_t>((scatters(p.op) ? p.total() : p.count) * layout.size());
      spec.send = {Buffer::send, &layout, scatters(p.op) ? p.count * p.sizes[1 - side] : p.count};
      spec.recv = {Buffer::recv, &layout, scatters(p.op) ? p.block_count(side, r) : p.count};
      if (p.op != Op::reduce_scatter) continue;
      for (int i = 0; i < p.sizes[side]; ++i) {
        m.send_counts.push_back(p.block_count(side, i));
        m.send_displs.push_back(p.block_at(side, i));
      }
      spec.send.counts = m.send_counts.data();
      spec.send.displacements = m.send_displs.data();
    }
}

// The expected item of rank `r` of a group at index i; false: none.
bool wanted(const Pair& p, int side, int r, std::int64_t i, Item& item) {
  const int other = 1 - side, away = p.first(other), from = static_cast<int>(i / p.count);
  const auto reduced = [&](std::int64_t at) {
    const Reduction reduction = p.commutes ? sum : product;
    item = made_up(away, 0, at);
    for (int k = 1; k < p.sizes[other]; ++k) item = reduction(item, made_up(away + k, 0, at));
    return true;
  };
  const bool here = side == p.root_side && r == p.root, leaf = side != p.root_side;
  switch (p.op) {
    case Op::bcast: return leaf && i < p.count && (item = made_up(away + p.root, 0, i), true);
    case Op::scatter: return leaf && i < p.count && (item = made_up(away + p.root, 0, r * p.count + i), true);
    case Op::gather:
      return here && from < p.sizes[other] && (item = made_up(away + from, 0, i % p.count), true);
    case Op::reduce: return here && i < p.count && reduced(i);
    case Op::allgather: return from < p.sizes[other] && (item = made_up(away + from, 0, i % p.count), true);
    case Op::alltoall:
      return from < p.sizes[other] && (item = made_up(away + from, 0, r * p.count + i % p.count), true);
    case Op::allreduce: return i < p.count && reduced(i);
    case Op::reduce_scatter:
    case Op::reduce_scatter_block: return i < p.block_count(side, r) && reduced(p.block_at(side, r) + i);
    default: return false;
  }
}

void check(const Pair& p, const std::vector<Member>& members) {
  const type::Layout& layout = p.gappy ? gappy_layout() : dense_layout();
  const Memory blank(layout, 1);
  for (int side = 0; side < 2; ++side)
    for (int r = 0; r < p.sizes[side]; ++r) {
      const Member& m = members[static_cast<std::size_t>(p.first(side) + r)];
      for (std::int64_t i = 0; i < p.count * p.ranks() * p.ranks(); ++i) {
        Item item = blank.get(0, layout);
        (void)wanted(p, side, r, i, item);
        ASSERT_EQ(m.recv.get(i * layout.extent(), layout), item)
            << "group " << side << " rank " << r << " item " << i;
      }
      ASSERT_TRUE(m.recv.gaps_intact());
    }
}

void try_pair(const Pair& p, std::uint64_t seed) {
  SCOPED_TRACE(std::string(name_of(p.op)) + " groups of " + std::to_string(p.sizes[0]) + " and " +
               std::to_string(p.sizes[1]) + " root " + std::to_string(p.root) + " of group " +
               std::to_string(p.root_side) + " count " + std::to_string(p.count) +
               (p.commutes ? "" : " ordered") + " seed " + std::to_string(seed));
  const Sides sides[2] = {{0, p.sizes[0], p.sizes[1]}, {p.sizes[0], 0, p.sizes[0]}};
  std::vector<Member> members(static_cast<std::size_t>(p.ranks()));
  prepare(p, sides, members);
  Prng prng(seed);
  std::string why;
  ASSERT_TRUE(run_job(*algorithms()[0], members, p.commutes ? sum : product, prng, why)) << why;
  check(p, members);
}

TEST(CollBetween, every_collective_against_the_definition) {
  std::uint64_t seed = 1;
  for (const Op op : {Op::barrier, Op::bcast, Op::gather, Op::scatter, Op::reduce, Op::allgather,
                      Op::alltoall, Op::allreduce, Op::reduce_scatter, Op::reduce_scatter_block})
    for (const int lower : {1, 2, 5})
      for (const int upper : {1, 3, 4})
        for (const std::int64_t count : {1, 7})
          for (int flags = 0; flags < 4; ++flags) {
            Pair p;
            p.op = op;
            p.sizes[0] = lower;
            p.sizes[1] = upper;
            p.root_side = static_cast<int>(seed % 2);
            p.root = static_cast<int>(seed / 2) % p.sizes[p.root_side];
            p.count = count;
            p.commutes = (flags & 1) == 0;
            p.gappy = (flags & 2) != 0;
            try_pair(p, seed++);
            if (HasFatalFailure()) return;
          }
}

}  // namespace
}  // namespace herald::coll
