// SPDX-License-Identifier: BSD-3-Clause
// mpi/dyn/spawn.hpp: the parent of a spawned job.
#pragma once
#include "mpi/core/call.hpp"

namespace herald::mpi {

// At the end of MPI_Init, on all ranks: connects to the parent if this job was spawned. MPI_SUCCESS or an
// error class.
int meet_parent(Call& call) noexcept;

// Before a call of the launcher: until no other thread of this process spawns a job.
void wait_for_launcher() noexcept;

}  // namespace herald::mpi
