// SPDX-License-Identifier: BSD-3-Clause
// node/udp_report.hpp: tells the user once, by one rank, between which hosts UDP does not pass.
// In:  pairs of ranks, from all ranks. Out: after a moment, the pairs of hosts as text; nothing after that.
#pragma once
#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "group/report.hpp"
#include "node/config.hpp"

namespace herald::node {

class UdpReport {
 public:
  void add(Instant now, PeerId one, PeerId other) {
    if (taken_) return;
    pairs_.insert({std::min(one, other), std::max(one, other)});
    if (due_ == rel::kNever) due_ = now + group::kGather;
  }
  Instant next_deadline() const noexcept { return taken_ ? rel::kNever : due_; }
  // "a and b, a and c"; empty: nothing is due.
  std::string take(Instant now, const group::MulticastReport::HostOf& host_of, bool at_end) {
    if (taken_ || pairs_.empty() || (!at_end && now < due_)) return {};
    taken_ = true;
    std::set<std::string> texts;
    for (const auto& [one, other] : pairs_) texts.insert(host_of(one) + " and " + host_of(other));
    std::string all;
    std::size_t named = 0;
    for (const std::string& text : texts) {
      if (++named > kMostNamed) break;
      all += (all.empty() ? "" : ", ") + text;
    }
    if (texts.size() > kMostNamed) all += " and " + std::to_string(texts.size() - kMostNamed) + " more pairs";
    return all;
  }

 private:
  static constexpr std::size_t kMostNamed = 8;
  std::set<std::pair<PeerId, PeerId>> pairs_;
  Instant due_ = rel::kNever;
  bool taken_ = false;
};

}  // namespace herald::node
