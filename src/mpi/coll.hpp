// SPDX-License-Identifier: BSD-3-Clause
// mpi/coll.hpp: collectives for the library's own use (making communicators), over plain bytes.
#pragma once
#include <cstddef>
#include <memory>
#include <vector>

#include "coll/coll_spec.hpp"
#include "mpi/objects.hpp"
#include "mpi/request.hpp"

namespace herald::mpi {

// Blocking. Each counts as one collective on `comm`. Return an MPI error class.
int allgather_bytes(Comm& comm, const void* mine, void* all, std::size_t bytes_each) noexcept;
int bcast_bytes(Comm& comm, void* data, std::size_t bytes, int root) noexcept;
int barrier(Comm& comm) noexcept;

class Execution;
// Rounds of an agreement (coll_agree.hpp), to be launched: by messages only, not counted as collectives, each
// once in the life of a communicator. Null: no memory. As allgather_bytes:
Execution* agree_bytes(Comm& comm, int round, const void* mine, void* all, std::size_t bytes) noexcept;
// As bcast_bytes among the ranks of one host, from the first of them. `place`: our index.
Execution* agree_on_host(Comm& comm, int round, const std::vector<int>& ranks, int place, void* data,
                         std::size_t bytes) noexcept;

// Nonblocking broadcast of `bytes` from `root`; `then(argument)` runs under the lock when this rank has them,
// just before the request becomes ready. `data` stays valid until then.
std::unique_ptr<Work> ibcast_bytes(Comm& comm, void* data, std::size_t bytes, int root, int (*then)(void*),
                                   void* argument) noexcept;

}  // namespace herald::mpi
