// SPDX-License-Identifier: BSD-3-Clause
// mpi/env/crash.hpp: what a rank leaves when a signal ends it: the lines it has printed, a backtrace, and the
// timeline of HERALD_TRACE. Handlers that the program has set stay.
#pragma once

namespace herald::mpi {

// Under a launcher standard output is a pipe, which the C library fills before it writes: lines would come
// late, and be lost in a crash.
void write_whole_lines() noexcept;
void catch_crashes() noexcept;

}  // namespace herald::mpi
