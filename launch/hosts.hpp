// SPDX-License-Identifier: BSD-3-Clause
// launch/hosts.hpp: reads host lists and host files in the formats of Hydra and Open MPI. Pure.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace herald::launch {

struct Host {
  std::string name;
  std::int64_t slots = 0;  // 0: not given
};

struct HostList {
  std::vector<Host> hosts;    // in order; a repeated name adds its slots
  std::string file;           // empty: given by an option
  bool colon_counts = false;  // the file has lines name:N (Hydra)
  bool slots_counts = false;  // the file has lines name slots=N (Open MPI)

  std::int64_t slots() const;  // a host without a count has one slot
  std::string text() const;    // a:2,b:1
  std::string names() const;   // a,b
};

HostList parse_host_list(const std::string& text);
HostList parse_host_file(const std::string& text, const std::string& file);

// True if `is_here` holds for every host.
bool all_here(const HostList& list, const std::function<bool(const std::string&)>& is_here);

}  // namespace herald::launch
