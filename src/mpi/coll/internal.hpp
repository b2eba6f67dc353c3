// SPDX-License-Identifier: BSD-3-Clause
// mpi/coll/internal.hpp: collectives over plain bytes for the library's own use (making communicators).
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "mpi/coll/work.hpp"

namespace herald::mpi {

// Blocking. Each counts as one collective on `comm`. Return an MPI error class.
int allgather_bytes(Comm& comm, const void* mine, void* all, std::size_t bytes_each) noexcept;
int bcast_bytes(Comm& comm, void* data, std::size_t bytes, int root) noexcept;
int alltoall_bytes(Comm& comm, const void* send, void* recv, std::size_t bytes_each) noexcept;
// Blocks of these sizes, one after another in both buffers.
int alltoallv_bytes(Comm& comm, const void* send, const std::vector<std::int64_t>& send_bytes, void* recv,
                    const std::vector<std::int64_t>& recv_bytes) noexcept;
int barrier(Comm& comm) noexcept;

// The same, nonblocking. `finisher` runs under the lock when this rank has its data, just before the request
// becomes ready. Data stays in place until then. Null if there is no memory.
std::unique_ptr<Work> ibcast_bytes(Comm& comm, void* data, std::size_t bytes, int root,
                                   Finisher finisher = {}) noexcept;
std::unique_ptr<Work> iallgather_bytes(Comm& comm, const void* mine, void* all,
                                       std::size_t bytes_each) noexcept;
std::unique_ptr<Work> ialltoallv_bytes(Comm& comm, const void* send,
                                       const std::vector<std::int64_t>& send_bytes, void* recv,
                                       const std::vector<std::int64_t>& recv_bytes) noexcept;

}  // namespace herald::mpi
