// SPDX-License-Identifier: BSD-3-Clause
// mpi/comm/comm.hpp: making communicators and groups.
#pragma once
#include <vector>

#include "mpi/core/objects.hpp"

namespace herald::mpi {

class Call;

// A group of these peers, with one count for the caller and no handle of the program's.
Group* make_group(std::vector<std::int32_t> peers, Session* session) noexcept;
// MPI_CONGRUENT, MPI_SIMILAR or MPI_UNEQUAL.
int compare_members(const Group& one, const Group& other) noexcept;
// Gives the program a handle: one more user, one more count.
MPI_Group hand_out(Group* group) noexcept;

// A communicator over `group` (its count is taken over), with a handle. This process is a member.
Comm* make_comm(Group* group, std::uint64_t context, Errhandler* errhandler, Session* session) noexcept;

// One without a handle, for the library's own use.
Comm* make_hidden_comm(Group* group, std::uint64_t context, Errhandler* errhandler,
                       Session* session) noexcept;

// An inter-communicator; the counts of both groups are taken over. `lower` must differ between the groups.
Comm* make_inter(Group* group, Group* remote, bool lower, std::uint64_t context, Errhandler* errhandler,
                 Session* session) noexcept;
// For a communicator that was made with context 0.
void set_context(Comm& comm, std::uint64_t context) noexcept;
// A number for a new communicator, which may be an inter-communicator: those use two in a row.
std::uint64_t propose_context() noexcept;

// Arguments of a member when a communicator is split, and the context number that it proposes as a leader.
struct SplitEntry {
  std::int32_t color, key;
  std::uint64_t context;
};
// The new communicator of those with this process's color, by key, then rank. Null for MPI_UNDEFINED.
Comm* join(Comm& comm, const std::vector<SplitEntry>& entries) noexcept;
// The same for an inter-communicator; entries as in `both`. Null too if one of the groups has no member of
// the color.
Comm* join_inter(Comm& comm, const std::vector<SplitEntry>& entries) noexcept;

// Keeps the hints that Herald knows.
void take_hints(Comm& comm, const Info& info) noexcept;

// MPI_COMM_WORLD and MPI_COMM_SELF.
void make_world_comms() noexcept;

}  // namespace herald::mpi
