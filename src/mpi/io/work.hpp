// SPDX-License-Identifier: BSD-3-Clause
// mpi/io/work.hpp: data access that the program waits for with a request, and collective access.
#pragma once
#include "mpi/io/access.hpp"

namespace herald::mpi {

int start_alone(Call& call, const Transfer& transfer, MPI_Request* request) noexcept;
// Collective. `ordered`: by the shared pointer, in the order of ranks. All ranks get the same class of error.
Request* start_together(const Transfer& transfer, bool ordered) noexcept;
TransferResult run_together(const Transfer& transfer, bool ordered) noexcept;

}  // namespace herald::mpi
