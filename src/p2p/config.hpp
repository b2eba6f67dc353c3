// SPDX-License-Identifier: BSD-3-Clause
// p2p/config.hpp: what Core is told once: who it is, and how much it may push.
#pragma once
#include <cstdint>

#include "p2p/id_table.hpp"
#include "p2p/ops.hpp"

namespace herald::p2p {

// The three behaviours of paper 002: wait for the receiver, push some and pull the rest, push all.
enum class PushMode : std::uint8_t { zero, pull, all };

struct CoreConfig {
  std::int32_t peers = 1;           // in the job, this process included
  PeerId me = -1;                   // which of them; needed for what comes in bundles
  std::uint32_t push_bytes = 4096;  // see knob push_bytes
  PushMode mode = PushMode::pull;
  std::uint32_t local_allowance = 1u << 22;  // memory for messages of one near peer that nobody receives yet
  // Peers on other hosts, see set_far():
  std::uint32_t remote_first = 1u << 16;      // the first packet, if that much fits
  std::uint32_t remote_more = 1u << 16;       // pushed beyond it
  std::uint32_t remote_allowance = 1u << 19;  // pushed and not received yet, of one peer
  std::uint32_t remote_copied = 1u << 16;     // at a pulled message's end: copied, and not waited for
  std::uint32_t most_pushed = 1u << 30;       // of one message
  std::uint32_t cast_unexpected = 1u << 18;   // by lanes, of one peer, not received yet; the rest waits
  // Peers whose memory we can reach, see set_direct(): from so many bytes on, messages are moved there and
  // back.
  std::uint64_t direct_bytes = 16384;
  std::uint32_t most_pulls = kMostIds;  // receives at a time that pull, read a peer's memory or are offered
};

}  // namespace herald::p2p
