// SPDX-License-Identifier: BSD-3-Clause
#include "coll/make/host_messages.hpp"

#include <algorithm>

namespace herald::coll {
namespace {

// Fewer edges are not worth two more hops inside the hosts; longer messages keep the link full alone.
constexpr std::size_t kFewestEdges = 3;
constexpr std::uint64_t kMostBytes = 16384;
constexpr std::size_t kMostEdges = 1024;

bool exists(const Edge& edge) noexcept { return edge.rank != kNoRank; }

int index_of(const std::vector<Edge>& edges, int rank, std::uint32_t number) noexcept {
  const auto found = std::find_if(edges.begin(), edges.end(), [&](const Edge& edge) {
    return edge.rank == rank && edge.number == number;
  });
  return static_cast<int>(found - edges.begin());
}

}  // namespace

Piece block_to(const CollSpec& spec, int edge) noexcept {
  const bool same = spec.op == Op::neighbor_allgather || spec.op == Op::neighbor_allgatherv;
  return spec.send.block(same ? 0 : edge);
}

std::uint64_t block_bytes(const CollSpec& spec) noexcept {
  const Neighbors& mine = *spec.neighbors;
  if (std::any_of(mine.destinations.begin(), mine.destinations.end(), exists)) return spec.send.bytes(0);
  return std::any_of(mine.sources.begin(), mine.sources.end(), exists) ? spec.recv.bytes(0) : 0;
}

HostMessages::HostMessages(const CollSpec& spec, Builder& builder) noexcept
    : spec_(spec),
      b_(builder),
      all_(spec.op == Op::neighbor_allgather || spec.op == Op::neighbor_alltoall ? spec.neighbors->hosts.get()
                                                                                 : nullptr),
      gathers_(spec.op == Op::neighbor_allgather),
      in_(all_ == nullptr ? 1 : static_cast<std::size_t>(all_->cluster.hosts())),
      out_(in_.size()) {
  if (all_ == nullptr) return;
  bytes_ = block_bytes(spec);
  const int own = all_->cluster.host_of(spec.rank);
  for (const Crossing& edge : all_->edges) {
    const int from = all_->cluster.host_of(edge.from), to = all_->cluster.host_of(edge.to);
    if (from == own)
      out_[static_cast<std::size_t>(to)].edges.push_back(edge);
    else
      in_[static_cast<std::size_t>(from)].edges.push_back(edge);
  }
  for (int host = 0; host < all_->cluster.hosts(); ++host) {
    decide(out_[static_cast<std::size_t>(host)], host);
    decide(in_[static_cast<std::size_t>(host)], host);
  }
}

std::size_t HostMessages::host_index(int rank) const noexcept {
  return all_ == nullptr ? 0 : static_cast<std::size_t>(all_->cluster.host_of(rank));
}

// From facts that are equal at all ranks of both hosts.
void HostMessages::decide(Message& message, int remote) noexcept {
  message.blocks = message.edges;
  if (gathers_) {
    const auto by_source = [](const Crossing& a, const Crossing& b) { return a.from < b.from; };
    const auto same_source = [](const Crossing& a, const Crossing& b) { return a.from == b.from; };
    std::stable_sort(message.blocks.begin(), message.blocks.end(), by_source);
    message.blocks.erase(std::unique(message.blocks.begin(), message.blocks.end(), same_source),
                         message.blocks.end());
  }
  const Cluster& cluster = all_->cluster;
  const int own = cluster.host_of(spec_.rank);
  message.shared = bytes_ != 0 && message.edges.size() >= kFewestEdges &&
                   message.edges.size() <= kMostEdges && message.blocks.size() * bytes_ <= kMostBytes &&
                   remote / cluster.count(own) < kTags && own / cluster.count(remote) < kTags;
}

// The hosts that a rank forwards for differ in their tags.
int HostMessages::forwarder(int host, int remote) const noexcept {
  const std::vector<int>& ranks = all_->cluster.on_host(host);
  return ranks[static_cast<std::size_t>(remote) % ranks.size()];
}

void HostMessages::set_tag(int remote, bool collects) noexcept {
  const int round = remote / all_->cluster.count(all_->cluster.host_of(spec_.rank));
  b_.round(kFirstTag + (collects ? 0 : kTags) + round);
}

Piece HostMessages::at(const Piece& message, std::size_t block, std::size_t count) const noexcept {
  return bytes_of(message, bytes_ * block, bytes_ * count);
}

Piece HostMessages::own_block(const Crossing& edge) const noexcept {
  return block_to(spec_, gathers_ ? 0 : index_of(spec_.neighbors->destinations, edge.to, edge.number));
}

void HostMessages::make() noexcept {
  if (all_ == nullptr) return;
  for (int host = 0; host < all_->cluster.hosts(); ++host) {
    if (in_[static_cast<std::size_t>(host)].shared) distribute(in_[static_cast<std::size_t>(host)], host);
    if (out_[static_cast<std::size_t>(host)].shared) collect(out_[static_cast<std::size_t>(host)], host);
  }
}

// The blocks of one source, in their order in the message, at its forwarder.
void HostMessages::collect(const Message& message, int remote) noexcept {
  const int own = all_->cluster.host_of(spec_.rank), to = forwarder(own, remote);
  if (to == spec_.rank) {
    const Piece all = b_.scratch(bytes_ * message.blocks.size());
    std::vector<StepId> ready;
    set_tag(remote, true);
    for (const int source : all_->cluster.on_host(own)) gather_at_forwarder(message, all, source, ready);
    b_.round(kFirstTag);
    const StepId sent = b_.send(forwarder(remote, own), all);
    for (const StepId step : ready) b_.depend(sent, step);
    return;
  }
  std::vector<Piece> mine;
  for (const Crossing& block : message.blocks)
    if (block.from == spec_.rank) mine.push_back(own_block(block));
  if (mine.empty()) return;
  Piece packed = mine[0];
  std::vector<StepId> ready;
  if (mine.size() > 1) {
    packed = b_.scratch(bytes_ * mine.size());
    for (std::size_t i = 0; i < mine.size(); ++i) ready.push_back(b_.copy(mine[i], at(packed, i)));
  }
  set_tag(remote, true);
  const StepId sent = b_.send(to, packed);
  for (const StepId step : ready) b_.depend(sent, step);
}

void HostMessages::gather_at_forwarder(const Message& message, const Piece& all, int source,
                                       std::vector<StepId>& ready) noexcept {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < message.blocks.size(); ++i)
    if (message.blocks[i].from == source) places.push_back(i);
  if (places.empty()) return;
  if (source == spec_.rank) {
    for (const std::size_t i : places) ready.push_back(b_.copy(own_block(message.blocks[i]), at(all, i)));
  } else if (places.size() == 1) {
    ready.push_back(b_.recv(source, at(all, places[0])));
  } else {
    const Piece packed = b_.scratch(bytes_ * places.size());
    const StepId got = b_.recv(source, packed);
    for (std::size_t i = 0; i < places.size(); ++i)
      ready.push_back(b_.copy(at(packed, i), at(all, places[i]), {got}));
  }
}

// Blocks are ordered by destination. Of a gather, a rank with any source there gets all of them.
HostMessages::Part HostMessages::part_of(const Message& message, int rank) const noexcept {
  const auto goes_to = [&](const Crossing& edge) { return edge.to == rank; };
  const auto first = std::find_if(message.edges.begin(), message.edges.end(), goes_to);
  if (first == message.edges.end()) return {0, 0};
  if (gathers_) return {0, message.blocks.size()};
  return {static_cast<std::size_t>(first - message.edges.begin()),
          static_cast<std::size_t>(std::count_if(first, message.edges.end(), goes_to))};
}

void HostMessages::distribute(const Message& message, int remote) noexcept {
  const int own = all_->cluster.host_of(spec_.rank), from = forwarder(own, remote);
  const Part mine = part_of(message, spec_.rank);
  if (from != spec_.rank) {
    if (mine.count == 0) return;
    set_tag(remote, false);
    const Piece part = b_.scratch(bytes_ * mine.count);
    return deliver(message, part, mine.first, b_.recv(from, part));
  }
  const Piece all = b_.scratch(bytes_ * message.blocks.size());
  b_.round(kFirstTag);
  const StepId got = b_.recv(forwarder(remote, own), all);
  set_tag(remote, false);
  for (const int rank : all_->cluster.on_host(own)) {
    const Part part = part_of(message, rank);
    if (rank != spec_.rank && part.count != 0) b_.send(rank, at(all, part.first, part.count), {got});
  }
  deliver(message, all, 0, got);
}

// `part` begins with block `first` of the message.
void HostMessages::deliver(const Message& message, const Piece& part, std::size_t first,
                           StepId got) noexcept {
  for (std::size_t i = 0; i < message.edges.size(); ++i) {
    const Crossing& edge = message.edges[i];
    if (edge.to != spec_.rank) continue;
    std::size_t block = i;
    if (gathers_)
      block = static_cast<std::size_t>(
          std::find_if(message.blocks.begin(), message.blocks.end(),
                       [&](const Crossing& other) { return other.from == edge.from; }) -
          message.blocks.begin());
    const int to = index_of(spec_.neighbors->sources, edge.from, edge.number);
    b_.copy(at(part, block - first), spec_.recv.block(to), {got});
  }
}

}  // namespace herald::coll
