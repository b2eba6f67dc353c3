// SPDX-License-Identifier: BSD-3-Clause
// mpi/timeline.hpp: HERALD_TRACE: opens the trace of this process and writes its file at the end, also at the
// end by an abort.
#pragma once
#include "base/trace.hpp"

namespace herald::mpi {

// Before the engine is opened. What fails is told, and the job goes on without.
void open_timeline() noexcept;
// The processes have just met: times of all timelines count from here.
void start_timeline() noexcept;
// Once; later calls do nothing.
void write_timeline() noexcept;

}  // namespace herald::mpi
