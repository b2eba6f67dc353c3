// SPDX-License-Identifier: BSD-3-Clause
// sim/tool/scale.hpp: how broadcast and barrier grow with the number of hosts, up to 1,024, in virtual time.
#pragma once
#include <cstdint>
#include <vector>

namespace herald::sim {

struct ScaleOptions {
  std::vector<std::int32_t> hosts{16, 64, 256, 1000};
  double loss = 0;
  bool pause_frames = false;
  bool slow_host = false;  // one host has a line of half the rate
  bool failure = false;    // one of the two interfaces of a host fails
};

// Prints a row for each number of hosts. True: nothing was wrong; no member was taken for one without
// multicast; and, on a network that loses nothing, broadcast and barrier grow no faster than the bounds in
// scale.cpp.
bool print_scale(const ScaleOptions& options);

}  // namespace herald::sim
