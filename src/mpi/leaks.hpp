// SPDX-License-Identifier: BSD-3-Clause
// mpi/leaks.hpp: what the program made and did not free (HERALD_CHECK=leaks).
#pragma once

namespace herald::mpi {

// One line for each kind of object, with count and names, on stderr. Nothing if all was freed.
void report_leaks() noexcept;

}  // namespace herald::mpi
