// SPDX-License-Identifier: BSD-3-Clause
// p2p/core.hpp: point-to-point messages of one process: matching in MPI order, and push-pull (papers, 002).
// In:  operations that the caller starts; packets from peers, in order per peer; the news that a peer left.
// Out: packets, pulled by poll_transmit(); operations that become done.
// Timers: none. Threads: none, the caller holds one lock around everything.
//
// A message of at most push_bytes goes whole in one push. Of a longer one the first push_bytes are pushed;
// the receiver, when it has matched, pulls what it has room for, and the sender streams it as data packets. A
// late receiver costs the pushed bytes and a record. Control packets overtake pushes, pushes overtake data.
// Between hosts the push goes on beyond its first packet for far_more bytes, so that it overlaps with the
// pull on its way (paper 002, push-and-acknowledge overlapping), and what one peer may push before it is
// received is bounded by an allowance; when that is used up, messages go as if nothing were to be pushed.
// Inside a host it is the receiver that counts: it hushes a peer of whose messages it keeps too much, until
// half of that is received; meanwhile the peer sends what it would push only when it is asked.
//
// Invariants: an operation is in at most one list; `done` is set by run_finished() (or at once if there is no
// on_done), never while Core is in the middle of something; a packet that makes no sense is counted and
// dropped.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/trace.hpp"
#include "p2p/config.hpp"
#include "p2p/contexts.hpp"
#include "p2p/counters.hpp"
#include "p2p/direct.hpp"
#include "p2p/header_context.hpp"
#include "p2p/id_table.hpp"
#include "p2p/message.hpp"
#include "p2p/ops.hpp"
#include "p2p/peer.hpp"
#include "wire/p2p_packet.hpp"

namespace herald::p2p {

class Core {
 public:
  explicit Core(const CoreConfig& config) noexcept;
  ~Core();
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  // Starts and ends of operations go there too; null: nowhere.
  void set_trace(Trace* trace) noexcept { trace_ = trace; }

  // What the user wants. Operations must stay where they are until they are done.
  void start(SendOp& op) noexcept;
  void start(RecvOp& op) noexcept;
  bool probe(std::uint64_t context, std::int32_t source, std::int32_t tag, Found& found) noexcept;
  bool take(std::uint64_t context, std::int32_t source, std::int32_t tag, Found& found) noexcept;
  void start_matched(RecvOp& op, Message* message) noexcept;
  // A send whose message is not known to be matched is asked back; one that was done (short, standard) is not
  // done again until the receiver has answered.
  void cancel(SendOp& op) noexcept;
  void cancel(RecvOp& op) noexcept;
  void forget_context(std::uint64_t context) noexcept;
  // The peer is on another host. Said before anything goes to it or comes from it, by both.
  void set_remote(PeerId id) noexcept;
  // Our split copies, kAllMeetings of them, where peers can see them; null: none, nobody helps us.
  void set_split_copies(SplitCopy* ours) noexcept { split_copies_.open(ours); }
  // We can read and write the memory of the peer; its split copies, if we can help it.
  void set_direct(PeerId id, SplitCopy* theirs) noexcept;
  // Peers have no processor of their own: who has one moves a message alone, for the other could not help.
  void set_oversubscribed(bool oversubscribed) noexcept { oversubscribed_ = oversubscribed; }
  // Moves the next share of a message between two memories: true if any was, or something ended.
  bool move_direct(Mover& mover) noexcept;
  bool has_direct() const noexcept { return !reads_.empty() || !writes_.empty(); }
  bool awaits_ads() const noexcept { return !awaiting_ads_.empty(); }
  bool may_be_advertised(const RecvOp& op) const noexcept {
    return op.awaited >= 0 && op.data.total() >= config_.direct_bytes &&
           peers_[static_cast<std::size_t>(op.awaited)].direct;
  }
  // What comes next for this receive is long, as the last one from there was: it should be offered at once.
  bool expects_long(const RecvOp& op) const noexcept {
    return op.data.total() >= config_.direct_bytes && peers_[static_cast<std::size_t>(op.awaited)].was_long;
  }

  // The short way of messages that are one packet. Out: if nothing waits for the peer and `room` bytes are
  // there for a packet, push_now() writes one of this message (a SendOp is not synchronous and has no lane);
  // it is done.
  bool can_push_now(PeerId id, std::uint64_t bytes, std::size_t room) const noexcept {
    const Peer& to = peers_[static_cast<std::size_t>(id)];
    return !to.linked() && !to.far && !to.gone && !to.paused_by_peer && bytes <= most_now_ &&
           bytes + sizeof(wire::PushPacket) <= room && trace_ == nullptr;
  }
  std::size_t push_now(const ShortSend& what, std::byte* room) noexcept;
  std::size_t push_now(SendOp& op, std::byte* room) noexcept;
  // The same to a peer on another host.
  bool can_push_remote_now(PeerId id, std::uint64_t bytes) const noexcept {
    const Peer& to = peers_[static_cast<std::size_t>(id)];
    return to.far && !to.linked() && !to.gone && bytes <= most_remote_now_ && trace_ == nullptr &&
           static_cast<std::int64_t>(bytes + kRecord) <= static_cast<std::int32_t>(to.push_limit - to.pushed);
  }
  std::size_t push_remote_now(const ShortSend& what, std::byte* room) noexcept;
  // In: whether a receive, not started, can only be met by what comes next, and nothing else is to be done;
  // then, whether this packet, the next of the peer it waits for, is all of its message: it is done. If not,
  // nothing has happened.
  bool waits_for_nothing(const RecvOp& op) noexcept;
  bool receive_now(RecvOp& op, std::span<const std::byte> packet) noexcept;

  // What comes from peers. Anything but `ok` means that the packet was not taken: hand it in again later.
  Status on_packet(PeerId from, std::span<const std::byte> packet) noexcept;
  // The peer reads no more: what it was to send or to receive becomes done with Status::peer_lost.
  void on_peer_gone(PeerId peer) noexcept;
  std::uint32_t gone_count() const noexcept { return gone_count_; }
  bool is_gone(PeerId peer) const noexcept { return peers_[static_cast<std::size_t>(peer)].gone; }

  // What is to go out. poll_transmit() writes the next packet for `to` and returns its length, 0 if there is
  // none; `room` is at least wire::kLargestHeader + 1 bytes. What it wrote must be sent, in order.
  bool wants_to_send(PeerId to) const noexcept { return peers_[static_cast<std::size_t>(to)].linked(); }
  bool wants_to_send() const noexcept { return !wanting_.empty(); }
  // With `borrowed` it may be set to bytes that follow what was written and stay where they are: their
  // operation waits until on_returned() has told of so many packets to the peer that lent some, the oldest.
  std::size_t poll_transmit(PeerId to, std::span<std::byte> room, Borrowed* borrowed = nullptr) noexcept;
  void on_returned(PeerId to, std::uint32_t packets) noexcept;
  // What was written last is the beginning of a message that has to be asked for, and nothing else is under
  // way: let it go before more is written, so that the answer comes meanwhile.
  bool take_urgent() noexcept { return std::exchange(urgent_, false); }
  // Walks round the peers for whom there is something: each call the next one; -1 if there are none.
  PeerId next_wanting() noexcept;
  std::size_t wanting() const noexcept { return wanting_count_; }

  // The same for the lanes that SendOp::lane names.
  bool wants_to_cast(std::int32_t lane) const noexcept {
    return static_cast<std::size_t>(lane) < casts_.size() && !casts_[static_cast<std::size_t>(lane)]->empty();
  }
  std::size_t poll_cast(std::int32_t lane, std::span<std::byte> room) noexcept;
  // The lane is closed: what waits for it fails.
  void drop_casts(std::int32_t lane) noexcept;

  // For a person: what a peer saw of the network (wire::kNotice...). tell() sends one to whoever prints them.
  struct Notice {
    PeerId from, member;
    std::uint32_t what, amount;
  };
  void tell(PeerId to, const Notice& notice) noexcept {
    control(to, wire::NoticePacket{wire::p2p_prefix(wire::P2pKind::notice), notice.what,
                                   static_cast<std::uint32_t>(notice.member), notice.amount});
  }
  bool has_notices() const noexcept { return !notices_.empty(); }
  std::vector<Notice> take_notices() noexcept { return std::exchange(notices_, {}); }

  // For the desk of fused exchanges: an operation of its own has finished.
  void finish_fused(Op& op, Status status) noexcept { finish(op, status); }

  // Sets `done` and calls on_done for what has finished. True if there was anything.
  bool run_finished() noexcept { return !finished_.empty() && run_all_finished(); }

  std::uint64_t sends_under_way() const noexcept { return sends_under_way_; }
  std::uint64_t receives_under_way() const noexcept { return receives_under_way_; }
  const CoreCounters& counters() const noexcept { return counters_; }
  std::uint64_t messages_held() const noexcept { return messages_.held(); }

 private:
  Peer& peer(PeerId id) noexcept { return peers_[static_cast<std::size_t>(id)]; }
  void want(Peer& to) noexcept;
  void stop_wanting_if_idle(Peer& to) noexcept;
  template <class Packet>
  void control(PeerId to, const Packet& packet) noexcept;
  struct Pushed {
    std::uint32_t first, all;  // of a message: in the push packet; unasked
    bool held_back = false;    // less than it might be
  };
  Pushed plan_push(Peer& to, std::uint64_t bytes, std::size_t room) const noexcept;
  std::size_t write_push(Peer& to, SendOp& op, std::span<std::byte> room) noexcept;
  std::size_t write_remote_head(const ShortSend& what, std::uint32_t seq, std::byte* room) noexcept;
  std::size_t write_whole(SendOp& op, bool cast, std::span<std::byte> room) noexcept;
  std::size_t write_data(SendOp& op, std::span<std::byte> room, Borrowed* borrowed) noexcept;
  bool borrow(SendOp& op, std::uint32_t bytes, Borrowed& borrowed) noexcept;
  bool has_borrowed(const SendOp& op) noexcept;
  void end_send(SendOp& op) noexcept;
  void start_cast(SendOp& op) noexcept;
  std::size_t write_cast(SendOp& op, std::span<std::byte> room) noexcept;
  std::size_t write_bundle(List<SendOp>& ops, std::span<std::byte> room) noexcept;
  Status on_bundle(PeerId from, std::span<const std::byte> packet) noexcept;

  bool run_all_finished() noexcept;
  void finish(Op& op, Status status) noexcept;
  void finish_send(SendOp& op, Status status) noexcept;
  void finish_recv(RecvOp& op, Status status) noexcept;
  void leave(SendOp& op) noexcept;
  void trace_start(const RecvOp& op) const noexcept;
  void place(RecvOp& op, const wire::PushPacket& header, const std::byte* payload,
             std::size_t bytes) noexcept;
  void deliver(RecvOp& op, const Envelope& envelope, const std::byte* payload,
               std::uint32_t arrived) noexcept;
  void deliver(RecvOp& op, Message* message) noexcept;
  void drop(Message* message) noexcept;
  // What a message that its sender does not wait for costs beside its bytes: so that those without any have
  // a bound, too.
  static constexpr std::uint32_t kRecord = 64;
  static std::uint32_t record_of(const Envelope& envelope) noexcept {
    return envelope.send_id == 0 ? kRecord : 0;
  }
  void consume(PeerId from, std::uint32_t bytes) noexcept;
  void keep(Message& message) noexcept;
  void keep_no_more(const Message& message) noexcept;
  void pause_peer(PeerId from, bool yes) noexcept;
  void answer_unwanted(const Envelope& envelope) noexcept;
  static bool runs_fit(const SendOp& op, std::size_t room) noexcept;
  static std::size_t write_runs(const SendOp& op, std::span<std::byte> room) noexcept;
  bool read_runs(DirectRead& direct, const Envelope& envelope, const std::byte* runs,
                 std::uint64_t wanted) noexcept;
  bool begin_direct(RecvOp& op, const Envelope& envelope, const std::byte* runs,
                    std::uint64_t wanted) noexcept;
  bool is_to_be_advertised(const RecvOp& op, Context& context) noexcept;
  void advertise(RecvOp& op) noexcept;
  bool withdraw(RecvOp& op) noexcept;
  void release_id(RecvOp& op) noexcept;
  void forget_ad(const RecvOp& op) noexcept;
  void end_ad(RecvOp& op) noexcept;
  void end_ad(RecvOp& op, const Envelope& envelope) noexcept;
  bool take_ad(SendOp& op) noexcept;
  void begin_advertised(RecvOp& op, const Envelope& envelope, const std::byte* runs) noexcept;
  void await_ad(SendOp& op) noexcept;
  void hear(PeerId from, std::uint32_t seq, bool is_long) noexcept {
    Peer& sender = peer(from);
    if (sender.far) return;
    sender.heard = seq + 1;
    sender.was_long = is_long;
    if (ads_ != 0) renew_ad(from);
  }
  void renew_ad(PeerId from) noexcept;
  bool is_moved_alone(std::uint64_t bytes) const noexcept;
  bool read_some(RecvOp& op, Mover& mover) noexcept;
  bool write_some(SendOp& op, Mover& mover) noexcept;
  bool end_direct(RecvOp& op) noexcept;
  void pull_rest(RecvOp& op, std::uint64_t begin, std::uint64_t end) noexcept;
  void leave_direct(RecvOp& op) noexcept;
  void drop_direct(RecvOp& op) noexcept;
  void stop_helping(SendOp& op) noexcept;
  Message* find_message(std::uint64_t context, std::int32_t source, std::int32_t tag, Found& found) noexcept;

  Status on_push(PeerId from, std::span<const std::byte> packet) noexcept;
  Status on_whole(PeerId from, std::span<const std::byte> packet) noexcept;
  Status on_again(PeerId from, std::span<const std::byte> packet) noexcept;
  Status take_push(PeerId from, const wire::PushPacket& header, std::span<const std::byte> body) noexcept;
  bool on_pull(PeerId from, const wire::PullPacket& packet) noexcept;
  Status on_data(PeerId from, std::span<const std::byte> packet) noexcept;
  Status bad() noexcept {
    ++counters_.bad_packets;
    return Status::ok;
  }
  // Of the casts of a peer that are not received yet: bytes, with their records.
  std::uint32_t& cast_held(PeerId from) noexcept {
    if (cast_held_.empty()) cast_held_.resize(peers_.size());
    return cast_held_[static_cast<std::size_t>(from)];
  }
  bool holds_back(PeerId from, std::uint64_t context, std::size_t bytes) noexcept;
  Status on_unasked(PeerId from, std::span<const std::byte> packet) noexcept;
  bool on_ack(PeerId from, const wire::AckPacket& packet) noexcept;
  bool on_allowance(PeerId from, const wire::AllowancePacket& packet) noexcept;
  bool on_notice(PeerId from, const wire::NoticePacket& packet) noexcept;
  bool on_meet(PeerId from, const wire::MeetPacket& packet) noexcept;
  void on_cancel(PeerId from, const wire::CancelPacket& packet) noexcept;
  bool on_cancel_reply(PeerId from, const wire::CancelReplyPacket& packet) noexcept;

  const CoreConfig config_;
  const std::uint64_t most_now_;  // bytes of a message that is one packet
  const std::uint64_t most_remote_now_;
  std::vector<Peer> peers_;
  List<Peer> wanting_;
  std::size_t wanting_count_ = 0;
  Contexts contexts_;
  MessagePool messages_;
  List<Control> free_controls_;
  std::vector<std::unique_ptr<List<SendOp>>> casts_;  // by lane: what is to go there
  std::uint32_t next_cast_ = 0;
  std::vector<std::uint32_t> cast_held_;  // by peer, when the first cast has come
  IdTable<SendOp> sends_;                 // those that wait for an answer
  IdTable<RecvOp> recvs_;                 // those that pull, or are offered
  List<RecvOp> reads_;                    // that read a peer's memory
  List<SendOp> writes_;                   // that write to a peer's memory
  List<SendOp> borrowed_;                 // that wait for bytes that they lent
  List<SendOp> awaiting_ads_;             // that would, and wait for an offer or a split copy
  std::uint32_t turns_awaiting_ads_ = 0;  // since there was the last one more
  SplitCopies split_copies_;
  bool oversubscribed_ = false;
  Near& near(PeerId id) noexcept { return nears_[static_cast<std::size_t>(id)]; }
  std::vector<Near> nears_;  // by peer, if any is direct
  HeaderContext header_context_;
  std::uint32_t ads_ = 0;
  DirectPool directs_;
  List<Op> finished_;
  bool running_finished_ = false;
  bool urgent_ = false;
  std::uint64_t sends_under_way_ = 0, receives_under_way_ = 0;
  std::uint32_t gone_count_ = 0;
  static constexpr std::size_t kMostNotices = 256;  // kept until taken
  std::vector<Notice> notices_;
  CoreCounters counters_;
  Trace* trace_ = nullptr;
};

}  // namespace herald::p2p
