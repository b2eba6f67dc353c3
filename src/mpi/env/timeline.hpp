// SPDX-License-Identifier: BSD-3-Clause
// mpi/env/timeline.hpp: HERALD_TRACE: opens the trace of this process and writes its file at the end, also
// after an abort.
#pragma once
#include "base/trace.hpp"

namespace herald::mpi {

// Before the engine is opened. After a failure the job goes on without a trace, with a warning.
void open_timeline() noexcept;
// After a barrier: the times of all timelines count from here.
void start_timeline() noexcept;
// Writes what there is; the recording goes on. With the lock of the engine.
void save_timeline() noexcept;
// The last time; later calls have no effect.
void write_timeline() noexcept;

}  // namespace herald::mpi
