// SPDX-License-Identifier: BSD-3-Clause
// node/reports.hpp: members that do not receive multicast, or lose much of it, told to the rank that prints.
// In:  what the lanes have seen; notices of other ranks. Out: notices to the reporter; there, a line to
// print.
#pragma once
#include <algorithm>
#include <string>
#include <vector>

#include "group/report.hpp"
#include "node/config.hpp"
#include "node/udp_report.hpp"
#include "p2p/core.hpp"
#include "p2p/lane_carrier.hpp"
#include "p2p/lane_registry.hpp"
#include "p2p/notices.hpp"

namespace herald::node {

class Reports {
 public:
  Reports(PeerId me, PeerId reporter, p2p::Core& core, p2p::LaneCarrier& carrier,
          const p2p::LaneRegistry& registry, std::vector<NodeEvent>& events) noexcept
      : me_(me),
        reporter_(reporter),
        notices_(core),
        carrier_(carrier),
        registry_(registry),
        events_(events) {}

  // The line that the reporter is to print, or an empty one. `at_end`: the job ends, nothing waits any
  // longer.
  std::string update(Instant now, const group::MulticastReport::HostOf& host_of, bool at_end) noexcept;
  // UDP does not pass between us and the peer. Then, on the reporter: the pairs of hosts to name, or nothing.
  void on_no_udp(PeerId peer) { no_udp_.push_back(peer); }
  std::string take_no_udp(Instant now, const group::MulticastReport::HostOf& host_of, bool at_end) noexcept {
    return udp_report_.take(now, host_of, at_end);
  }
  bool is_due(Instant now) const noexcept {
    return now >= next_deadline() || !notices_.empty() || !no_udp_.empty();
  }
  Instant next_deadline() const noexcept {
    return std::min({monitor_.next_deadline(), report_.next_deadline(), udp_report_.next_deadline()});
  }

 private:
  void take_news(Instant now) noexcept;

  const PeerId me_, reporter_;
  p2p::Notices notices_;
  p2p::LaneCarrier& carrier_;
  const p2p::LaneRegistry& registry_;
  std::vector<NodeEvent>& events_;
  group::MulticastMonitor monitor_;
  group::MulticastReport report_;  // of the reporter
  UdpReport udp_report_;           // likewise
  std::vector<PeerId> no_udp_;     // to be told
};

}  // namespace herald::node
