// SPDX-License-Identifier: BSD-3-Clause
// tools/doctor/doctor.hpp: the parts of `herald doctor`. What each host finds out about itself and about its
// way to the others is JSON, so that it can be sent round, judged and printed: docs/doctor.md describes it.
#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/knobs.hpp"

namespace herald::tools::doctor {

using nlohmann::json;

// About this host alone: system, interfaces, limits, shared memory, CMA, clock, launchers.
json facts_of_host(const Knobs& knobs);

// A process that speaks for its host: the lowest rank there.
struct Speaker {
  int rank = 0;
  std::string card;          // of its sockets
  std::uint64_t secret = 0;  // what its probes and answers carry
};

// Sends datagrams to all others and answers theirs, for a short while; all speakers at once. Opened before
// the cards are exchanged.
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
  // {"reach": [...], "heard": [...]}: who answered us by which link; whose multicast came.
  json run(const std::vector<Speaker>& speakers);

 private:
  struct Inner;
  std::unique_ptr<Inner> inner_;
};

struct Finding {
  std::string id;                  // one word, for programs
  std::vector<std::string> hosts;  // concerned
  std::string what;
  std::string cure;
};

// `report`: {"hosts": [facts...], "reach": [...], "multicast": [...]}. Looks at nothing else. Throws
// json::exception if it is not such a report.
std::vector<Finding> judge(const json& report);

// The report in words, findings and cures at the end.
std::string in_words(const json& report, const std::vector<Finding>& findings);

}  // namespace herald::tools::doctor
