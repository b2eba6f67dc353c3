// SPDX-License-Identifier: BSD-3-Clause
// launch/hosts.hpp: reads host lists and host files of both families. Pure.
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
  std::vector<Host> hosts;    // in order, a name that comes again adds its slots
  std::string file;           // where it was read from; empty: an option
  bool colon_counts = false;  // the file writes name:N  (Hydra's manner)
  bool slots_counts = false;  // the file writes name slots=N (Open MPI's manner)

  std::int64_t slots() const;  // a host without a number counts once
  std::string text() const;    // a:2,b:1
  std::string names() const;   // a,b
};

HostList parse_host_list(const std::string& text);
HostList parse_host_file(const std::string& text, const std::string& file);

// True when every host is this one by `is_here`.
bool all_here(const HostList& list, const std::function<bool(const std::string&)>& is_here);

}  // namespace herald::launch
