// SPDX-License-Identifier: BSD-3-Clause
// tools/watch/deadlock.hpp: which ranks of a job can never go on, from what each waits for. [pure]
// A rank is stuck when what it waits for needs ranks that are stuck or have entered MPI_Finalize. The largest
// such set is found by taking out, again and again, each rank that some other rank can still free.
// Ranks that are not seen, and those that wait for less than kLeast, count as able to go on.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "watch/rank_view.hpp"

namespace herald::watch {

inline constexpr std::int64_t kLeastWaitNs = 500'000'000;  // shorter waits may be for a message on its way

// One line for each cycle, and for each rank that waits for one that has left.
std::vector<std::string> find_deadlocks(const std::vector<RankView>& views);

// One line for each communicator of which all ranks have waited in collectives for this long: most likely
// they called different ones, which pages do not show.
inline constexpr std::int64_t kLeastMismatchNs = 2'000'000'000;
std::vector<std::string> find_mismatches(const std::vector<RankView>& views);

}  // namespace herald::watch
