// SPDX-License-Identifier: BSD-3-Clause
#include "watch/rank_view.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <utility>

#include "watch/deadlock.hpp"

namespace herald::watch {
namespace {

constexpr std::size_t kMostLines = 32;

std::string op_text(const WaitedOp& op, bool alone) {
  std::string text;
  switch (op.kind) {
    case WaitedKind::receive: text = alone ? "from " : "receive from "; break;
    case WaitedKind::send: text = alone ? "to " : "send to "; break;
    case WaitedKind::collective: return alone ? "" : "a collective";
    case WaitedKind::other: return alone ? "" : "an operation";
  }
  text += op.peer < 0 ? "any rank" : std::to_string(op.member >= 0 ? op.member : op.peer);
  text += op.exact_tag ? ", tag " + std::to_string(op.tag) : ", any tag";
  return text;
}

bool is_wait_of_request(const ShownWait& wait) {
  return std::string(wait.call.data()).rfind("MPI_Wait", 0) == 0;
}

std::string unexpected_text(const ShownWait& wait) {
  std::string text;
  for (std::uint32_t i = 0; i < wait.unexpected_count; ++i)
    text += (i == 0 ? "; " : ", ") + std::to_string(wait.unexpected[i].messages) +
            (wait.unexpected[i].messages == 1 ? " unexpected message from " : " unexpected messages from ") +
            std::to_string(wait.unexpected[i].peer);
  return text;
}

const char* phase_text(RankPhase phase) {
  switch (phase) {
    case RankPhase::starting: return "in MPI_Init";
    case RankPhase::running: return "waits for nothing in MPI (it computes, or polls)";
    case RankPhase::finalizing: return "in MPI_Finalize";
    case RankPhase::ended: return "has ended MPI";
  }
  return "";
}

// "0-3, 5"
std::string ranks_text(const std::vector<int>& ranks) {
  std::string text;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    text += (text.empty() ? "" : ", ") + std::to_string(ranks[i]);
    if (end - i > 1) text += "-" + std::to_string(ranks[end - 1]);
    i = end;
  }
  return text;
}

// Without the rank's number and the time.
std::string state_text(const RankView& view) {
  std::string text;
  for (const ShownWait& wait : view.waits)
    text += (text.empty() ? "" : "; another thread: ") + wait_text(wait);
  return text.empty() ? phase_text(view.phase) : text;
}

std::int64_t waited_ns(const RankView& view) {
  std::int64_t longest = 0;
  for (const ShownWait& wait : view.waits) longest = std::max(longest, view.read_ns - wait.since_ns);
  return longest;
}

void add_grouped(const std::vector<RankView>& views, std::vector<std::string>& out) {
  std::map<std::pair<std::string, std::string>, std::vector<const RankView*>> alike;
  std::vector<std::pair<std::string, std::string>> order;
  for (const RankView& view : views) {
    auto& group = alike[{view.host, state_text(view)}];
    if (group.empty()) order.emplace_back(view.host, state_text(view));
    group.push_back(&view);
  }
  for (const auto& key : order) {
    std::vector<int> ranks;
    std::int64_t longest = 0;
    for (const RankView* view : alike[key]) {
      ranks.push_back(view->rank);
      longest = std::max(longest, waited_ns(*view));
    }
    if (ranks.size() == 1) {
      out.push_back(rank_text(*alike[key].front()));
      continue;
    }
    out.push_back("ranks " + ranks_text(ranks) + " on " + key.first + ": " + key.second +
                  (longest > 0 ? ", for up to " + duration_text(longest) : ""));
  }
}

}  // namespace

std::string duration_text(std::int64_t ns) {
  char text[64];
  const double s = static_cast<double>(ns) / 1e9;
  if (s < 60)
    std::snprintf(text, sizeof text, "%.1f s", s);
  else if (s < 3600)
    std::snprintf(text, sizeof text, "%d min %d s", static_cast<int>(s) / 60, static_cast<int>(s) % 60);
  else
    std::snprintf(text, sizeof text, "%d h %d min", static_cast<int>(s) / 3600,
                  static_cast<int>(s) / 60 % 60);
  return text;
}

std::string wait_text(const ShownWait& wait) {
  std::string text = wait.call.data();
  const bool alone = wait.total == 1 && !is_wait_of_request(wait);
  if (wait.total > 1)
    text += (wait.any ? " for one of " : " for ") + std::to_string(wait.total) + " operations:";
  else if (wait.total == 1 && !alone)
    text += " for";
  for (std::uint32_t i = 0; i < wait.shown; ++i) {
    const std::string op = op_text(wait.ops[i], alone);
    if (!op.empty()) text += (i == 0 ? " " : "; ") + op;
  }
  if (wait.total > wait.shown) text += "; ...";
  if (wait.comm[0] != '\0') text += std::string(", ") + wait.comm.data();
  return text;
}

std::string rank_text(const RankView& view) {
  std::string text = "rank " + std::to_string(view.rank) + " on " + view.host + ": " + state_text(view);
  if (!view.waits.empty()) text += ", for " + duration_text(waited_ns(view)) + unexpected_text(view.waits[0]);
  return text;
}

std::vector<std::string> job_text(std::vector<RankView> views) {
  std::sort(views.begin(), views.end(), [](const RankView& a, const RankView& b) { return a.rank < b.rank; });
  std::vector<std::string> out;
  if (views.size() <= kMostLines)
    for (const RankView& view : views) out.push_back(rank_text(view));
  else
    add_grouped(views, out);
  for (std::string& line : find_deadlocks(views)) out.push_back(std::move(line));
  for (std::string& line : find_mismatches(views)) out.push_back(std::move(line));
  return out;
}

}  // namespace herald::watch
