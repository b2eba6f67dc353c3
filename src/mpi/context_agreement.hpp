// SPDX-License-Identifier: BSD-3-Clause
// mpi/context_agreement.hpp: processes that meet without a communicator: all of the job, or the members of a
// group. Messages go over kAgreementContext, where a process is named by its rank in the world.
#pragma once
#include <cstdint>

#include "mpi/objects.hpp"

namespace herald::mpi {

// Every process of the job has come here. The lock is held.
void world_barrier() noexcept;

// What tells one split copy of a group from others that go on at the same time.
struct AgreementKey {
  std::uint64_t value;
};
AgreementKey agreement_key(const Group& group, std::uint64_t where, const char* text) noexcept;

// The first of the group makes a context number; all members return it. MPI_SUCCESS or an error class.
// Several split copies may go on at once in different threads if their keys differ.
int agree_context(const Group& group, AgreementKey key, std::uint64_t& context) noexcept;

}  // namespace herald::mpi
