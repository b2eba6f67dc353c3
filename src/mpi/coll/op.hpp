// SPDX-License-Identifier: BSD-3-Clause
// mpi/coll/op.hpp: applying a reduction, predefined or the program's own, to elements in memory.
#pragma once
#include "mpi/core/objects.hpp"

namespace herald::mpi {

class Call;

// MPI_SUCCESS if `op` can reduce elements of `datatype`; else fails `call` with MPI_ERR_OP, naming both.
int check_op(Call& call, const Op& op, const Datatype& datatype) noexcept;

// inout[i] = in[i] op inout[i] for `count` items of `datatype`; the pair must have passed check_op.
// Both point to where the item at displacement 0 is (as user buffers do). The lock is held, and stays held
// while a function of the program runs. Returns MPI_SUCCESS or an error class.
int reduce_into(const Op& op, Datatype& datatype, const void* in, void* inout, MPI_Count count) noexcept;

}  // namespace herald::mpi
