// SPDX-License-Identifier: BSD-3-Clause
// engine/no_udp_line.hpp: tells the user between which hosts UDP does not pass, and the rule that permits it.
#pragma once
#include <cstdio>
#include <string>

namespace herald::engine {

// `pairs` of hosts; empty: nothing is printed. `ports`: HERALD_PORTS; empty: those that the kernel gives.
inline void print_no_udp(const std::string& pairs, std::string ports) noexcept {
  if (pairs.empty()) return;
  const bool bounded = !ports.empty();
  if (!bounded) {
    unsigned first = 32768, last = 60999;
    if (std::FILE* const file = std::fopen("/proc/sys/net/ipv4/ip_local_port_range", "re")) {
      if (std::fscanf(file, "%u %u", &first, &last) != 2) first = 32768, last = 60999;
      std::fclose(file);
    }
    ports = std::to_string(first) + "-" + std::to_string(last);
  }
  std::fprintf(
      stderr,
      "herald: UDP does not pass between %s: the job uses TCP there, and no multicast, which is slower. "
      "Let UDP ports %s through on both, such as by: nft add rule inet filter input udp dport %s "
      "accept%s (docs/firewalls.md)\n",
      pairs.c_str(), ports.c_str(), ports.c_str(),
      bounded ? "" : "; HERALD_PORTS=20000-20100 makes the range smaller");
}

}  // namespace herald::engine
