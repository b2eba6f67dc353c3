// SPDX-License-Identifier: BSD-3-Clause
// engine/silence_report.hpp: prints which peers do not answer, and what the reason may be. Once for each
// host: its other ranks are silent for the same reason.
#pragma once
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "base/knobs.hpp"
#include "node/config.hpp"

namespace herald::engine {

class SilenceReport {
 public:
  SilenceReport(int rank, const Knobs& knobs) noexcept
      : rank_(rank), warn_ms_(knobs.warn_ms), detect_ms_(knobs.detect_ms) {}
  // `event`: peer_silent or peer_answers.
  void print(const node::NodeEvent& event, const std::string& host) noexcept {
    const auto known = std::find(hosts_.begin(), hosts_.end(), host);
    if (event.kind == node::NodeEvent::Kind::peer_answers) {
      if (known == hosts_.end()) return;
      hosts_.erase(known);
      std::fprintf(stderr, "herald: rank %d: rank %d on host %s answers again\n", rank_, event.peer,
                   host.c_str());
      return;
    }
    if (known != hosts_.end()) return;
    hosts_.push_back(host);
    std::fprintf(stderr,
                 "herald: rank %d: rank %d on host %s has not answered for %g s (HERALD_WARN_MS): %s. It is "
                 "given up after %g s (HERALD_DETECT_MS)\n",
                 rank_, event.peer, host.c_str(), static_cast<double>(warn_ms_) / 1000,
                 event.amount != 0 ? "its host, its cable or a switch may have failed"
                                   : "nothing ever came from it by UDP or TCP, so a firewall may drop both",
                 static_cast<double>(detect_ms_) / 1000);
  }

 private:
  const int rank_;
  const std::int64_t warn_ms_, detect_ms_;
  std::vector<std::string> hosts_;  // that were reported
};

}  // namespace herald::engine
