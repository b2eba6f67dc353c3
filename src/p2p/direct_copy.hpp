// SPDX-License-Identifier: BSD-3-Clause
// p2p/direct_copy.hpp: long messages between processes that can access each other's memory (paper 002,
// cross-space zero buffer): one copy from the sender's buffer to the receiver's.
// The eager packet says where the message lies. When it has matched, the receiver reads it; where its own
// buffer is contiguous it also names a split copy, and a sender that is in the library writes from the back
// meanwhile. The receiver's ack ends it. Bytes that turn out not to be accessible are pulled.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "p2p/completions.hpp"
#include "p2p/config.hpp"
#include "p2p/direct.hpp"
#include "p2p/message.hpp"
#include "p2p/peer_table.hpp"

namespace herald::p2p {

class Receiver;
class Sender;

class DirectCopy {
 public:
  DirectCopy(const CoreConfig& config, PeerTable& peers, Completions& done, Sender& sender,
             Receiver& receiver) noexcept
      : config_(config), peers_(peers), done_(done), sender_(sender), receiver_(receiver) {}

  // Our split copies, kAllSplitCopies of them, in memory shared with peers; null: no peer helps us.
  void open(SplitCopy* ours) noexcept { split_copies_.open(ours); }
  // We can access the memory of the peer; its split copies, if we can help it. `me`: our number there.
  void add_peer(PeerId id, SplitCopy* theirs, PeerId me) noexcept;
  // Ranks outnumber processors: one side copies a message alone, for the other is probably not running.
  void set_oversubscribed(bool oversubscribed) noexcept { oversubscribed_ = oversubscribed; }
  bool oversubscribed() const noexcept { return oversubscribed_; }
  // Copies the next share of a message: true if any was, or something ended.
  bool advance(Mover& mover) noexcept;
  bool busy() const noexcept { return !reads_.empty() || !writes_.empty(); }
  bool awaits_ads() const noexcept { return !awaiting_ads_.empty(); }
  void on_peer_gone(PeerId id) noexcept;

  // For sends. Whether the whole message lies in few enough runs to be named in its eager packet.
  bool runs_fit(const SendOp& op, std::size_t room) const noexcept;
  static std::uint32_t write_runs(const SendOp& op, std::span<std::byte> room) noexcept;  // how many
  // The eager packet is written: looks for an ad of its receive, now and later.
  void await_receiver(SendOp& op) noexcept;
  void stop_writing(SendOp& op) noexcept;
  bool on_split_copy(PeerId from, const wire::SplitCopyPacket& packet) noexcept;
  bool on_split_copy_done(PeerId from, std::uint32_t index) noexcept {
    return split_copies_.release_theirs(index, from);
  }

  // For receives that have matched. False: the message is better pulled.
  bool begin_read(RecvOp& op, const Envelope& envelope, const std::byte* runs, std::uint64_t wanted) noexcept;
  // The sender of the message took the ad of this receive: it copies already.
  void begin_advertised(RecvOp& op, const Envelope& envelope, const std::byte* runs) noexcept;
  // True if the receive finished, or began to pull.
  bool end_read(RecvOp& op) noexcept;
  // For ads: a record with a split copy that the peer can see; null: none is free.
  DirectRead* make_ad_record(PeerId peer) noexcept;
  void release(RecvOp& op) noexcept;
  void drop_record(RecvOp& op) noexcept;  // its ad, if it had one, is withdrawn

 private:
  struct Theirs {
    SplitCopy* split_copies = nullptr;
    PeerId me = -1;  // our number there
  };
  Theirs theirs_of(PeerId id) const noexcept {
    const auto at = static_cast<std::size_t>(id);
    return at < theirs_.size() ? theirs_[at] : Theirs{};
  }
  bool take_ad(SendOp& op) noexcept;
  bool read_runs(DirectRead& direct, const Envelope& envelope, const std::byte* runs,
                 std::uint64_t wanted) noexcept;
  bool is_copied_by_one(std::uint64_t bytes) const noexcept;
  bool read_some(RecvOp& op, Mover& mover) noexcept;
  bool write_some(SendOp& op, Mover& mover) noexcept;
  void pull_rest(RecvOp& op, std::uint64_t begin, std::uint64_t end) noexcept;

  const CoreConfig& config_;
  PeerTable& peers_;
  Completions& done_;
  Sender& sender_;
  Receiver& receiver_;
  List<RecvOp> reads_;         // receives that read a peer's memory
  List<SendOp> writes_;        // sends that write to a peer's memory
  List<SendOp> awaiting_ads_;  // sends that wait for an ad, a split copy or an ack
  std::uint32_t turns_awaiting_ads_ = 0;
  SplitCopies split_copies_;
  std::vector<Theirs> theirs_;  // by peer, if any is direct
  DirectPool pool_;
  bool oversubscribed_ = false;
};

}  // namespace herald::p2p
