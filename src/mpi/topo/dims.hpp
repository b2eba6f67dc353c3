// SPDX-License-Identifier: BSD-3-Clause
// mpi/topo/dims.hpp: balanced dimensions of a grid (MPI_Dims_create). Pure arithmetic.
#pragma once
#include <vector>

namespace herald::mpi {

// `count` factors of n >= 1, largest first: the largest and the smallest differ as little as possible, and
// among equals the sum is smallest.
std::vector<int> balanced_factors(int n, int count) noexcept;

}  // namespace herald::mpi
