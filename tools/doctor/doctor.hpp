// SPDX-License-Identifier: BSD-3-Clause
// tools/doctor/doctor.hpp: the parts of `herald doctor`. Each host describes itself and its links in JSON,
// which is exchanged, diagnosed and printed (docs/doctor.md).
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/knobs.hpp"

namespace herald::tools::doctor {

using nlohmann::json;

// This host: system, interfaces, limits, shared memory, CMA, clock, launchers.
json facts_of_host(const Knobs& knobs);
// Packets with a wrong checksum that have come to this host so far.
std::int64_t count_damaged();

// The lowest rank of a host.
struct HostLeader {
  int rank = 0;
  std::string card;          // of its sockets
  std::uint64_t secret = 0;  // random number that probes to it must hold
};

// Sends datagrams to all other leaders and replies to theirs, for 1.5 to kMostProbeSeconds. Opened before the
// cards are exchanged.
inline constexpr int kMostProbeSeconds = 4;
class Prober {
 public:
  Prober(const Knobs& knobs, int rank, int size);
  ~Prober();
  Prober(const Prober&) = delete;
  Prober& operator=(const Prober&) = delete;

  // Empty, with problem(), if no socket could be opened.
  std::string card() const;
  const std::string& problem() const;
  std::uint64_t secret() const;
  // {"reach": [...], "heard": [...], "datagrams": [...]}: replies by peer and link; received multicast by
  // sender; datagrams to and from each peer. `all_have_stopped` returns when no leader sends any more.
  json run(const std::vector<HostLeader>& leaders, const std::function<void()>& all_have_stopped);

 private:
  struct Inner;
  std::unique_ptr<Inner> inner_;
};

struct Finding {
  std::string id;                  // for programs
  std::vector<std::string> hosts;  // affected
  std::string what;
  std::string remedy;
};

// Pure. `report`: {"hosts": [facts...], "reach": [...], "multicast": [...]}. Throws json::exception if it is
// not such a report.
std::vector<Finding> diagnose(const json& report);

// The report as text, with findings and remedies at the end.
std::string format_report(const json& report, const std::vector<Finding>& findings, bool colours = false);

}  // namespace herald::tools::doctor
