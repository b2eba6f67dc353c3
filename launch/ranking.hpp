// SPDX-License-Identifier: BSD-3-Clause
// launch/ranking.hpp: --rank-by: the numbers of ranks, after mapping has given each process a host and cores.
// Pure. The ranks of each program stay consecutive, as in Open MPI. Hosts are numbered by the mpiexec of the
// user, the cores of a host by the proxy there, which alone knows them.
#pragma once
#include <string>
#include <vector>

#include "topology.hpp"

namespace herald::launch {

// The ranks of each host. `mapped`: the processes of each host, by their numbers in the order of mapping;
// `programs`: how many processes each program has. Empty `rank_by`: as mapped.
std::vector<std::vector<int>> number_by_host(const std::vector<std::vector<int>>& mapped,
                                             const std::vector<int>& programs, const std::string& rank_by);

// By rank on this host: the index of its place. `programs`: how many ranks each program has here.
std::vector<std::size_t> number_by_place(const std::vector<Processor>& machine, const Places& places,
                                         const std::vector<int>& programs, Unit mapped_by,
                                         const std::string& rank_by);

}  // namespace herald::launch
