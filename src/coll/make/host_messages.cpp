// SPDX-License-Identifier: BSD-3-Clause
#include "coll/make/host_messages.hpp"

#include <algorithm>
#include <map>

#include "coll/block_list.hpp"

namespace herald::coll {
namespace {

// Fewer edges are not worth two more hops inside the hosts; longer messages keep the link full alone.
constexpr std::size_t kFewestEdges = 3;
constexpr std::uint64_t kMostBytes = 16384;  // of all blocks
constexpr std::size_t kMostEdges = 1024;

bool exists(const Edge& edge) noexcept { return edge.rank != kNoRank; }

int index_of(const std::vector<Edge>& edges, int rank, std::uint32_t number) noexcept {
  const auto found = std::find_if(edges.begin(), edges.end(), [&](const Edge& edge) {
    return edge.rank == rank && edge.number == number;
  });
  return static_cast<int>(found - edges.begin());
}

bool has_counts(const CollSpec& spec) noexcept {
  return spec.op != Op::neighbor_allgather && spec.op != Op::neighbor_alltoall;
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
      all_(spec.neighbors->hosts.get()),
      gathers_(spec.op == Op::neighbor_allgather || spec.op == Op::neighbor_allgatherv),
      in_(all_ == nullptr ? 1 : static_cast<std::size_t>(all_->cluster.hosts())),
      out_(in_.size()) {
  if (all_ == nullptr) return;
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
  const bool shares = message.edges.size() >= kFewestEdges && message.edges.size() <= kMostEdges &&
                      remote / cluster.count(own) < kTags && own / cluster.count(remote) < kTags;
  message.longest = shares ? kMostBytes / message.blocks.size() : 0;
  if (has_counts(spec_)) return;
  const std::uint64_t bytes = block_bytes(spec_);
  if (bytes == 0 || bytes > message.longest)
    message.longest = 0;
  else
    message.longest = bytes;
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

Piece HostMessages::list_of(const Message& message, std::size_t blocks) noexcept {
  return scratch_list(b_, blocks, blocks * message.longest);
}

Piece HostMessages::own_block(const Message& message, const Crossing& edge) const noexcept {
  const Piece block =
      block_to(spec_, gathers_ ? 0 : index_of(spec_.neighbors->destinations, edge.to, edge.number));
  return block.bytes <= message.longest ? block : left_out();
}

void HostMessages::make() noexcept {
  if (all_ == nullptr) return;
  for (int host = 0; host < all_->cluster.hosts(); ++host) {
    const auto index = static_cast<std::size_t>(host);
    if (in_[index].longest != 0) distribute(in_[index], host);
    if (out_[index].longest != 0) collect(out_[index], host);
  }
}

void HostMessages::collect(const Message& message, int remote) noexcept {
  const int own = all_->cluster.host_of(spec_.rank), to = forwarder(own, remote);
  set_tag(remote, true);
  if (to == spec_.rank) {
    const Piece all = list_of(message, message.blocks.size());
    const StepId ready = collect_all(message, all);
    b_.round(kFirstTag);
    b_.send(forwarder(remote, own), filled_part(all), {ready});
    return;
  }
  const auto mine = std::count_if(message.blocks.begin(), message.blocks.end(),
                                  [&](const Crossing& block) { return block.from == spec_.rank; });
  if (mine == 0) return;
  const Piece list = list_of(message, static_cast<std::size_t>(mine));
  const StepId ready = collect_own(message, list);
  b_.send(to, filled_part(list), {ready});
}

// The blocks of this rank, in their order in the message. The step after which the list is complete.
StepId HostMessages::collect_own(const Message& message, const Piece& list) noexcept {
  StepId ready = kNone;
  std::size_t index = 0;
  for (const Crossing& block : message.blocks)
    if (block.from == spec_.rank)
      ready = b_.copy(own_block(message, block), list_block(list, index++), {ready});
  return ready;
}

// The blocks of all ranks of the host, at the forwarder.
StepId HostMessages::collect_all(const Message& message, const Piece& list) noexcept {
  struct Source {
    Piece list;
    StepId got = kNone;
    std::size_t blocks = 0, taken = 0;
  };
  std::map<int, Source> sources;
  for (const Crossing& block : message.blocks) ++sources[block.from].blocks;
  for (auto& [rank, source] : sources) {
    if (rank == spec_.rank) continue;
    source.list = list_of(message, source.blocks);
    source.got = b_.recv(rank, source.list);
  }
  StepId ready = kNone;
  for (std::size_t i = 0; i < message.blocks.size(); ++i) {
    Source& source = sources[message.blocks[i].from];
    const Piece block =
        source.got == kNone ? own_block(message, message.blocks[i]) : list_block(source.list, source.taken++);
    ready = b_.copy(block, list_block(list, i), {ready, source.got});
  }
  return ready;
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
    const Piece part = list_of(message, mine.count);
    return deliver(message, part, mine.first, b_.recv(from, part));
  }
  const Piece all = list_of(message, message.blocks.size());
  b_.round(kFirstTag);
  const StepId got = b_.recv(forwarder(remote, own), all);
  set_tag(remote, false);
  for (const int rank : all_->cluster.on_host(own))
    if (rank != spec_.rank) send_part(message, all, rank, got);
  deliver(message, all, 0, got);
}

void HostMessages::send_part(const Message& message, const Piece& all, int rank, StepId got) noexcept {
  const Part part = part_of(message, rank);
  if (part.count == 0) return;
  if (part.count == message.blocks.size()) {
    b_.send(rank, filled_part(all), {got});
    return;
  }
  const Piece list = list_of(message, part.count);
  StepId ready = got;
  for (std::size_t i = 0; i < part.count; ++i)
    ready = b_.copy(list_block(all, part.first + i), list_block(list, i), {ready});
  b_.send(rank, filled_part(list), {ready});
}

// `list` begins with block `first` of the message.
void HostMessages::deliver(const Message& message, const Piece& list, std::size_t first,
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
    const Piece to = spec_.recv.block(index_of(spec_.neighbors->sources, edge.from, edge.number));
    if (to.bytes <= message.longest) b_.copy(list_block(list, block - first), to, {got});
  }
}

}  // namespace herald::coll
