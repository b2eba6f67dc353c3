// SPDX-License-Identifier: BSD-3-Clause
// Broadcast of long data (van de Geijn): a binomial scatter of n parts, then a ring allgather. Each rank
// moves about twice the data for any number of ranks. Parts are cut by bytes, because ranks may describe the
// same data by different types.
#include <algorithm>
#include <vector>

#include "coll/make/makers.hpp"

namespace herald::coll {
namespace {

double estimate(std::uint64_t bytes, const Shape& shape) noexcept {
  const double n = shape.ranks;
  const double moved = 2.0 * static_cast<double>(bytes) * (n - 1) / n;
  return transfer_ns(shape, log2_up(shape.ranks) + n - 1, moved);
}

struct Parts {
  int ranks;
  std::uint64_t total, each;

  std::uint64_t at(int part) const noexcept {
    return std::min(total, each * static_cast<std::uint64_t>(part));
  }
  Piece piece(const Piece& data, int begin, int end) const noexcept {
    return bytes_of(data, at(begin), at(end) - at(begin));
  }
  // Rank v has parts [v, end) after the scatter.
  int end(int v) const noexcept {
    int span = 1;
    while (span < ranks && (v & span) == 0) span *= 2;
    return std::min(ranks, v + span);
  }
  bool empty(int part) const noexcept { return at(part) == at(part + 1); }
};

void make(const CollSpec& spec, Builder& b) noexcept {
  const Piece data = spec.recv.range(0, 1);
  const int n = spec.size, v = spec.relative(spec.rank);
  const auto ranks = static_cast<std::uint64_t>(n);
  const Parts parts{n, data.bytes, (data.bytes + ranks - 1) / ranks};
  const auto left = spec.absolute((v - 1 + n) % n), right = spec.absolute((v + 1) % n);

  b.window(kWindow, kWindow);
  std::vector<StepId> have(static_cast<std::size_t>(n), kNone);
  int span = 1;
  while (span < n && (v & span) == 0) span *= 2;
  b.round(0);
  if (v != 0 && parts.at(v) != parts.at(parts.end(v))) {
    const StepId got = b.recv(spec.absolute(v - span), parts.piece(data, v, parts.end(v)));
    for (int part = v; part < parts.end(v); ++part) have[static_cast<std::size_t>(part)] = got;
  }
  const StepId mine = have[static_cast<std::size_t>(v)];
  for (int distance = span / 2; distance > 0; distance /= 2) {
    const int child = v + distance;
    if (child < n && parts.at(child) != parts.at(parts.end(child)))
      b.send(spec.absolute(child), parts.piece(data, child, parts.end(child)), {mine});
  }

  // In round k part (v - k) goes to the right neighbor, unless the scatter has brought it there.
  const auto had = [&](int rank, int part) { return part >= rank && part < parts.end(rank); };
  for (int k = 0; k < n - 1; ++k) {
    const int in = (v - k - 1 + n) % n, out = (v - k + n) % n;
    b.round(1 + k);
    if (!parts.empty(in) && !had(v, in))
      have[static_cast<std::size_t>(in)] = b.recv(left, parts.piece(data, in, in + 1));
    if (!parts.empty(out) && !had((v + 1) % n, out))
      b.send(right, parts.piece(data, out, out + 1), {have[static_cast<std::size_t>(out)]});
  }
}

bool fits(const Shape& shape) noexcept { return shape.ranks > 2; }

}  // namespace

const Algorithm kBcastScatterAllgather{Op::bcast,
                                       "scatter_allgather",
                                       "the root scatters parts down a tree, a ring gathers them again",
                                       fits,
                                       estimate,
                                       make};

}  // namespace herald::coll
