// SPDX-License-Identifier: BSD-3-Clause
// boot/rank_pid.hpp: the variable by which a process knows that a rank started it.
#pragma once

namespace herald::boot {

// The process id of a rank, in its environment: processes that it starts are alone.
inline constexpr const char* kRankPid = "HERALD_RANK_PID";

}  // namespace herald::boot
