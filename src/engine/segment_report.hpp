// SPDX-License-Identifier: BSD-3-Clause
// engine/segment_report.hpp: tells the user that the way to a host drops packets of full size. Once for each
// host: its other ranks have the same port.
#pragma once
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "node/config.hpp"

namespace herald::engine {

class SegmentReport {
 public:
  explicit SegmentReport(int rank) noexcept : rank_(rank) {}

  void print(const node::NodeEvent& event, const std::string& host, const std::string& link) noexcept {
    if (std::find(reported_.begin(), reported_.end(), host) != reported_.end()) return;
    reported_.push_back(host);
    constexpr std::uint32_t kUdpIp4 = 28;
    const std::uint32_t full = event.full + kUdpIp4, passes = event.amount + kUdpIp4;
    std::fprintf(stderr,
                 "herald: rank %d: packets of %u bytes do not reach host %s (%s), those of %u do: a port or "
                 "tunnel on the way drops them although both interfaces allow an MTU of %u. Smaller ones are "
                 "sent; cure: set the MTU of both hosts to %u, or that of the port to %u\n",
                 rank_, full, host.c_str(), link.c_str(), passes, full, passes, full);
  }

 private:
  const int rank_;
  std::vector<std::string> reported_;  // hosts
};

}  // namespace herald::engine
