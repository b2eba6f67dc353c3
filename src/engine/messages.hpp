// SPDX-License-Identifier: BSD-3-Clause
// engine/messages.hpp: point-to-point operations of the program. An operation must stay where it is until it
// is done.
#pragma once
#include <cstdint>

#include "engine/local_peers.hpp"
#include "p2p/core.hpp"

namespace herald::engine {

class Engine;
class Transport;

class Messages {
 public:
  Messages(Engine& engine, p2p::Core& core, LocalPeers& local, Transport& transport) noexcept
      : engine_(engine), core_(core), local_(local), transport_(transport) {}
  Messages(const Messages&) = delete;
  Messages& operator=(const Messages&) = delete;

  void start(p2p::SendOp& op) noexcept;
  // Sends without an operation, which costs a third of the time. False: it cannot leave now; start a SendOp.
  bool try_send(const p2p::ShortSend& send) noexcept { return local_.try_send(send); }
  // Many messages will go to the peer, or come from it: takes what the first of them would take. On another
  // host: asks it for an answer, unless it has been heard, so that the path to it is known.
  void prepare(p2p::PeerId peer, bool sends) noexcept;
  void start(p2p::RecvOp& op) noexcept;
  // Starts a receive that its caller blocks for, and polls the sender's ring briefly: it may be done then.
  void start_and_poll(p2p::RecvOp& op) noexcept;
  // Both take a turn if they find no message. take() also removes it: no other receive can match it.
  bool probe(std::uint64_t context, std::int32_t source, std::int32_t tag, p2p::Found& found) noexcept;
  bool take(std::uint64_t context, std::int32_t source, std::int32_t tag, p2p::Found& found) noexcept;
  void start_matched(p2p::RecvOp& op, p2p::Message* message) noexcept;
  // Requests cancellation; the op becomes done either way, and `cancelled` says which.
  void cancel(p2p::SendOp& op) noexcept;
  void cancel(p2p::RecvOp& op) noexcept;
  // Unexpected messages of a context that is being freed are dropped, later ones too. Returns their number.
  std::uint64_t forget_context(std::uint64_t context) noexcept;
  // The same for the context of the program's own messages: unreceived() counts them.
  void forget_program_context(std::uint64_t context) noexcept { unreceived_ += forget_context(context); }
  // Messages that the program sent and never received: of freed communicators, and those that still wait.
  std::uint64_t unreceived() const noexcept { return unreceived_ + core_.messages_held(); }
  // From now on messages add their events to the timeline, or to its listener.
  void trace() noexcept { core_.completions().trace = &process_trace; }
  // Visits p2p::Envelope of unexpected messages, until `visit` returns false.
  template <class Visit>
  void for_each_unexpected(Visit visit) noexcept {
    core_.matcher().for_each_unexpected(visit);
  }
  // Calls that are posted here leave with the next turn, or with send_posted().
  p2p::Services& services() noexcept { return core_.services(); }
  void send_posted() noexcept;
  p2p::Partitioned& partitioned() noexcept { return core_.partitioned(); }

 private:
  bool receive_at_once(p2p::RecvOp& op) noexcept;
  void send_answers() noexcept;

  Engine& engine_;
  p2p::Core& core_;
  LocalPeers& local_;
  Transport& transport_;
  std::uint64_t unreceived_ = 0;  // of freed communicators
  int polled_receives_ = 0;       // without a turn since the last one
};

}  // namespace herald::engine
