// SPDX-License-Identifier: BSD-3-Clause
// p2p/casts.hpp: messages to all members of a lane: pushed whole, once; each receiver matches them as any
// other message of their sender. A cast is done when the lane has all its bytes. Messages for single members
// may go over a lane, too, several in one packet (a bundle).
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "p2p/completions.hpp"
#include "p2p/config.hpp"
#include "p2p/ops.hpp"

namespace herald::p2p {

class Sender;

class Casts {
 public:
  Casts(const CoreConfig& config, Completions& done, Sender& sender) noexcept
      : config_(config), done_(done), sender_(sender) {}

  void start(SendOp& op) noexcept;
  bool wants_to_send(std::int32_t lane) const noexcept {
    return static_cast<std::size_t>(lane) < waiting_.size() &&
           !waiting_[static_cast<std::size_t>(lane)]->empty();
  }
  // Writes the next packet for the lane; `room` is at least wire::kMinCast bytes.
  std::size_t poll_transmit(std::int32_t lane, std::span<std::byte> room) noexcept;
  // The lane is closed: casts that wait for it fail.
  void drop(std::int32_t lane) noexcept;

 private:
  std::size_t write_packet(SendOp& op, std::span<std::byte> room) noexcept;
  std::size_t write_bundle(List<SendOp>& ops, std::span<std::byte> room) noexcept;

  const CoreConfig& config_;
  Completions& done_;
  Sender& sender_;
  std::vector<std::unique_ptr<List<SendOp>>> waiting_;  // by lane
  std::uint32_t next_seq_ = 0;
};

}  // namespace herald::p2p
