// SPDX-License-Identifier: BSD-3-Clause
// p2p/bulk_sender.hpp: what receivers pulled by bulk frames, on its way to TCP connections. A frame is a
// wire::BulkHead and up to 128 KiB straight from user memory, with one checksum and one tag; or these bytes
// as the cipher of the session writes them.
// In:  sends that are pulled; connections that opened and closed; how much of a frame was written.
// Out: the next bytes of each connection; to receivers, that a connection broke.
// Invariants: a send stays here until its receiver acknowledges it or asks for the rest as datagrams; no span
// that gather() gave is used after forget().
#pragma once
#include <array>
#include <map>
#include <span>
#include <vector>

#include "p2p/peer_table.hpp"
#include "wire/bulk_session.hpp"

namespace herald::p2p {

class BulkSender {
 public:
  static constexpr std::size_t kFrameBytes = 128 << 10;
  using Parts = std::array<std::span<const std::byte>, 3>;

  explicit BulkSender(PeerTable& peers) noexcept : peers_(peers) {}

  // By Sender. A pull may be served by frames; do so; the send is over, or goes on as datagrams.
  bool may_take(const SendOp& op) const noexcept {
    return op.data.contiguous() && connections_.contains(op.to);
  }
  void add(SendOp& op) noexcept;
  void forget(SendOp& op) noexcept;

  // By the driver. A newer connection takes the place of an older one.
  void on_connected(PeerId to, wire::BulkSession session);
  void on_closed(PeerId to) noexcept;
  bool wants_to_send(PeerId to) noexcept {
    const auto at = connections_.find(to);
    return at != connections_.end() && has_bytes(at->second);
  }
  // The next bytes, in so many parts; 0: none.
  std::size_t gather(PeerId to, Parts& parts) noexcept;
  // Behind the frame of gather() comes another one of its message.
  bool has_more(PeerId to) noexcept;
  void on_written(PeerId to, std::size_t bytes) noexcept;
  // A connection on which a frame ended in its middle: close it; -1: none.
  PeerId take_broken() noexcept;
  std::uint64_t frames() const noexcept { return frames_; }

 private:
  struct Connection {
    wire::BulkSession session;
    std::uint64_t number = 0;       // of the next frame
    std::vector<std::byte> sealed;  // bytes of the cipher, of the frame under way
    List<SendOp> queue;             // the first is being sent
    List<SendOp> written;           // and not acknowledged
    wire::BulkHead head{};
    std::size_t frame = 0;  // bytes of the frame under way, with head and trailer; 0: none
    std::size_t sent = 0;   // of them
    bool broken = false;
  };
  static bool has_bytes(Connection& one) noexcept { return !one.broken && !one.queue.empty(); }
  void begin_frame(Connection& one, const SendOp& op, const std::byte* bytes) noexcept;
  void lose(List<SendOp>& sends) noexcept;

  PeerTable& peers_;
  std::map<PeerId, Connection> connections_;
  std::vector<PeerId> broken_;
  std::uint64_t frames_ = 0;
};

}  // namespace herald::p2p
