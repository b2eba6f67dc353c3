// SPDX-License-Identifier: BSD-3-Clause
// Broadcasts by messages.
#include <algorithm>
#include <vector>

#include "coll/coll_spec.hpp"
#include "coll/make/makers.hpp"
#include "coll/make/segments.hpp"
#include "coll/make/tree.hpp"

namespace herald::coll {
namespace {

// A broadcast in segments: each is forwarded to the children as soon as it
// arrives.
// Parent and children are ranks relative to the root; -1 is no parent, and a child beyond the last rank is
// none.
void bcast_pipeline(const CollSpec& spec, Builder& b, int parent, int first_child, int children) noexcept {
  const Piece data = spec.recv.range(0, 1);
  if (data.bytes == 0) return;
  const int count = segments_of(data.bytes, spec);
  const auto segments = static_cast<std::uint64_t>(count);
  const std::uint64_t each = (data.bytes + segments - 1) / segments;
  b.window(kWindow, kWindow);
  for (int i = 0; i < count; ++i) {
    const std::uint64_t at = std::min(data.bytes, each * static_cast<std::uint64_t>(i));
    const Piece segment = bytes_of(data, at, std::min(each, data.bytes - at));
    if (segment.bytes == 0) break;
    b.round(i);
    const StepId got = parent < 0 ? kNone : b.recv(spec.absolute(parent), segment);
    for (int child = first_child; child < first_child + children && child < spec.size; ++child)
      b.send(spec.absolute(child), segment, {got});
  }
}

// Data cut by bytes into one part per rank, and the owner of each part after a
// binomial scatter. By bytes, because ranks may describe the same data by different types.
struct ByteParts {
  Tree tree;
  std::uint64_t total, each;

  ByteParts(int ranks, std::uint64_t bytes) noexcept
      : tree{ranks},
        total(bytes),
        each((bytes + static_cast<std::uint64_t>(ranks) - 1) / static_cast<std::uint64_t>(ranks)) {}
  std::uint64_t at(int part) const noexcept {
    return std::min(total, each * static_cast<std::uint64_t>(part));
  }
  bool empty(int begin, int end) const noexcept { return at(begin) == at(end); }
  Piece piece(const Piece& data, int begin, int end) const noexcept {
    return bytes_of(data, at(begin), at(end) - at(begin));
  }
  // Place v has parts [v, end(v)) after the scatter.
  int end(int v) const noexcept { return tree.end(v); }
  bool has(int v, int part) const noexcept { return part >= v && part < end(v); }
};

// Broadcast down a binomial tree: the farthest child first, because it has the largest subtree.
double estimate_binomial(std::uint64_t bytes, const Shape& shape) noexcept {
  const int rounds = log2_up(shape.ranks);
  return transfer_ns(shape, rounds, rounds * static_cast<double>(bytes));
}

void make_binomial(const CollSpec& spec, Builder& b) noexcept {
  const Piece data = spec.recv.range(0, 1);
  if (data.bytes == 0) return;
  const Tree tree{spec.size};
  const int v = spec.relative(spec.rank);
  const StepId have = v == 0 ? kNone : b.recv(spec.absolute(tree.parent(v)), data);
  for (int distance = tree.span(v) / 2; distance > 0; distance /= 2)
    if (v + distance < spec.size) b.send(spec.absolute(v + distance), data, {have});
}

// Pipelined broadcast down a binary tree: log2(n) deep; inner ranks send every byte twice.
double estimate_binary(std::uint64_t bytes, const Shape& shape) noexcept {
  return pipeline_ns(bytes, shape, 2 * (log2_up(shape.ranks + 1) - 1), 2);
}

void make_binary(const CollSpec& spec, Builder& b) noexcept {
  const int v = spec.relative(spec.rank);
  bcast_pipeline(spec, b, v == 0 ? -1 : (v - 1) / 2, 2 * v + 1, 2);
}

// Broadcast of data of medium length: a binomial scatter of n parts, then a recursive-doubling allgather: 2
// log2(n) messages. Parts that a rank still has from the scatter are not sent to it again.
double estimate_scatter_doubling(std::uint64_t bytes, const Shape& shape) noexcept {
  const double n = shape.ranks, rounds = log2_up(shape.ranks);
  return transfer_ns(shape, 2 * rounds, 2.0 * static_cast<double>(bytes) * (n - 1) / n);
}

// Scatters the parts down the tree. The step after which this rank has its own; kNone: at once.
StepId scatter_parts(const CollSpec& spec, Builder& b, const ByteParts& parts, const Piece& data) noexcept {
  const int v = spec.relative(spec.rank);
  StepId mine = kNone;
  b.round(0);
  if (v != 0 && !parts.empty(v, parts.end(v)))
    mine = b.recv(spec.absolute(parts.tree.parent(v)), parts.piece(data, v, parts.end(v)));
  for (int child = v + parts.tree.span(v) / 2; child > v; child = v + (child - v) / 2)
    if (child < spec.size && !parts.empty(child, parts.end(child)))
      b.send(spec.absolute(child), parts.piece(data, child, parts.end(child)), {mine});
  return mine;
}

void make_scatter_doubling(const CollSpec& spec, Builder& b) noexcept {
  const Piece data = spec.recv.range(0, 1);
  const int n = spec.size, v = spec.relative(spec.rank);
  const ByteParts parts(n, data.bytes);
  StepId have[kMaxRounds + 1] = {scatter_parts(spec, b, parts, data)};  // dependencies of this rank's sends
  int known = 1;
  for (int distance = 1; distance < n; distance *= 2) {
    const int ours = v & ~(distance - 1), theirs = ours ^ distance, partner = spec.absolute(v ^ distance);
    StepId got = kNone;
    b.round(known);
    // The first rank of a group has had all of the group's parts since the scatter.
    if (!parts.has(v, theirs) && !parts.empty(theirs, theirs + distance))
      got = b.recv(partner, parts.piece(data, theirs, theirs + distance));
    if (!parts.has(v ^ distance, ours) && !parts.empty(ours, ours + distance)) {
      const StepId sent = b.send(partner, parts.piece(data, ours, ours + distance));
      for (int i = 0; i < known; ++i) b.depend(sent, have[i]);
    }
    have[known++] = got;
  }
}

bool fits_scatter_doubling(const Shape& shape) noexcept { return shape.ranks > 2 && is_power(shape.ranks); }

// Broadcast of long data (van de Geijn): a binomial scatter of n parts, then a ring allgather. Each rank
// moves about twice the data for any number of ranks.
double estimate_scatter_allgather(std::uint64_t bytes, const Shape& shape) noexcept {
  const double n = shape.ranks;
  const double moved = 2.0 * static_cast<double>(bytes) * (n - 1) / n;
  return transfer_ns(shape, log2_up(shape.ranks) + n - 1, moved);
}

void make_scatter_allgather(const CollSpec& spec, Builder& b) noexcept {
  const Piece data = spec.recv.range(0, 1);
  const int n = spec.size, v = spec.relative(spec.rank);
  const ByteParts parts(n, data.bytes);
  const int left = spec.absolute((v - 1 + n) % n), right = spec.absolute((v + 1) % n);
  b.window(kWindow, kWindow);
  std::vector<StepId> have(static_cast<std::size_t>(n), kNone);
  const StepId mine = scatter_parts(spec, b, parts, data);
  for (int part = v; part < parts.end(v); ++part) have[static_cast<std::size_t>(part)] = mine;
  // In round k part (v - k) goes to the right neighbor, unless the scatter has brought it there.
  for (int k = 0; k < n - 1; ++k) {
    const int in = (v - k - 1 + n) % n, out = (v - k + n) % n;
    b.round(1 + k);
    if (!parts.empty(in, in + 1) && !parts.has(v, in))
      have[static_cast<std::size_t>(in)] = b.recv(left, parts.piece(data, in, in + 1));
    if (!parts.empty(out, out + 1) && !parts.has((v + 1) % n, out))
      b.send(right, parts.piece(data, out, out + 1), {have[static_cast<std::size_t>(out)]});
  }
}

// Pipelined broadcast of long data along a chain: every rank but the last receives and sends each byte once,
// and all links are busy at the same time. Deep: for few ranks or very long data.
double estimate_chain(std::uint64_t bytes, const Shape& shape) noexcept {
  return pipeline_ns(bytes, shape, shape.ranks - 1, 1);
}

void make_chain(const CollSpec& spec, Builder& b) noexcept {
  const int v = spec.relative(spec.rank);
  bcast_pipeline(spec, b, v - 1, v + 1, 1);
}

constexpr Algorithm kRows[] = {
    {Op::bcast, "binomial", "a binomial tree, whole messages", fits_any, estimate_binomial, make_binomial},
    {Op::bcast, "binary", "segments down a binary tree", fits_three, estimate_binary, make_binary},
    {Op::bcast, "scatter_doubling", "scatter down a tree, recursive doubling; powers of two only",
     fits_scatter_doubling, estimate_scatter_doubling, make_scatter_doubling},
    {Op::bcast, "scatter_allgather", "the root scatters parts down a tree, a ring gathers them again",
     fits_three, estimate_scatter_allgather, make_scatter_allgather},
    {Op::bcast, "chain", "segments along a chain of ranks", fits_three, estimate_chain, make_chain},
};

}  // namespace

constinit const std::span<const Algorithm> kBcastAlgorithms = kRows;

}  // namespace herald::coll
