// SPDX-License-Identifier: BSD-3-Clause
// mpi/coll/prepare.hpp: hints about collectives and messages to come (MPIX_Plan_prepare).
// In:  what is known of a call: its operation, communicator, root, counts, types. Nothing of it is trusted.
// Out: a plan in the cache of the communicator, with the memory of its first run; open lanes. For messages to
// a partner of this host: a ring.
// A hint runs nothing and sends at most invitations to a lane, so a wrong one is harmless.
#pragma once
#include "mpi/core/call.hpp"

namespace herald::mpi {

struct Hint {
  struct Side {
    MPI_Count count;
    Counts counts, displacements;
    MPI_Datatype type;
    const MPI_Datatype* types;
  };
  int operation;
  int root;
  bool in_place;
  MPI_Op op;
  Side send, recv;
};

int prepare(Call& call, MPI_Comm handle, const Hint& hint) noexcept;
int release_prepared(Call& call, MPI_Comm handle, int operation) noexcept;

}  // namespace herald::mpi
