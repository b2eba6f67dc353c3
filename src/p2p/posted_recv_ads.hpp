// SPDX-License-Identifier: BSD-3-Clause
// p2p/posted_recv_ads.hpp: receives of long messages that are posted first, advertised to their senders
// (paper 002: the late side copies the bytes). A sender whose message is the one that the receive waits for
// takes the ad and copies: half of the bytes, and all if the receiver is not in the library.
//
// The order of messages holds because an ad counts the messages that the receiver has got from the sender: it
// is for the next one and no other, and none of the receives posted before matches that message. When its
// eager packet comes and no sender has taken the ad, the ad is withdrawn.
#pragma once
#include <cstdint>
#include <vector>

#include "p2p/config.hpp"
#include "p2p/contexts.hpp"
#include "p2p/direct_copy.hpp"
#include "p2p/header_context.hpp"
#include "p2p/peer_table.hpp"

namespace herald::p2p {

class PostedRecvAds {
 public:
  PostedRecvAds(const CoreConfig& config, PeerTable& peers, HeaderContext& headers,
                DirectCopy& direct) noexcept
      : config_(config), peers_(peers), headers_(headers), direct_(direct) {}

  // Before the receive is posted: it may get an ad once it is.
  bool is_suitable(const RecvOp& op, Context& context) noexcept;
  // Its message will probably be copied between the two memories.
  bool may_be_advertised(const RecvOp& op) const noexcept {
    return op.awaited >= 0 && op.data.total() >= config_.direct_bytes && peers_[op.awaited].direct;
  }
  // The last message from the sender was long: this one probably is.
  bool expects_long(const RecvOp& op) const noexcept {
    return op.data.total() >= config_.direct_bytes && headers_.was_direct(peers_[op.awaited]);
  }
  bool advertise(RecvOp& op) noexcept;  // false: nothing to advertise it in
  // False: a sender has taken the ad.
  bool withdraw(RecvOp& op) noexcept;
  void forget(const RecvOp& op) noexcept;
  // A message came that an advertised receive does not match: its ad is for the next one.
  void renew(PeerId from) noexcept {
    if (count_ != 0 && of(from) != nullptr) renew_slow(from);
  }

 private:
  RecvOp* of(PeerId peer) const noexcept {
    const auto at = static_cast<std::size_t>(peer);
    return at < advertised_.size() ? advertised_[at] : nullptr;
  }
  void renew_slow(PeerId from) noexcept;

  const CoreConfig& config_;
  PeerTable& peers_;
  HeaderContext& headers_;
  DirectCopy& direct_;
  std::vector<RecvOp*> advertised_;  // by sender, from the first ad on
  std::uint32_t count_ = 0;
};

}  // namespace herald::p2p
