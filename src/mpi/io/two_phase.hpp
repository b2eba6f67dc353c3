// SPDX-License-Identifier: BSD-3-Clause
// mpi/io/two_phase.hpp: collective access in two phases: ranks exchange data with the aggregators of the
// file, and those read and write long runs (io/domains.hpp, io/aggregator.hpp).
#pragma once
#include <vector>

#include "io/domains.hpp"
#include "mpi/io/access.hpp"

namespace herald::mpi {

// Each rank tells the others this at the begin of a collective access.
struct CollectiveEntry {
  io::RankAccess access;
  std::int64_t buffer_bytes;  // hints: of rank 0 they count
  std::int32_t nodes, quota;  // hints: aggregators in all; on this host
  std::int32_t host;
  io::Choice choice;
  std::uint8_t failed, ordered;
  path::FileSystem system;
};

CollectiveEntry entry_of(Access& access, bool failed) noexcept;
// The same at all ranks.
bool wants_two_phases(const std::vector<CollectiveEntry>& entries) noexcept;
// Collective, if all ranks want it.
TransferResult run_two_phase(Access& access, const std::vector<CollectiveEntry>& entries) noexcept;

}  // namespace herald::mpi
