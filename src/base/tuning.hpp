// SPDX-License-Identifier: BSD-3-Clause
// base/tuning.hpp: sizes that users do not set: defaults that suit common hosts, until a measured model
// decides. Tests and benchmarks set them in their own process.
#pragma once
#include <cstdint>

namespace herald {

struct Tuning {
  std::uint32_t push_bytes = 4096;             // of a message, sent before the receiver pulls the rest
  std::uint32_t net_push_bytes = 65536;        // the same between hosts, beyond the first packet
  std::uint32_t net_copy_bytes = 65536;        // last bytes of a long message that a send copies to end early
  std::uint32_t net_allowance_bytes = 524288;  // bytes that a remote peer may have pushed unexpectedly
  std::uint32_t net_switch_bytes = 196608;     // in flight to one rank from all peers: a port's buffer
  std::uint32_t lane_window = 1024;            // packets that a source of a lane may have outstanding
  std::uint64_t cma_bytes = 16384;             // messages of at least so many bytes are copied by CMA
  std::uint64_t alloc_bytes = 16384;  // MPI_Alloc_mem of at least so many is mapped by peers; 0: never
  std::uint32_t shm_cells = 128;      // packets in one process's inbox
  std::uint32_t shm_rings = 8;        // peers that send by a ring of their own
  std::uint64_t coll_stream_bytes = 2 << 20;     // of a communicator's shared memory, for streams
  std::uint64_t coll_segments_bytes = 16 << 20;  // of all communicators of a host together, about
};

}  // namespace herald
