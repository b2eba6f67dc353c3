// SPDX-License-Identifier: BSD-3-Clause
// launch/rankfile.hpp: Open MPI's files that say where each rank runs. Pure.
// A line is "rank N=HOST slot=CORES": CORES are numbers of cores of the host (0, 0-1, 0,2) or SOCKET:CORES;
// HOST is a name, or +nI: host I of the host list. '#' begins a comment.
#pragma once
#include <string>
#include <vector>

#include "hosts.hpp"
#include "spec.hpp"
#include "topology.hpp"

namespace herald::launch {

// By rank. Throws UsageError naming the file and the line; ranks must be 0 to the last one.
std::vector<RankPlace> parse_rankfile(const std::string& text, const std::string& file);

// The hosts in the order of their first rank, with as many slots as ranks. `given` are those that +nI means.
HostList rankfile_hosts(std::vector<RankPlace>& places, const HostList& given);

// The ranks of each host of the list.
std::vector<std::vector<int>> rankfile_ranks(const std::vector<RankPlace>& places, const HostList& list);

// The processors of a slot on this machine. Throws UsageError if there is no such core.
std::vector<int> slot_cpus(const std::vector<Processor>& machine, const std::string& slot);

}  // namespace herald::launch
