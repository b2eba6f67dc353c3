// SPDX-License-Identifier: BSD-3-Clause
// p2p/header_context.hpp: what both ends know of the last message between two hosts that was not a cast: the
// next one of the same communicator needs to say no more than its tag. Kept from the first message on: a peer
// that is idle costs nothing here.
#pragma once
#include <cstdint>
#include <vector>

#include "p2p/peer.hpp"

namespace herald::p2p {

struct HeaderState {
  std::uint64_t context = 0;
  std::int32_t source = -1;    // none yet
  std::uint32_t next_seq = 0;  // of the message that comes next; to the peer, Peer::next_seq is
};

class HeaderContext {
 public:
  explicit HeaderContext(std::size_t peers) noexcept : peers_(peers) {}

  // A message goes to the peer: true if the last one to it was of the same communicator and rank.
  bool say(Peer& to, std::uint64_t context, std::int32_t source) noexcept {
    Both* const both = find(to);
    if (both == nullptr) return false;
    const bool same = both->to.context == context && both->to.source == source;
    both->to = {context, source};
    return same;
  }
  // One came from it; and what the last was, null if there was none.
  void hear(Peer& from, const HeaderState& said) noexcept {
    if (Both* const both = find(from)) both->from = said;
  }
  HeaderState* heard(const Peer& from) noexcept {
    return from.context_place == 0 || both_[from.context_place].from.source < 0
               ? nullptr
               : &both_[from.context_place].from;
  }

 private:
  struct Both {
    HeaderState to, from;
  };
  // Null: there are more peers than places. Both ends find that, for they have as many peers.
  Both* find(Peer& peer) noexcept {
    if (peer.context_place == 0) {
      if (peers_ > UINT16_MAX) return nullptr;
      if (both_.empty()) both_.emplace_back();  // place 0 is nobody's
      peer.context_place = static_cast<std::uint16_t>(both_.size());
      both_.emplace_back();
    }
    return &both_[peer.context_place];
  }

  const std::size_t peers_;
  std::vector<Both> both_;
};

}  // namespace herald::p2p
