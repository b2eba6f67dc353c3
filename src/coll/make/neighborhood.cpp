// SPDX-License-Identifier: BSD-3-Clause
// Neighborhood collectives: one message for each edge, all at once. Edges between the same two ranks are told
// apart by tags; the tag repeats after kTags edges, whose messages stay in order. An edge from a rank to
// itself is a copy. Short blocks between two hosts share one message (host_messages.hpp). Among few
// ranks of one host, equal blocks are posted in shared memory, and their destinations read them.
#include <algorithm>

#include "coll/make/host_messages.hpp"
#include "coll/make/makers.hpp"
#include "coll/make/shared.hpp"
#include "coll/neighbors.hpp"

namespace herald::coll {
namespace {

constexpr std::uint32_t kTags = HostMessages::kFirstTag;

void set_tag(Builder& b, const Edge& edge) noexcept { b.round(static_cast<int>(edge.number % kTags)); }

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

// Whether to use shared memory, where every rank waits for all others: only if there are few of them for each
// neighbour. From facts that are equal at all ranks; see Neighbors::places.
bool fits_shared(const CollSpec& spec) noexcept {
  const Neighbors& mine = *spec.neighbors;
  if (spec.op != Op::neighbor_allgather && spec.op != Op::neighbor_alltoall) return false;
  return spec.shared_bytes != 0 && mine.most_destinations != 0 && spec.size <= 4 * mine.most_destinations &&
         (spec.cluster != nullptr && spec.cluster->reads_peers);
}

void make_shared(const CollSpec& spec, Builder& b) noexcept {
  const Neighbors& mine = *spec.neighbors;
  const bool gathers = spec.op == Op::neighbor_allgather;
  const std::uint64_t bytes = block_bytes(spec);
  const auto blocks = static_cast<std::uint64_t>(gathers ? 1 : mine.most_destinations);
  if (bytes == 0) return;
  const bool by_copy = bytes * blocks <= spec.shared_bytes;
  const auto own = gathers ? std::min<int>(1, static_cast<int>(mine.destinations.size()))
                           : static_cast<int>(mine.destinations.size());
  const Piece out = own == 0 ? Piece{} : spec.send.range(0, own);
  StepId got = wait_for_all(b, 0, {b.post(0, out, by_copy, kNoRank)});
  for (std::size_t i = 0; i < mine.sources.size(); ++i) {
    const int from = mine.sources[i].rank;
    if (from == kNoRank || from == spec.rank) continue;
    const auto first = gathers ? 0 : bytes * static_cast<std::uint64_t>(mine.places[i]);
    got = b.fetch(from, 0, spec.recv.block(static_cast<int>(i)), first, false, {got});
  }
  copy_own(spec, b);
  if (!by_copy) wait_for_all(b, 1, {got});
}

void make(const CollSpec& spec, Builder& b) noexcept {
  if (fits_shared(spec)) return make_shared(spec, b);
  HostMessages shared(spec, b);
  const auto leaves = [&](const Edge& edge) { return edge.rank != kNoRank && edge.rank != spec.rank; };
  int block = 0;
  for (const Edge& edge : spec.neighbors->sources) {
    const int at = block++;
    const std::uint64_t bytes = leaves(edge) ? spec.recv.bytes(at) : 0;
    if (bytes == 0 || shared.carries_from(edge.rank, bytes)) continue;
    set_tag(b, edge);
    b.recv(edge.rank, spec.recv.block(at));
  }
  block = 0;
  for (const Edge& edge : spec.neighbors->destinations) {
    const Piece from = leaves(edge) ? block_to(spec, block) : Piece{};
    ++block;
    if (from.bytes == 0 || shared.carries_to(edge.rank, from.bytes)) continue;
    set_tag(b, edge);
    b.send(edge.rank, from);
  }
  copy_own(spec, b);
  shared.make();
}

double estimate(std::uint64_t bytes, const Shape& shape) noexcept {
  return transfer_ns(shape, 1, static_cast<double>(bytes));
}

}  // namespace

const Algorithm kNeighborhood{
    Op::neighbor_alltoall, "linear", "one message for each edge", fits_any, estimate, make};

}  // namespace herald::coll
