// SPDX-License-Identifier: BSD-3-Clause
// tools/watch/rank_view.hpp: one rank of a running job, as its page (base/rank_page.hpp) shows it, and how
// the command line tools and mpiexec say it. [pure]
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/rank_page.hpp"

namespace herald::watch {

struct RankView {
  int rank = 0, size = 0, pid = 0;
  std::string job, host;
  RankPhase phase = RankPhase::running;
  std::vector<ShownWait> waits;  // of its threads
  std::array<std::uint64_t, static_cast<std::size_t>(RankCounter::kCount)> counters{};
  std::int64_t counted_ns = 0;  // when the rank wrote the counters
  bool answered = false;        // the rank has taken a turn since a tool last asked for counters
  std::int64_t read_ns = 0;     // CLOCK_MONOTONIC of its host

  std::uint64_t counter(RankCounter which) const { return counters[static_cast<std::size_t>(which)]; }
};

// "2.9 s", "3 min 5 s".
std::string duration_text(std::int64_t ns);
// "MPI_Recv from 1, tag 7, MPI_COMM_WORLD", without a time.
std::string wait_text(const ShownWait& wait);
// "rank 0 on n1: MPI_Recv from 1, tag 7, MPI_COMM_WORLD, for 2.9 s; 3 unexpected messages from 2"
std::string rank_text(const RankView& view);
// One line per rank, by rank; in a job of more than 32 ranks equal ones of a host share a line. Then one line
// for each deadlock.
std::vector<std::string> job_text(std::vector<RankView> views);

}  // namespace herald::watch
