// SPDX-License-Identifier: BSD-3-Clause
// p2p/peer.hpp: what Core keeps of every peer.
#pragma once
#include <cstddef>
#include <cstdint>

#include "base/list.hpp"
#include "p2p/ops.hpp"

namespace herald::p2p {

struct Control : ListLink {
  std::uint32_t size = 0;
  std::byte bytes[32];
};
struct Peer : ListLink {  // linked among those for whom there is something
  List<Control> control;
  List<SendOp> pushes;
  List<SendOp> streams;
  List<Arriving> arriving;
  std::uint32_t next_seq = 0;
  // Of the bytes pushed from the beginning on, with kRecord for each message, modulo 2^32, when far:
  std::uint32_t pushed = 0, push_limit = 0;  // by us: so many, and how many the peer lets us
  std::uint32_t consumed = 0, told = 0;      // by the peer: received, and what it last heard of that
  // When far, packets to the peer that lent bytes; when near, messages of the peer:
  union {
    std::uint32_t borrowed = 0;  // all
    std::uint32_t heard;         // all
  };
  union {
    std::uint32_t returned = 0;  // those that are back
    std::uint32_t kept;          // memory for those that nobody receives yet
  };
  std::uint16_t context_place = 0;  // when far: where it is in SaidBook; 0: nowhere yet
  // When near:
  bool was_long : 1 = false;        // the last message
  bool paused : 1 = false;          // it was told to push nothing
  bool paused_by_peer : 1 = false;  // we were
  bool far : 1 = false;
  bool gone : 1 = false;
  bool direct : 1 = false;
};
static_assert(sizeof(Peer) <= 112, "kept for every peer");

}  // namespace herald::p2p
