// SPDX-License-Identifier: BSD-3-Clause
#include "watch/deadlock.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace herald::watch {
namespace {

class Graph {
 public:
  explicit Graph(const std::vector<RankView>& views) {
    for (const RankView& view : views) {
      ranks_[view.rank] = &view;
      if (is_candidate(view)) stuck_.insert(view.rank);
    }
    bool changed = true;
    while (changed) {
      changed = false;
      for (const auto& [rank, view] : ranks_) {
        if (stuck_.count(rank) == 0 || is_stuck(*view)) continue;
        stuck_.erase(rank);
        changed = true;
      }
    }
  }

  // For each stuck rank one rank that it needs in vain; -1: any.
  std::map<int, int> edges() const {
    std::map<int, int> out;
    for (const int rank : stuck_) out[rank] = culprit_of(*ranks_.at(rank), ranks_.at(rank)->waits[0]);
    return out;
  }
  bool has_left(int rank) const {
    const auto found = ranks_.find(rank);
    return found != ranks_.end() &&
           (found->second->phase == RankPhase::finalizing || found->second->phase == RankPhase::ended);
  }

 private:
  static constexpr int kNone = -2, kAny = -1;

  static bool is_candidate(const RankView& view) {
    if (view.waits.empty() || view.phase != RankPhase::running) return false;
    return std::all_of(view.waits.begin(), view.waits.end(), [&](const ShownWait& wait) {
      return view.read_ns - wait.since_ns >= kLeastWaitNs && wait.shown == wait.total;
    });
  }
  bool cannot_act(int rank) const { return stuck_.count(rank) != 0 || has_left(rank); }
  bool is_stuck(const RankView& view) const {
    return std::all_of(view.waits.begin(), view.waits.end(),
                       [&](const ShownWait& wait) { return culprit_of(view, wait) != kNone; });
  }

  // A rank that makes the wait hopeless.
  int culprit_of(const RankView& view, const ShownWait& wait) const {
    int first = kNone;
    for (std::uint32_t i = 0; i < wait.shown; ++i) {
      const int found = culprit_of(view, wait, wait.ops[i]);
      if (wait.any && found == kNone) return kNone;
      if (first == kNone) first = found;
    }
    return first;
  }
  int culprit_of(const RankView& view, const ShownWait& wait, const WaitedOp& op) const {
    switch (op.kind) {
      case WaitedKind::receive:
      case WaitedKind::send:
        if (op.peer >= 0) return op.peer != view.rank && cannot_act(op.peer) ? op.peer : kNone;
        return no_member_can_act(view, wait) ? kAny : kNone;
      case WaitedKind::collective: return absent_member(view, wait);
      case WaitedKind::other: break;
    }
    return kNone;
  }
  bool no_member_can_act(const RankView& view, const ShownWait& wait) const {
    if (wait.member_count <= 1) return false;
    return std::all_of(wait.members.begin(), wait.members.begin() + wait.member_count,
                       [&](int member) { return member == view.rank || cannot_act(member); });
  }
  // A member that cannot act and waits for something else than a collective of this communicator.
  int absent_member(const RankView& view, const ShownWait& wait) const {
    for (std::uint32_t i = 0; i < wait.member_count; ++i) {
      const int member = wait.members[i];
      if (member == view.rank || !cannot_act(member)) continue;
      if (has_left(member) || !is_in_collective(*ranks_.at(member), wait.context)) return member;
    }
    return kNone;
  }
  static bool is_in_collective(const RankView& view, std::uint64_t context) {
    for (const ShownWait& wait : view.waits)
      for (std::uint32_t i = 0; i < wait.shown; ++i)
        if (wait.ops[i].kind == WaitedKind::collective && wait.context == context) return true;
    return false;
  }

  std::map<int, const RankView*> ranks_;
  std::set<int> stuck_;
};

bool waits_long_in_collective(const RankView& view, const ShownWait& wait) {
  if (view.phase != RankPhase::running || view.read_ns - wait.since_ns < kLeastMismatchNs) return false;
  return wait.total == 1 && wait.shown == 1 && wait.ops[0].kind == WaitedKind::collective;
}

std::string rank_name(int rank) { return "rank " + std::to_string(rank); }

}  // namespace

std::vector<std::string> find_deadlocks(const std::vector<RankView>& views) {
  const Graph graph(views);
  const std::map<int, int> edges = graph.edges();
  std::vector<std::string> out;
  std::set<int> told;
  for (const auto& [start, first] : edges) {
    std::vector<int> way;
    int at = start;
    while (edges.count(at) != 0 && told.insert(at).second) {
      way.push_back(at);
      at = edges.at(at);
    }
    if (way.empty()) continue;
    const auto again = std::find(way.begin(), way.end(), at);
    if (again != way.end()) {
      std::string text = "deadlock: ";
      for (auto each = again; each != way.end(); ++each)
        text += rank_name(*each) + " waits for " + rank_name(edges.at(*each)) +
                (each + 1 == way.end() ? "" : ", ");
      out.push_back(text);
    } else if (at == -1) {
      out.push_back("deadlock: " + rank_name(way.back()) + " waits for any rank, and no rank can send to it");
    } else if (graph.has_left(at)) {
      out.push_back("deadlock: " + rank_name(way.back()) + " waits for " + rank_name(at) +
                    ", which has called MPI_Finalize");
    }
  }
  return out;
}

std::vector<std::string> find_mismatches(const std::vector<RankView>& views) {
  std::map<std::pair<std::uint64_t, std::int32_t>, std::set<int>> waiting;  // by context and first member
  std::vector<std::string> out;
  for (const RankView& view : views) {
    for (const ShownWait& wait : view.waits) {
      if (wait.member_count < 2 || !waits_long_in_collective(view, wait)) continue;
      std::set<int>& ranks = waiting[{wait.context, wait.members[0]}];
      ranks.insert(view.rank);
      if (ranks.size() != wait.member_count) continue;
      out.push_back("all ranks of " + std::string(wait.comm.data()) +
                    " wait in collectives: if they do not go on, their calls differ in kind, order or size; "
                    "HERALD_CHECK=collectives names them");
    }
  }
  return out;
}

}  // namespace herald::watch
