// SPDX-License-Identifier: BSD-3-Clause
// plugin/convert.hpp: collectives in loops become persistent: MPI_X_init before the loop, MPI_Start and
// MPI_Wait in it, MPI_Request_free at its exits. Only where each of these is proven, else a remark tells the
// first that is not:
//   - arguments, arrays and buffers are the same in every iteration, and no iteration writes the arrays
//   - the call runs in every iteration, and before the loop can be left
//   - every branch that decides whether it runs goes the same way at all ranks (uniform.hpp)
//   - nothing throws out of the loop, or jumps
// Sends and receives need less: what other ranks do does not matter (messages.hpp).
// Work that touches none of its buffers runs between MPI_Start and MPI_Wait (overlap.hpp).
#pragma once
#include "prepare.hpp"
#include "uniform.hpp"

namespace herald::plans {

// Converts what it can, and removes it from the patterns.
bool convert(llvm::Function& function, const Analyses& analyses, Uniform& uniform, Patterns& patterns);

}  // namespace herald::plans
