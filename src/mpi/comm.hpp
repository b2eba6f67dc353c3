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

// An inter-communicator; the counts of both groups are taken over. `lower` must differ between the groups.
Comm* make_inter(Group* group, Group* remote, bool lower, std::uint64_t context, Errhandler* errhandler,
                 Session* session) noexcept;
// Now, if it was made with context 0.
void set_context(Comm& comm, std::uint64_t context) noexcept;
// A number for a new communicator, which may be an inter-communicator: those use two in a row.
std::uint64_t offer_context() noexcept;

// What a member of a communicator that is divided wants, and the context number it would give as a leader.
struct Wish {
  std::int32_t color, key;
  std::uint64_t context;
};
// The new communicator of those with this process's color, by key, then rank. Null for MPI_UNDEFINED.
Comm* join(Comm& comm, const std::vector<Wish>& wishes) noexcept;
// The same for an inter-communicator; wishes as in `both`. Null too if one of the groups has none of the
// color.
Comm* join_inter(Comm& comm, const std::vector<Wish>& wishes) noexcept;

// Keeps the hints that Herald knows.
void take_hints(Comm& comm, const Info& info) noexcept;

// MPI_COMM_WORLD and MPI_COMM_SELF.
void make_world_comms() noexcept;

}  // namespace herald::mpi
