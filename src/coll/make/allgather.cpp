// SPDX-License-Identifier: BSD-3-Clause
// Allgather and allgatherv by messages.
#include <algorithm>
#include <vector>

#include "coll/make/makers.hpp"

namespace herald::coll {
namespace {

// Recursive-doubling allgather: in round k pairs of ranks 2^k apart exchange all blocks that they have.
double estimate_doubling(std::uint64_t bytes, const Shape& shape) noexcept {
  return transfer_ns(shape, log2_up(shape.ranks), static_cast<double>(bytes) * (shape.ranks - 1));
}

void make_doubling(const CollSpec& spec, Builder& b) noexcept {
  const Piece mine = spec.recv.block(spec.rank);
  if (mine.bytes == 0) return;
  StepId have[32];  // dependencies of the next send: the own block, then the receive of each round
  int known = 0;
  have[known++] = spec.in_place ? kNone : b.copy(spec.send.range(0, 1), mine);
  for (int distance = 1; distance < spec.size; distance *= 2) {
    const int partner = spec.rank ^ distance;
    const int ours = spec.rank & ~(distance - 1), theirs = partner & ~(distance - 1);
    b.round(known);
    const StepId got = b.recv(partner, spec.recv.range(theirs, theirs + distance));
    const StepId sent = b.send(partner, spec.recv.range(ours, ours + distance));
    for (int i = 0; i < known; ++i) b.depend(sent, have[i]);
    have[known++] = got;
  }
}

bool fits_doubling(const Shape& shape) noexcept { return is_power(shape.ranks); }

// Bruck allgather: log2(n) rounds for any number of ranks. Blocks are stored in the order "own, next rank's,
// ..." and rotated into rank order at the end, which costs one copy of all data.
double estimate_bruck(std::uint64_t bytes, const Shape& shape) noexcept {
  const double n = shape.ranks, size = static_cast<double>(bytes);
  return transfer_ns(shape, log2_up(shape.ranks), size * (n - 1)) + n * size * shape.cost.copy_byte_ns;
}

void make_bruck(const CollSpec& spec, Builder& b) noexcept {
  const int n = spec.size;
  const Piece mine = spec.in_place ? spec.recv.block(spec.rank) : spec.send.range(0, 1);
  const std::uint64_t size = mine.bytes;
  if (size == 0) return;
  const Piece all = b.scratch(size * static_cast<std::uint64_t>(n));
  const auto blocks = [&](int begin, int end) { return blocks_of(all, size, begin, end); };
  StepId have[32];
  int known = 0;
  have[known++] = b.copy(mine, blocks(0, 1));
  for (int distance = 1; distance < n; distance *= 2) {
    const int count = std::min(distance, n - distance);
    b.round(known);
    const StepId got = b.recv((spec.rank + distance) % n, blocks(distance, distance + count));
    const StepId sent = b.send((spec.rank - distance + n) % n, blocks(0, count));
    for (int i = 0; i < known; ++i) b.depend(sent, have[i]);
    have[known++] = got;
  }
  const StepId tail = b.copy(blocks(0, n - spec.rank), spec.recv.range(spec.rank, n));
  for (int i = 0; i < known; ++i) b.depend(tail, have[i]);
  const StepId front = b.copy(blocks(n - spec.rank, n), spec.recv.range(0, spec.rank));
  for (int i = 0; i < known; ++i) b.depend(front, have[i]);
}

// Neighbor-exchange allgather, for even n: ranks 2i and 2i + 1 first exchange their blocks. Then each rank
// exchanges with its left and right neighbors alternately, and forwards the pair of blocks that it received
// last. Half the rounds of a ring.
double estimate_neighbor(std::uint64_t bytes, const Shape& shape) noexcept {
  const double n = shape.ranks;
  return transfer_ns(shape, n / 2, (n - 1) * static_cast<double>(bytes));
}

void make_neighbor(const CollSpec& spec, Builder& b) noexcept {
  const int n = spec.size;
  const Piece mine = spec.recv.block(spec.rank);
  if (mine.bytes == 0) return;
  const Piece own = spec.in_place ? mine : spec.send.range(0, 1);
  const bool even = spec.rank % 2 == 0;
  // The partner of the pair, then the other neighbor.
  const int neighbor[2] = {(spec.rank + (even ? 1 : -1) + n) % n, (spec.rank + (even ? -1 : 1) + n) % n};
  // First block of the pair that each side sends next; it moves away by one pair each time.
  const int pair = even ? spec.rank : spec.rank - 1;
  int from[2] = {pair, pair};
  const int step[2] = {even ? 2 : -2, even ? -2 : 2};

  b.window(kWindow, kWindow);
  b.round(0);
  const StepId copied = spec.in_place ? kNone : b.copy(own, mine);
  StepId have = b.recv(neighbor[0], spec.recv.block(neighbor[0]));
  b.send(neighbor[0], own);
  int last = pair;
  for (int k = 1; k < n / 2; ++k) {
    const int side = k % 2;
    from[side] = (from[side] + step[side] + n) % n;
    b.round(k);
    const StepId got = b.recv(neighbor[side], spec.recv.range(from[side], from[side] + 2));
    b.send(neighbor[side], spec.recv.range(last, last + 2), {have, copied});
    last = from[side];
    have = got;
  }
}

bool fits_neighbor(const Shape& shape) noexcept { return shape.ranks % 2 == 0; }

// Ring allgather: in round k each rank forwards the block that it received in round k - 1. Blocks may have
// any size: also for allgatherv.
double estimate_ring(std::uint64_t bytes, const Shape& shape) noexcept {
  const double rounds = shape.ranks - 1;
  return transfer_ns(shape, rounds, rounds * static_cast<double>(bytes));
}

double estimate_v(std::uint64_t bytes, const Shape& shape) noexcept {
  return transfer_ns(shape, shape.ranks - 1, static_cast<double>(bytes));
}

void make_ring(const CollSpec& spec, Builder& b) noexcept {
  const int n = spec.size, right = (spec.rank + 1) % n, left = (spec.rank - 1 + n) % n;
  const Piece mine = spec.recv.block(spec.rank);
  // The first send reads this rank's block in the user's send buffer.
  const Piece first = spec.in_place ? mine : spec.send.range(0, 1);
  b.window(kWindow, kWindow);
  StepId have = kNone;
  for (int k = 0; k < n - 1; ++k) {
    const Piece in = spec.recv.block((spec.rank - k - 1 + n) % n);
    const Piece out = k == 0 ? first : spec.recv.block((spec.rank - k + n) % n);
    b.round(k);
    const StepId got = in.bytes == 0 ? kNone : b.recv(left, in);
    if (out.bytes != 0) b.send(right, out, {have});
    have = got;
  }
  if (!spec.in_place) b.copy(first, mine);
}

// Linear allgatherv: every rank sends its block to all others, its successor first. Nothing is forwarded, so
// a single large block does not delay the others.
// Half of the start-up overlaps; all ranks send at the same time, which congests the links.
double estimate_allgatherv_linear(std::uint64_t bytes, const Shape& shape) noexcept {
  return transfer_ns(shape, 0.8 * (shape.ranks - 1), 1.3 * static_cast<double>(bytes));
}

void make_allgatherv_linear(const CollSpec& spec, Builder& b) noexcept {
  const int n = spec.size;
  const Piece mine = spec.recv.block(spec.rank), own = spec.in_place ? mine : spec.send.range(0, 1);
  b.window(kWindow, kWindow);
  for (int k = 1; k < n; ++k) {
    const int to = (spec.rank + k) % n, from = (spec.rank - k + n) % n;
    const Piece in = spec.recv.block(from);
    if (in.bytes != 0) b.recv(from, in);
    if (own.bytes != 0) b.send(to, own);
  }
  if (!spec.in_place) b.copy(own, mine);
}

// Bruck allgatherv: log2(n) rounds for any number of ranks and any sizes, which all ranks know. Blocks are
// packed in the order "own, next rank's, ..." and copied to their destinations at the end.
double estimate_allgatherv_bruck(std::uint64_t bytes, const Shape& shape) noexcept {
  const double size = static_cast<double>(bytes);
  return transfer_ns(shape, log2_up(shape.ranks), size) + size * shape.cost.copy_byte_ns;
}

void make_allgatherv_bruck(const CollSpec& spec, Builder& b) noexcept {
  const int n = spec.size;
  std::vector<std::uint64_t> at(static_cast<std::size_t>(n) + 1, 0);  // where block rank + i begins
  for (int i = 0; i < n; ++i)
    at[static_cast<std::size_t>(i) + 1] =
        at[static_cast<std::size_t>(i)] + spec.recv.bytes((spec.rank + i) % n);
  if (at.back() == 0) return;
  const Piece all = b.scratch(at.back());
  const auto blocks = [&](int begin, int end) {
    const std::uint64_t first = at[static_cast<std::size_t>(begin)];
    return bytes_of(all, first, at[static_cast<std::size_t>(end)] - first);
  };
  struct Came {
    StepId step;
    int begin, end;
  };
  std::vector<Came> came;
  const Piece mine = spec.in_place ? spec.recv.block(spec.rank) : spec.send.range(0, 1);
  came.push_back({b.copy(mine, blocks(0, 1)), 0, 1});
  for (int distance = 1, round = 0; distance < n; distance *= 2, ++round) {
    const int count = std::min(distance, n - distance);
    const Piece in = blocks(distance, distance + count), out = blocks(0, count);
    b.round(round);
    const StepId got = in.bytes == 0 ? kNone : b.recv((spec.rank + distance) % n, in);
    if (out.bytes != 0) {
      const StepId sent = b.send((spec.rank - distance + n) % n, out);
      for (const Came& one : came)
        if (one.begin < count) b.depend(sent, one.step);
    }
    came.push_back({got, distance, distance + count});
  }
  for (const Came& one : came)
    for (int i = std::max(one.begin, spec.in_place ? 1 : 0); i < one.end; ++i)
      b.copy(blocks(i, i + 1), spec.recv.block((spec.rank + i) % n), {one.step});
}

constexpr Algorithm kRows[] = {
    {Op::allgather, "doubling", "recursive doubling between pairs; powers of two only", fits_doubling,
     estimate_doubling, make_doubling},
    {Op::allgather, "bruck", "log2(n) rounds for any n, one copy at the end", fits_any, estimate_bruck,
     make_bruck},
    {Op::allgather, "neighbor", "exchange with the left and the right in turns; even n only", fits_neighbor,
     estimate_neighbor, make_neighbor},
    {Op::allgather, "ring", "blocks go round a ring, one step a round", fits_any, estimate_ring, make_ring},
    {Op::allgatherv, "ring", "blocks go round a ring, one step a round", fits_any, estimate_v, make_ring},
    {Op::allgatherv, "linear", "every rank sends its block to all others", fits_any,
     estimate_allgatherv_linear, make_allgatherv_linear},
    {Op::allgatherv, "bruck", "log2(n) rounds for any n, one copy at the end", fits_any,
     estimate_allgatherv_bruck, make_allgatherv_bruck},
};

}  // namespace

constinit const std::span<const Algorithm> kAllgatherAlgorithms = kRows;

}  // namespace herald::coll
