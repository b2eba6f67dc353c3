// SPDX-License-Identifier: BSD-3-Clause
// Neighborhood collectives: one message for each edge, all at once. Edges between the same two ranks are told
// apart by tags; the tag repeats after kTags edges, whose messages stay in order. An edge from a rank to
// itself is a copy.
#include <algorithm>

#include "coll/make/makers.hpp"
#include "coll/neighbors.hpp"

namespace herald::coll {
namespace {

constexpr std::uint32_t kTags = 128;  // below the rounds of coll/check.cpp

void set_tag(Builder& b, const Edge& edge) noexcept { b.round(static_cast<int>(edge.number % kTags)); }

// Of a gather, all destinations get the same block.
Piece block_to(const CollSpec& spec, int edge) noexcept {
  const bool same = spec.op == Op::neighbor_allgather || spec.op == Op::neighbor_allgatherv;
  return spec.send.block(same ? 0 : edge);
}

void copy_own(const CollSpec& spec, Builder& b) noexcept {
  std::vector<int> own;  // sources, by number
  const std::vector<Edge>& sources = spec.neighbors->sources;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    if (sources[i].rank != spec.rank) continue;
    own.resize(std::max<std::size_t>(own.size(), sources[i].number + 1), kNoRank);
    own[sources[i].number] = static_cast<int>(i);
  }
  const std::vector<Edge>& destinations = spec.neighbors->destinations;
  for (std::size_t i = 0; i < destinations.size(); ++i) {
    const Edge& edge = destinations[i];
    if (edge.rank != spec.rank || edge.number >= own.size() || own[edge.number] == kNoRank) continue;
    b.copy(block_to(spec, static_cast<int>(i)), spec.recv.block(own[edge.number]));
  }
}

void make(const CollSpec& spec, Builder& b) noexcept {
  const auto leaves = [&](const Edge& edge) { return edge.rank != kNoRank && edge.rank != spec.rank; };
  int block = 0;
  for (const Edge& edge : spec.neighbors->sources) {
    const int at = block++;
    if (!leaves(edge) || spec.recv.bytes(at) == 0) continue;
    set_tag(b, edge);
    b.recv(edge.rank, spec.recv.block(at));
  }
  block = 0;
  for (const Edge& edge : spec.neighbors->destinations) {
    const Piece from = leaves(edge) ? block_to(spec, block) : Piece{};
    ++block;
    if (from.bytes == 0) continue;
    set_tag(b, edge);
    b.send(edge.rank, from);
  }
  copy_own(spec, b);
}

double estimate(std::uint64_t bytes, const Shape& shape) noexcept {
  return transfer_ns(shape, 1, static_cast<double>(bytes));
}

}  // namespace

const Algorithm kNeighborhood{
    Op::neighbor_alltoall, "linear", "one message for each edge", fits_any, estimate, make};

}  // namespace herald::coll
