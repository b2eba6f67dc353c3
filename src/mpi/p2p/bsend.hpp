// SPDX-License-Identifier: BSD-3-Clause
// mpi/p2p/bsend.hpp: buffered sends. A buffer belongs to a communicator, a session or the process; the
// nearest attached one takes the message. Space is allocated first-fit from the program's memory, or from the
// heap when the program attached MPI_BUFFER_AUTOMATIC. A message's space is free again when its bytes have
// left.
#pragma once
#include <cstddef>
#include <memory>
#include <vector>

#include "base/list.hpp"
#include "mpi/core/objects.hpp"
#include "p2p/ops.hpp"

namespace herald::mpi {

struct Request;

struct SendBuffer {
  struct Pending : ListLink {
    SendBuffer* owner = nullptr;
    Comm* comm = nullptr;  // holds a count, so that the communicator's own buffer outlives its messages
    std::size_t offset = 0, bytes = 0;
    std::unique_ptr<std::byte[]> own;  // automatic buffering
    p2p::SendOp op;
  };

  void* user = nullptr;
  std::size_t bytes = 0;
  bool automatic = false;
  List<Pending> pending;  // by offset
  std::vector<Request*> flushes;

  bool empty() const noexcept { return const_cast<List<Pending>&>(pending).empty(); }
};

// Waits until every buffered message of this process has left (MPI_Finalize).
void flush_all_buffers() noexcept;

}  // namespace herald::mpi
