// SPDX-License-Identifier: BSD-3-Clause
// mpi/comm.hpp: making communicators and groups.
#pragma once
#include <vector>

#include "mpi/objects.hpp"

namespace herald::mpi {

class Call;

// A group of these peers, with one count for the caller and no handle of the program's.
Group* make_group(std::vector<std::int32_t> peers, Session* session) noexcept;
// Gives the program a handle: one more user, one more count.
MPI_Group hand_out(Group* group) noexcept;
MPI_Errhandler hand_out(Errhandler* errhandler) noexcept;

// A communicator over `group` (its count is taken over), with a handle. This process is a member.
Comm* make_comm(Group* group, std::uint64_t context, Errhandler* errhandler, Session* session) noexcept;

// Divides `comm`: members with the same color (0 and up, or MPI_UNDEFINED) come together, by key, then rank.
int split(Call& call, Comm& comm, int color, int key, Comm*& made) noexcept;

// Keeps the hints that Herald knows.
void take_hints(Comm& comm, const Info& info) noexcept;

// MPI_COMM_WORLD and MPI_COMM_SELF.
void make_world_comms() noexcept;

}  // namespace herald::mpi
