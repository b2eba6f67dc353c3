// SPDX-License-Identifier: BSD-3-Clause
// p2p/config.hpp: what Core is given once: its rank, and how much it may push.
#pragma once
#include <cstdint>

#include "p2p/id_table.hpp"
#include "p2p/ops.hpp"

namespace herald::p2p {

// The three behaviours of paper 002: wait for the receiver, push some and pull the rest, push all.
enum class PushMode : std::uint8_t { zero, pull, all };

struct CoreConfig {
  std::int32_t peers = 1;           // in the job, this process included
  PeerId me = -1;                   // which of them; needed for bundles and ads
  std::uint32_t push_bytes = 4096;  // see knob push_bytes
  PushMode mode = PushMode::pull;
  std::uint32_t local_allowance = 1u << 22;  // memory for unexpected messages of one peer of this host
  // Peers on other hosts, see set_remote():
  std::uint32_t remote_first = 1u << 16;      // the first packet, if that much fits
  std::uint32_t remote_more = 1u << 16;       // pushed beyond it
  std::uint32_t remote_allowance = 1u << 19;  // pushed and not received yet, of one peer
  // Memory for unexpected messages of all peers together: until it is used, no sender is held back, whatever
  // it may push by the two bounds above; 0: they never grow.
  std::uint64_t most_unexpected = 0;
  std::uint32_t remote_copied = 1u << 16;  // at the end of a pulled message: copied, not borrowed
  std::uint32_t most_pushed = 1u << 30;    // of one message
  std::uint32_t cast_unexpected =
      1u << 18;  // casts of one peer that wait for receives; the rest stays in the lane
  // Pulls of peers on other hosts that request so much may be served by bulk frames (bulk.hpp), if the driver
  // permits them.
  std::uint32_t bulk_least = 48 << 10;
  // Peers whose memory we can access, see DirectCopy::add_peer(): messages from so many bytes on are copied
  // between the two memories.
  std::uint64_t direct_bytes = 16384;
  std::uint32_t most_pulls = kMostIds;  // receives that pull, read a peer's memory or are advertised
};

}  // namespace herald::p2p
