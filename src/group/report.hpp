// SPDX-License-Identifier: BSD-3-Clause
// group/report.hpp: reports multicast that does not arrive to the user, once: by one rank, in one line.
//   MulticastMonitor  every rank: which members receive no multicast of ours, and since when
//   MulticastReport   the rank that prints: gathers notices for a moment, then has one line, and no other
// In:  what lanes observe; notices; the time. Out: notices for the rank that prints; the line.
// A member that receives multicast within kReportAfter causes no notice: it joined late, or the switch was
// slow.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/instant.hpp"
#include "rel/link.hpp"

namespace herald::group {

constexpr Duration kReportAfter = milliseconds(500);
constexpr Duration kReportAfterAtEnd = milliseconds(100);  // a member that never received our multicast
constexpr Duration kGather = milliseconds(500);            // after the last new member ...
constexpr Duration kGatherMost = milliseconds(2000);       // ... and the first

// A member receives no multicast at all (loses = 0), or loses so many percent of it.
struct Notice {
  std::int32_t member = 0;
  std::uint32_t loses = 0;
};

class MulticastMonitor {
 public:
  void on_reachability(Instant now, std::int32_t lane, std::int32_t member, bool receives);
  void on_loss(std::int32_t me, std::uint32_t percent);
  // Each member once. `at_end`: the job ends, there is no later time.
  std::vector<Notice> take_due(Instant now, bool at_end);
  Instant next_deadline() const noexcept;  // kNever: none

 private:
  std::map<std::pair<std::int32_t, std::int32_t>, Instant> unreached_;  // lane and member, since
  std::set<std::int32_t> reported_, reached_;
  std::vector<Notice> ready_;
  bool reported_loss_ = false;
};

class MulticastReport {
 public:
  using HostOf = std::function<std::string(std::int32_t rank)>;

  void add(Instant now, std::int32_t from, const Notice& notice);
  // Notices came and the time to gather them is over; there is one line only.
  bool is_due(Instant now, bool at_end) const noexcept;
  Instant next_deadline() const noexcept;
  std::string take_line(const HostOf& host_of);

 private:
  std::map<std::int32_t, std::uint32_t> members_;  // as in Notice
  std::set<std::int32_t> sources_;
  Instant due_ = rel::kNever, latest_{};
  bool taken_ = false;
};

}  // namespace herald::group
