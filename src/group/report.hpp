// SPDX-License-Identifier: BSD-3-Clause
// group/report.hpp: multicast that does not arrive is told a person once: by one rank, in one line.
//   Witness  every rank: which members do not hear it, and since when. What lasts is worth a notice.
//   Report   the rank that prints: gathers notices for a moment, then has one line, and never another.
// In:  what lanes see; notices; the time. Out: notices for the rank that prints; the line.
// A member that hears again within kPatience is not worth a notice: it joined late, or the switch was slow.
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

constexpr Duration kPatience = milliseconds(500);
constexpr Duration kPatienceAtEnd = milliseconds(100);  // with one that has never heard us
constexpr Duration kGather = milliseconds(500);         // after the last member that is new ...
constexpr Duration kGatherMost = milliseconds(2000);    // ... and the first

// Of one member: it does not hear the group at all (loses = 0), or loses so many in a hundred.
struct Notice {
  std::int32_t member = 0;
  std::uint32_t loses = 0;
};

class Witness {
 public:
  void on_hearing(Instant now, std::int32_t lane, std::int32_t member, bool hears);
  void on_loss(std::int32_t me, std::uint32_t percent);
  // Each member once. `at_end`: there is no other time to tell.
  std::vector<Notice> take_due(Instant now, bool at_end);
  Instant next_deadline() const noexcept;  // kNever: none

 private:
  std::map<std::pair<std::int32_t, std::int32_t>, Instant> deaf_;  // lane and member, since
  std::set<std::int32_t> told_, heard_;
  std::vector<Notice> ready_;
  bool told_loss_ = false;
};

class Report {
 public:
  using HostOf = std::function<std::string(std::int32_t rank)>;

  void add(Instant now, std::int32_t from, const Notice& notice);
  // Notices have come and the time to gather them is over; the line is wanted once.
  bool is_due(Instant now, bool at_end) const noexcept;
  Instant next_deadline() const noexcept;
  std::string take_line(const HostOf& host_of);

 private:
  std::map<std::int32_t, std::uint32_t> members_;  // as in Notice
  std::set<std::int32_t> sources_;
  Instant due_ = rel::kNever, latest_{};
  bool told_ = false;
};

}  // namespace herald::group
