// SPDX-License-Identifier: BSD-3-Clause
// launch/hwloc_reader.hpp: the processors of this machine as hwloc sees them. The library is loaded when a
// job asks for places: most starts need none, and wheels and containers go without it.
#pragma once
#include <vector>

#include "topology.hpp"

namespace herald::launch {

// Empty: hwloc is not installed, or does not know one of these processors.
std::vector<Processor> read_hwloc(const std::vector<int>& allowed);

}  // namespace herald::launch
