// SPDX-License-Identifier: BSD-3-Clause
// mpi/core/status.hpp: the internal words of an MPI_Status: the byte count (two words), whether it was
// cancelled, and the element count that MPI_Status_set_elements gave when it is no byte count.
#pragma once
#include <cstdint>
#include <cstring>

#include "mpi.h"

namespace herald::mpi {

inline std::int64_t status_bytes(const MPI_Status& status) noexcept {
  std::int64_t bytes;
  std::memcpy(&bytes, &status.MPI_internal[0], sizeof bytes);
  return bytes;
}
inline void set_status_bytes(MPI_Status& status, std::int64_t bytes) noexcept {
  std::memcpy(&status.MPI_internal[0], &bytes, sizeof bytes);
}
inline bool status_cancelled(const MPI_Status& status) noexcept { return status.MPI_internal[2] != 0; }
inline void set_status_cancelled(MPI_Status& status, bool cancelled) noexcept {
  status.MPI_internal[2] = cancelled ? 1 : 0;
}

// Leaves MPI_ERROR alone: of completed operations, only calls that complete several of them set it.
inline void set_status(MPI_Status* status, int source, int tag, std::int64_t bytes, bool cancelled) noexcept {
  if (status == MPI_STATUS_IGNORE) return;
  status->MPI_SOURCE = source;
  status->MPI_TAG = tag;
  set_status_bytes(*status, bytes);
  set_status_cancelled(*status, cancelled);
}
// Of a request that is null or inactive.
inline void set_empty_status(MPI_Status* status) noexcept {
  set_status(status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0, false);
  if (status != MPI_STATUS_IGNORE) status->MPI_ERROR = MPI_SUCCESS;
}
inline void set_proc_null_status(MPI_Status* status) noexcept {
  set_status(status, MPI_PROC_NULL, MPI_ANY_TAG, 0, false);
}

}  // namespace herald::mpi
