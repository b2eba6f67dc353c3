// SPDX-License-Identifier: BSD-3-Clause
// launch/rank_abort.hpp: the end of some ranks of a job by MPI_Abort on their communicator, as text. Pure.
#pragma once
#include <optional>
#include <string_view>
#include <vector>

namespace herald::launch {

struct RankAbort {
  int by = 0;              // the rank that called MPI_Abort
  int status = 1;          // exit status of the job
  int code = 1;            // as the rank gave it
  std::vector<int> ranks;  // in the world
};

// Of "cmd=... exitcode=1 given=256 by=3 ranks=0-3,8-40:8". Empty: it names no ranks, or not well.
std::optional<RankAbort> parse_rank_abort(std::string_view line);

}  // namespace herald::launch
