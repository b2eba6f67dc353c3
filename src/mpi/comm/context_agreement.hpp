// SPDX-License-Identifier: BSD-3-Clause
// mpi/comm/context_agreement.hpp: processes agree without a communicator: all of the job, or the members of a
// group. Messages go over kAgreementContext, where a process is named by its rank in the world.
#pragma once
#include <cstdint>

#include "mpi/core/objects.hpp"

namespace herald::mpi {

// Returns when every process of the job has called it. The lock is held.
void world_barrier() noexcept;

// Tells agreements apart that run at the same time.
struct AgreementKey {
  std::uint64_t value;
};
AgreementKey agreement_key(const Group& group, std::uint64_t where, const char* text) noexcept;

// The first member makes a context number; all members return it. MPI_SUCCESS or an error class. Several
// agreements may run at once in different threads if their keys differ.
int agree_context(const Group& group, AgreementKey key, std::uint64_t& context) noexcept;

}  // namespace herald::mpi
