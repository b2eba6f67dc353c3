// SPDX-License-Identifier: BSD-3-Clause
// Collective access: where each rank begins, and agreement on errors.
#include "mpi/coll/internal.hpp"
#include "mpi/io/access.hpp"
#include "mpi/io/two_phase.hpp"

namespace herald::mpi {
namespace {

// Each rank's part of an ordered access begins where the part of the rank before it ends.
Failure take_ordered_position(Access& access, const Failure& mine) noexcept {
  File& file = access.file();
  std::vector<MPI_Offset> parts(static_cast<std::size_t>(file.comm->size));
  const MPI_Offset own = mine ? 0 : access.etypes();
  int error = allgather_bytes(*file.comm, &own, parts.data(), sizeof own);
  struct {
    MPI_Offset base = 0;
    std::int32_t error_class = MPI_SUCCESS;
  } start;
  MPI_Offset before = 0, all = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (static_cast<int>(i) == file.comm->rank) before = all;
    all += parts[i];
  }
  if (error == MPI_SUCCESS && file.comm->rank == 0)
    start.error_class = fetch_add_shared(access.state(), all, start.base).error_class;
  if (error == MPI_SUCCESS) error = bcast_bytes(*file.comm, &start, sizeof start, 0);
  if (error == MPI_SUCCESS) error = start.error_class;
  if (error != MPI_SUCCESS) return {error, "a rank of the file has ended or cannot be reached"};
  access.set_position(start.base + before);
  return mine;
}

}  // namespace

TransferResult run_together(const Transfer& transfer, bool ordered) noexcept {
  Access access(transfer);
  Failure mine = access.prepare();
  if (ordered)
    mine = take_ordered_position(access, mine);
  else if (!mine)
    mine = access.take_position();
  return run_collective(access, mine);
}

// Two phases or, if those do not pay, every rank for itself. All ranks get the same class of error.
TransferResult run_collective(Access& access, Failure mine) noexcept {
  if (!mine) mine = access.begin();
  const Comm& comm = *access.file().comm;
  if (comm.size == 1) return mine ? TransferResult{0, mine} : access.run();
  std::vector<CollectiveEntry> entries(static_cast<std::size_t>(comm.size));
  const CollectiveEntry own = entry_of(access, static_cast<bool>(mine));
  const int error = allgather_bytes(*access.file().comm, &own, entries.data(), sizeof own);
  if (error != MPI_SUCCESS) return {0, {error, "a rank of the file has ended or cannot be reached"}};
  if (wants_two_phases(entries)) return run_two_phase(access, entries);
  TransferResult result{0, mine};
  if (!mine) result = access.run();
  result.failure = agree(access.file(), result.failure);
  return result;
}

}  // namespace herald::mpi
