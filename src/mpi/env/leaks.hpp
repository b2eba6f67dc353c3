// SPDX-License-Identifier: BSD-3-Clause
// mpi/env/leaks.hpp: reports objects that the program did not free (HERALD_CHECK=leaks).
#pragma once

namespace herald::mpi {

// One line for each kind of object, with count and names, on stderr. Silent if all were freed.
void report_leaks() noexcept;

}  // namespace herald::mpi
