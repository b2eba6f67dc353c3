// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: a contribution is omitted or counted twice; operands of an operation that does not
// commute change places; a buffer is overwritten while a message still needs it; the user's send buffer or
// the gaps of a type are written; numbers of ranks that are no power of two; counts below the number of
// ranks.
#include "cases.hpp"
#include "tests/unit/effort.hpp"

namespace herald::coll {
namespace {

bool reduces(Op op) {
  return op == Op::reduce || op == Op::allreduce || op == Op::scan || op == Op::exscan ||
         op == Op::reduce_scatter || op == Op::reduce_scatter_block;
}

// Items of block `rank` of a reduce-scatter; some blocks are empty.
std::int64_t block_count(Op op, const Case& c, int rank) {
  return op == Op::reduce_scatter ? (c.count == 0 ? 0 : (rank * 3 + c.count) % 5) : c.count;
}

// Items that each rank contributes.
std::int64_t total_count(Op op, const Case& c) {
  if (!scatters(op)) return c.count;
  std::int64_t total = 0;
  for (int r = 0; r < c.ranks; ++r) total += block_count(op, c, r);
  return total;
}

void prepare(Op op, const Case& c, std::vector<Member>& members) {
  const type::Layout& layout = c.gappy_send ? gappy_layout() : dense_layout();
  const std::int64_t total = total_count(op, c);
  for (int r = 0; r < c.ranks; ++r) {
    Member& m = members[static_cast<std::size_t>(r)];
    const bool in_place = c.in_place && (op != Op::reduce || r == c.root);
    const std::int64_t results = scatters(op) ? block_count(op, c, r) : c.count;
    m.send = Memory(layout, total);
    m.recv = Memory(layout, in_place ? total : results);
    for (std::int64_t i = 0; i < total; ++i)
      (in_place ? m.recv : m.send).set(i * layout.extent(), layout, made_up(r, 0, i));
    CollSpec& spec = m.spec;
    spec.op = op;
    spec.rank = r;
    spec.size = c.ranks;
    spec.root = c.root;
    spec.in_place = in_place;
    spec.commutes = c.commutes;
    spec.bytes = static_cast<std::uint64_t>(total * layout.size());
    spec.send = {in_place ? Buffer::recv : Buffer::send, &layout, c.count};
    spec.recv = {Buffer::recv, &layout, results};
    if (op == Op::reduce && r != c.root) spec.recv.layout = nullptr;
    if (op != Op::reduce_scatter) continue;
    std::int64_t at = 0;
    for (int j = 0; j < c.ranks; ++j) {
      m.send_counts.push_back(block_count(op, c, j));
      m.send_displs.push_back(at);
      at += m.send_counts.back();
    }
    spec.send.counts = m.send_counts.data();
    spec.send.displacements = m.send_displs.data();
  }
}

void check(Op op, const Case& c, const std::vector<Member>& members) {
  const Reduction reduction = c.commutes ? sum : product;
  const type::Layout& layout = c.gappy_send ? gappy_layout() : dense_layout();
  std::int64_t offset = 0;
  for (int r = 0; r < c.ranks; ++r) {
    const Member& m = members[static_cast<std::size_t>(r)];
    const std::int64_t results = scatters(op) ? block_count(op, c, r) : c.count;
    const int last = op == Op::scan ? r : op == Op::exscan ? r - 1 : c.ranks - 1;
    const bool has_result = op == Op::reduce ? r == c.root : last >= 0;
    for (std::int64_t i = 0; has_result && i < results; ++i) {
      Item wanted = made_up(0, 0, offset + i);
      for (int from = 1; from <= last; ++from) wanted = reduction(wanted, made_up(from, 0, offset + i));
      ASSERT_EQ(m.recv.get(i * layout.extent(), layout), wanted) << "rank " << r << " item " << i;
    }
    if (scatters(op)) offset += results;
    ASSERT_TRUE(m.recv.gaps_intact()) << "rank " << r;
    if (m.spec.in_place) continue;
    for (std::int64_t i = 0; i < total_count(op, c); ++i)
      ASSERT_EQ(m.send.get(i * layout.extent(), layout), made_up(r, 0, i))
          << "send buffer written, rank " << r;
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
  ASSERT_TRUE(run_job(algorithm, members, c.commutes ? sum : product, prng, why)) << why;
  check(algorithm.op, c, members);
}

TEST(CollReduce, every_algorithm_against_the_definition) {
  std::uint64_t seed = 1;
  for (const Algorithm* algorithm : algorithms()) {
    if (!reduces(algorithm->op)) continue;
    for (const int ranks : kRankCounts)
      for (const std::int64_t count : {0, 1, 2, 7, 40})
        for (int root = 0; root < (algorithm->op == Op::reduce ? ranks : 1); ++root)
          for (int flags = 0; flags < 8; ++flags) {
            if (root > 1 && (root + flags / 2) % 2 != 0) continue;  // half of them, for most roots
            Case c;
            c.ranks = ranks;
            c.root = root;
            c.count = count;
            c.in_place = (flags & 1) != 0;
            c.commutes = (flags & 2) == 0;
            c.gappy_send = c.gappy_recv = (flags & 4) != 0;
            for (int again = ranks <= 5 ? 2 : 1; again > 0; --again) try_case(*algorithm, c, seed++);
            if (HasFatalFailure()) return;
          }
  }
}

// Fewer items than ranks: parts are empty, and their dependencies must still be kept.
TEST(CollReduce, empty_parts) {
  std::uint64_t seed = 4711;
  for (const Algorithm* algorithm : algorithms()) {
    if (!reduces(algorithm->op)) continue;
    for (const int ranks : {7, 8, 13})
      for (const std::int64_t count : {3, 4, 5, 6})
        for (int again = 0; again < 12; ++again) {
          Case c;
          c.ranks = ranks;
          c.count = count;
          c.in_place = again % 2 == 0;
          try_case(*algorithm, c, seed++);
          if (HasFatalFailure()) return;
        }
  }
}

// Much data: enough for several segments, more than there are areas for them.
TEST(CollReduce, data_of_several_segments) {
  std::uint64_t seed = 99;
  for (const Algorithm* algorithm : algorithms()) {
    if (algorithm->op != Op::reduce && algorithm->op != Op::allreduce) continue;
    for (const int ranks : {2, 3, 5})
      for (const int flags : {0, 1, 2, 3}) {
        Case c;
        c.ranks = ranks;
        c.root = ranks / 2;
        c.count = algorithm->op == Op::reduce ? 7001 : 12007;
        c.in_place = (flags & 1) != 0;
        c.gappy_send = c.gappy_recv = (flags & 2) != 0;
        try_case(*algorithm, c, seed++);
        if (HasFatalFailure()) return;
      }
  }
}

// More chunks than there are areas for them, and fewer items in the last of them.
TEST(CollReduce, chunks_of_a_fast_link) {
  std::uint64_t seed = 777;
  const Algorithm& algorithm = *find_algorithm(Op::allreduce, "scatter_cast");
  for (int flags = 0; flags < 8; ++flags) {
    Case c;
    c.ranks = 3;
    c.fast = true;
    c.count = static_cast<std::int64_t>((5 * c.ranks * (256u << 10)) / sizeof(Item)) - 1;
    c.in_place = (flags & 1) != 0;
    c.commutes = (flags & 2) == 0;
    c.gappy_send = c.gappy_recv = (flags & 4) != 0;
    try_case(algorithm, c, seed++);
    if (HasFatalFailure()) return;
  }
}

// Several ranks on a host: parts of a plan mistake each other's ranks, posts or messages.
TEST(CollReduce, hosts_with_several_ranks) {
  std::uint64_t seed = 31;
  for (const Algorithm* algorithm : algorithms()) {
    if (!reduces(algorithm->op)) continue;
    for (const Cluster& cluster : clusters())
      for (const std::int64_t count : {0, 1, 3, 40})
        for (int root = 0; root < (algorithm->op == Op::reduce ? cluster.ranks() : 1); ++root)
          for (int flags = 0; flags < 16; ++flags) {
            Case c;
            c.cluster = &cluster;
            c.ranks = cluster.ranks();
            c.root = root;
            c.count = count;
            c.in_place = (flags & 1) != 0;
            c.commutes = (flags & 2) == 0;
            c.gappy_send = c.gappy_recv = (flags & 4) != 0;
            c.shared_bytes = (flags & 8) != 0 ? kSharedBytes : 0;
            for (int again = 0; again < 2; ++again) try_case(*algorithm, c, seed++);
            if (HasFatalFailure()) return;
          }
  }
}

}  // namespace
}  // namespace herald::coll
