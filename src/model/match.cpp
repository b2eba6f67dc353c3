// SPDX-License-Identifier: BSD-3-Clause
// model/match.cpp: which receive gets which message, and which shared-memory step waits for which.
#include <algorithm>
#include <bit>

#include "model/evaluator.hpp"

namespace herald::model {

std::uint32_t Evaluator::add_node(Kind kind, std::int32_t rank, double bytes, std::uint32_t needs) noexcept {
  Node node;
  node.kind = kind;
  node.rank = rank;
  node.bytes = bytes;
  node.needs = needs;
  nodes_.push_back(node);
  return static_cast<std::uint32_t>(nodes_.size() - 1);
}

void Evaluator::add_edge(std::uint32_t from, std::uint32_t to, bool at_start) noexcept {
  edges_.push_back({to, nodes_[from].edges, at_start});
  nodes_[from].edges = static_cast<std::uint32_t>(edges_.size() - 1);
  ++nodes_[to].needs;
}

void Evaluator::pair(std::uint32_t send, std::uint32_t recv) noexcept {
  nodes_[recv].source = send;
  nodes_[recv].next_receiver = nodes_[send].receivers;
  nodes_[send].receivers = recv;
}

// Open addressing: the table has twice as many places as there are messages.
Evaluator::Chain& Evaluator::chain(std::int32_t from, std::int32_t to, std::uint8_t tag) noexcept {
  const std::uint64_t key =
      (static_cast<std::uint64_t>(from) << 36 | static_cast<std::uint64_t>(to) << 8 | std::uint64_t{tag}) + 1;
  std::size_t at = (key * 0x9e3779b97f4a7c15u) >> 32 & (chains_.size() - 1);
  while (chains_[at].key != 0 && chains_[at].key != key) at = (at + 1) & (chains_.size() - 1);
  chains_[at].key = key;
  return chains_[at];
}

bool Evaluator::match() noexcept {
  const Schedule& all = *schedule_;
  return (all.symmetric ? match_symmetric() : match_ranks()) && match_fused();
}

// The k-th message of a tag arrives in the k-th receive of that tag; the k-th cast in the k-th receive from
// each partner.
bool Evaluator::match_symmetric() noexcept {
  std::array<std::vector<std::uint32_t>, 256> sends, casts;
  const auto steps = static_cast<std::uint32_t>(schedule_->steps.size() - 1);
  for (std::uint32_t i = 0; i < steps; ++i) {
    const Step& step = schedule_->steps[i];
    if (step.kind == Kind::send) sends[step.tag].push_back(i);
    if (step.kind == Kind::cast) casts[step.tag].push_back(i);
  }
  std::array<std::uint32_t, 256> taken{};
  chains_.assign(std::bit_ceil(std::size_t{2} * steps + 2), {});
  for (std::uint32_t i = 0; i < steps; ++i) {
    const Step& step = schedule_->steps[i];
    if (step.kind != Kind::recv) continue;
    std::uint32_t index = taken[step.tag];
    const std::vector<std::uint32_t>* from = &sends[step.tag];
    if (!casts[step.tag].empty()) {
      if (!from->empty()) return false;
      from = &casts[step.tag];
      Chain& seen = chain(step.partner, 0, step.tag);
      index = ++seen.head;  // kNobody + 1 is 0
    } else {
      ++taken[step.tag];
    }
    if (index >= from->size() || schedule_->steps[(*from)[index]].bytes != step.bytes) return false;
    pair((*from)[index], i);
  }
  for (std::size_t tag = 0; tag < sends.size(); ++tag)
    if (taken[tag] != sends[tag].size()) return false;
  return true;
}

bool Evaluator::match_ranks() noexcept {
  const Schedule& all = *schedule_;
  const auto steps = static_cast<std::uint32_t>(all.steps.size() - 1);
  std::size_t messages = 0;
  for (std::uint32_t i = 0; i < steps; ++i)
    messages +=
        all.steps[i].kind == Kind::send || all.steps[i].kind == Kind::recv || all.steps[i].kind == Kind::cast
            ? static_cast<std::size_t>(all.steps[i].kind == Kind::cast ? all.ranks : 1)
            : 0;
  chains_.assign(std::bit_ceil(2 * messages + 2), {});
  for (std::uint32_t i = 0; i < steps; ++i) {
    if (all.steps[i].kind != Kind::recv) continue;
    Chain& queue = chain(all.steps[i].partner, nodes_[i].rank, all.steps[i].tag);
    if (queue.head == kNobody)
      queue.head = i;
    else
      nodes_[queue.tail].next_receiver = i;
    queue.tail = i;
  }
  // A multicast reaches the first rank of each host.
  std::vector<std::int32_t> leaders;
  std::vector<bool> seen(ports_.size(), false);
  for (std::int32_t rank = 0; rank < all.ranks; ++rank) {
    if (!seen[static_cast<std::size_t>(host_of(rank))]) leaders.push_back(rank);
    seen[static_cast<std::size_t>(host_of(rank))] = true;
  }
  const auto take = [&](std::uint32_t send, std::int32_t to) {
    Chain& queue = chain(nodes_[send].rank, to, all.steps[send].tag);
    if (queue.head == kNobody) return false;
    const std::uint32_t recv = queue.head;
    queue.head = nodes_[recv].next_receiver;
    pair(send, recv);
    return true;
  };
  for (std::uint32_t i = 0; i < steps; ++i) {
    if (all.steps[i].kind == Kind::send && !take(i, all.steps[i].partner)) return false;
    if (all.steps[i].kind != Kind::cast) continue;
    for (const std::int32_t to : leaders)
      if (host_of(to) != host_of(nodes_[i].rank)) take(i, to);
  }
  for (std::uint32_t i = 0; i < steps; ++i)
    if (all.steps[i].kind == Kind::recv && nodes_[i].source == kNobody) return false;
  return true;
}

// The root of a fused exchange receives each contribution; each contributor receives the announcement.
bool Evaluator::match_fused() noexcept {
  const auto steps = static_cast<std::uint32_t>(schedule_->steps.size() - 1);
  std::uint32_t gather = kNobody, announce = kNobody;
  std::vector<std::uint32_t> contributions;
  for (std::uint32_t i = 0; i < steps; ++i) {
    const Kind kind = schedule_->steps[i].kind;
    if (kind == Kind::gather) gather = i;
    if (kind == Kind::announce) announce = i;
    if (kind == Kind::contribute) contributions.push_back(i);
  }
  if (contributions.empty()) return gather == kNobody;
  if (gather == kNobody || announce == kNobody) return false;
  for (const std::uint32_t each : contributions) {
    const std::uint32_t arrival = add_node(Kind::recv, nodes_[gather].rank, nodes_[each].bytes, 0);
    pair(each, arrival);
    add_edge(arrival, gather);
    const std::uint32_t result = add_node(Kind::recv, nodes_[each].rank, nodes_[announce].bytes, 0);
    nodes_[result].step = each;  // completes it
    pair(announce, result);
  }
  return true;
}

// Posts, barrier words and streams of one host become edges between the steps of its ranks.
void Evaluator::add_shared_edges() noexcept {
  const Schedule& all = *schedule_;
  const auto steps = static_cast<std::uint32_t>(all.steps.size() - 1);
  constexpr std::size_t kNumbers = 8;  // of posts or barrier words, both parts
  const auto number = [](const Step& step) {
    return static_cast<std::size_t>(step.tag % (kNumbers / 2)) + (step.second ? kNumbers / 2 : 0);
  };
  const auto count = static_cast<std::size_t>(all.symmetric ? 1 : all.ranks);
  std::vector<std::uint32_t> posts, writers, words;
  bool any = false;
  for (std::uint32_t i = 0; i < steps && !any; ++i) any = all.steps[i].kind >= Kind::post;
  if (!any) return;
  posts.assign(count * kNumbers, kNobody);
  writers.assign(count, kNobody);
  words.assign(ports_.size() * kNumbers, kNobody);
  const auto word_of = [&](std::uint32_t i, std::size_t index) {
    std::uint32_t& word = words[static_cast<std::size_t>(host_of(nodes_[i].rank)) * kNumbers + index];
    if (word == kNobody) word = add_node(Kind::none, nodes_[i].rank, 0, 0);
    return word;
  };
  for (std::uint32_t i = 0; i < steps; ++i) {
    const Step& step = all.steps[i];
    const auto rank = static_cast<std::size_t>(nodes_[i].rank);
    if (step.kind == Kind::post) posts[rank * kNumbers + number(step)] = i;
    if (step.kind == Kind::stream_write || step.kind == Kind::stream_reduce) writers[rank] = i;
    if (step.kind == Kind::arrive) add_edge(i, word_of(i, number(step)));
    if (step.kind != Kind::combine) continue;
    const std::uint32_t word = word_of(i, number(step)), next = word_of(i, number(step) + 1);
    if (nodes_[word].kind == Kind::none) {
      nodes_[word].kind = Kind::combine;
      nodes_[word].bytes = step.bytes * (all.symmetric ? all.ranks : all.ranks_per_host);
      add_edge(word, next);
    }
    add_edge(i, word);
  }
  const auto partner = [&](const Step& step) {
    return all.symmetric ? 0 : static_cast<std::size_t>(step.partner);
  };
  for (std::uint32_t i = 0; i < steps; ++i) {
    const Step& step = all.steps[i];
    if (step.kind == Kind::fetch || step.kind == Kind::put) {
      const std::uint32_t post = posts[partner(step) * kNumbers + number(step)];
      if (post != kNobody && post != i) add_edge(post, i);
    }
    if (step.kind == Kind::wait_arrived) add_edge(word_of(i, number(step)), i);
    if (step.kind == Kind::stream_read && writers[partner(step)] != kNobody && writers[partner(step)] != i)
      add_edge(writers[partner(step)], i, true);
    if (step.kind != Kind::stream_reduce || all.symmetric) continue;
    for (std::size_t r = 0; r < count; ++r)
      if (writers[r] != kNobody && writers[r] != i && all.steps[writers[r]].kind == Kind::stream_write &&
          host_of(static_cast<std::int32_t>(r)) == host_of(nodes_[i].rank))
        add_edge(writers[r], i, true);
  }
}

}  // namespace herald::model
