// SPDX-License-Identifier: BSD-3-Clause
// p2p/counters.hpp: counters for tools and tests. They only grow, except `held`.
#pragma once
#include <cstdint>

namespace herald::p2p {

// Data packets by path: shared memory (sent), unicast between hosts, lanes.
struct PathCounters {
  std::uint64_t shm_packets = 0, shm_bytes = 0;
  std::uint64_t net_packets = 0, net_bytes = 0, net_received = 0, net_received_bytes = 0, net_resent = 0;
  std::uint64_t net_probes = 0;  // datagrams that asked a peer for an answer
  std::uint64_t cast_received = 0, cast_resent = 0;
};

struct CoreCounters {
  std::uint64_t bad_packets = 0;  // dropped: unknown kind, ids that do not exist, lengths that do not fit
  std::uint64_t unexpected = 0;   // messages that came before their receive
  std::uint64_t late = 0;         // messages for forgotten contexts, dropped
  std::uint64_t finished = 0;     // operations that became done
  std::uint32_t peers_gone = 0;
  std::uint64_t sent = 0, sent_bytes = 0;  // messages that began to leave, and their bytes
  std::uint64_t received = 0, received_bytes = 0;
  std::uint64_t mapped_bytes = 0,
                kernel_bytes = 0;  // of long messages, copied by us: through mapped memory, by the kernel
  std::uint64_t held = 0;          // messages that wait for a receive
  // Of lanes:
  std::uint64_t unheard = 0,
                heard_again = 0;  // times that our multicast stopped, and began again, to reach a member
  std::uint64_t cast_packets = 0,
                cast_unicast = 0;  // packets cast; sent by unicast, to repair or to unreachable members
  PathCounters paths;
  std::uint64_t foreign = 0, lanes_moved = 0;  // datagrams of other jobs on our groups; lanes that moved
  std::uint64_t cast_missed = 0;               // packets of others that multicast did not deliver
  std::uint64_t forged = 0, stale = 0, malformed = 0;  // datagrams dropped: of others, of the past, senseless
  std::uint64_t fused_count = 0, fused_resent = 0;     // contributions and results sent; sent again
};

}  // namespace herald::p2p
