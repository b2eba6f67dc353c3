// SPDX-License-Identifier: BSD-3-Clause
// mpi/io/work.hpp: data access that the program waits for with a request.
#pragma once
#include "mpi/io/access.hpp"

namespace herald::mpi {

int start_alone(Call& call, const Transfer& transfer, MPI_Request* request) noexcept;
int start_together(Call& call, const Transfer& transfer, MPI_Request* request) noexcept;

}  // namespace herald::mpi
