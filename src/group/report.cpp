// SPDX-License-Identifier: BSD-3-Clause
#include "group/report.hpp"

#include <algorithm>

namespace herald::group {
namespace {

constexpr std::size_t kMaxNamed = 8;  // hosts, in one line

// The first kMaxNamed names.
std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kMaxNamed); ++i) text += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > kMaxNamed) text += " and " + std::to_string(names.size() - kMaxNamed) + " more";
  return text;
}

void add_once(std::vector<std::string>& names, const std::string& name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

}  // namespace

void MulticastMonitor::on_reachability(Instant now, std::int32_t lane, std::int32_t member, bool receives) {
  if (receives) {
    unreached_.erase({lane, member});
    reached_.insert(member);
  } else {
    unreached_.try_emplace({lane, member}, now);
  }
}

void MulticastMonitor::on_loss(std::int32_t me, std::uint32_t percent) {
  if (!std::exchange(reported_loss_, true)) ready_.push_back({me, std::max(percent, 1u)});
}

std::vector<Notice> MulticastMonitor::take_due(Instant now, bool at_end) {
  for (auto at = unreached_.begin(); at != unreached_.end();) {
    // On a busy machine a member that receives multicast may be late, and no packet follows the last call.
    const bool short_of_time = at_end && !reached_.contains(at->first.second);
    if (now - at->second < (short_of_time ? kReportAfterAtEnd : kReportAfter)) {
      ++at;
      continue;
    }
    if (reported_.insert(at->first.second).second) ready_.push_back({at->first.second, 0});
    at = unreached_.erase(at);
  }
  return std::exchange(ready_, {});
}

Instant MulticastMonitor::next_deadline() const noexcept {
  Instant at = ready_.empty() ? rel::kNever : Instant{};
  for (const auto& entry : unreached_) at = std::min(at, entry.second + kReportAfter);
  return at;
}

void MulticastReport::add(Instant now, std::int32_t from, const Notice& notice) {
  if (taken_) return;
  const auto [at, is_new] = members_.try_emplace(notice.member, notice.loses);
  if (!is_new && notice.loses == 0) at->second = 0;
  if (notice.loses == 0) sources_.insert(from);
  if (due_ == rel::kNever) latest_ = now + kGatherMost;
  if (due_ == rel::kNever || is_new) due_ = std::min(now + kGather, latest_);
}

bool MulticastReport::is_due(Instant now, bool at_end) const noexcept {
  return !taken_ && due_ != rel::kNever && (at_end || now >= due_);
}

Instant MulticastReport::next_deadline() const noexcept { return taken_ ? rel::kNever : due_; }

std::string MulticastReport::take_line(const HostOf& host_of) {
  taken_ = true;
  std::vector<std::string> unreached, losing, sources;
  std::uint32_t worst = 0;
  for (const auto& [member, loses] : members_) {
    if (loses == 0) add_once(unreached, host_of(member));
    worst = std::max(worst, loses);
  }
  for (const auto& [member, loses] : members_)
    if (loses != 0 && std::find(unreached.begin(), unreached.end(), host_of(member)) == unreached.end())
      add_once(losing, host_of(member));
  for (const std::int32_t source : sources_) add_once(sources, host_of(source));
  std::string text;
  if (!unreached.empty()) {
    text = "multicast from " + joined(sources) + " does not reach " + joined(unreached) +
           "; those hosts are served by unicast, which is slower, and multicast is tried again now and then";
  }
  if (!losing.empty()) {
    text += text.empty() ? "" : "; ";
    text += "up to " + std::to_string(worst) + " % of the multicast to " + joined(losing) +
            " is lost and sent again";
  }
  return text +
         ". Look at the switch (IGMP snooping needs an IGMP querier) and at firewalls (UDP to "
         "239.192.0.0/14); `herald doctor` under the launcher tells who hears whom; HERALD_LANES=off does "
         "without multicast";
}

}  // namespace herald::group
