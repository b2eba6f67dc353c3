// SPDX-License-Identifier: BSD-3-Clause
// rel/inner.hpp: the mesh from inside. mesh.cpp: the verbs; sender.cpp: what an ack tells; receiver.cpp: what
// data brings; links.cpp: which links live; timers.cpp: deadlines; transmit.cpp: what leaves.
#pragma once
#include <array>
#include <memory>
#include <vector>

#include "rel/connection.hpp"
#include "rel/mesh.hpp"
#include "wire/tags.hpp"

namespace herald::rel {

// A body stands so far into its slot: head, ack part, and the length that a first record needs if a second
// packet joins it.
constexpr std::size_t kBodyRecords = wire::kLargestDatagramHead;
constexpr std::size_t kBodySingle = kBodyRecords + wire::kRecordHead;

constexpr int kMostCopies = wire::kFlagCopies >> wire::kCopiesShift;

struct Mesh::Inner {
  Inner(const MeshConfig& config, Prng& prng, Listener& listener) noexcept;

  // mesh.cpp
  Connection* make_connection() noexcept;
  Connection* find(std::int64_t peer) noexcept;
  const Connection* find(std::int64_t peer) const noexcept;
  void start(Connection& ch, Instant now) noexcept;  // at its first use
  void forget(Connection& ch) noexcept;
  std::span<std::byte> room(Connection& ch, std::size_t least) noexcept;
  std::span<std::byte> share_room(Connection& ch, std::size_t least) noexcept;
  void commit(Connection& ch, std::size_t bytes, std::span<const std::byte> borrowed) noexcept;
  void wake(Connection& ch) noexcept { sending.push(ch); }
  PeerId take(Instant now, LinkId link, wire::Opened opened, const wire::DatagramView& view) noexcept;
  void sweep(Instant now) noexcept;
  bool wants_sweep() const noexcept;

  // sender.cpp
  void on_ack(Connection& ch, Instant now, const wire::AckPart& ack) noexcept;
  bool take_acked(Connection& ch, Instant now, const wire::AckPart& ack) noexcept;
  // How often the copy that came had been sent before; kSomeCopy: not known.
  static constexpr int kSomeCopy = -1;
  void entry_acked(Connection& ch, Entry& entry, int copies, std::span<std::uint32_t> by_link) noexcept;
  void take_credit(Connection& ch, const wire::AckPart& ack) noexcept;
  void find_losses(Connection& ch, Instant now, bool answered) noexcept;
  void lose(Connection& ch, Seq seq) noexcept;
  void lose_link(Connection& ch, Instant now, LinkId link) noexcept;
  void lose_oldest(Connection& ch, LinkId link) noexcept;
  void newest_acked(Connection& ch, Instant now, const wire::AckPart& ack,
                    std::span<std::uint32_t> by_link) noexcept;
  void lose_all(Connection& ch) noexcept;
  void measure_rate(Connection& ch) noexcept;

  // receiver.cpp
  void on_data(Connection& ch, Instant now, LinkId link, const wire::DatagramView& view) noexcept;
  bool accept(Connection& ch, Instant now, const wire::DatagramView& view) noexcept;
  void note_backlog(Connection& ch, Instant now, const wire::DatagramView& view) noexcept;
  bool deliver_body(Connection& ch, std::uint8_t flags, std::span<const std::byte> body) noexcept;
  void drain(Connection& ch, Instant now) noexcept;
  void grant(Connection& ch) noexcept;
  void owe_ack(Connection& ch, Instant now) noexcept;
  static std::uint32_t ack_every(const Receiver& rx) noexcept;  // packets in order
  wire::AckBytes write_ack(Connection& ch, Instant now) noexcept;

  // links.cpp
  void heard(Connection& ch, Instant now, LinkId link) noexcept;
  void prove(Connection& ch, LinkId link) noexcept;
  void suspect(Connection& ch, Instant now, LinkId link) noexcept;
  bool has_other(const Connection& ch, LinkId link) const noexcept;
  void on_probe(Connection& ch, LinkId link, const wire::DatagramView& view) noexcept;
  void on_probe_reply(Connection& ch, Instant now, const wire::DatagramView& view) noexcept;
  void on_probe_time(Connection& ch, Instant now, LinkId link) noexcept;
  void probe_doubtful(Connection& ch, Instant now) noexcept;
  void ask_elsewhere(Connection& ch, Instant now) noexcept;  // what was asked last has no answer
  const Rtt& rtt_of(const Connection& ch) const noexcept;
  Duration timeout_of(const Link& link) const noexcept;
  Duration drain_time(const Link& link) const noexcept;

  // timers.cpp
  Instant deadline_of(const Connection& ch) const noexcept;
  Instant ask_at(const Connection& ch) const noexcept;
  Instant give_up_at(const Connection& ch) const noexcept;
  void rearm(Connection& ch, Instant now) noexcept;
  // The same, before anybody asks for a deadline: what is just under way goes on first.
  void rearm_later(Connection& ch, Instant now) noexcept {
    if (changed != &ch) rearm_changed();
    changed = &ch;
    changed_at = now;
  }
  void rearm_changed() noexcept {
    if (changed != nullptr && !changed->gone) rearm(*changed, changed_at);
    changed = nullptr;
  }
  void on_timers(Connection& ch, Instant now) noexcept;
  bool deferral(Connection& ch, Instant now, Duration time) noexcept;  // false: nothing that can wait
  void on_link_timeout(Connection& ch, Instant now, LinkId link) noexcept;

  // ask.cpp
  void watch(Connection& ch, Instant now) noexcept;

  // transmit.cpp
  bool fill(Connection& ch, Instant now, TxBatch& out) noexcept;
  std::uint32_t burst_of(const Connection& ch) const noexcept;
  bool next_to_send(Connection& ch, Instant now, Seq& seq) noexcept;
  std::uint32_t window_of(const Connection& ch, Instant now) const noexcept;
  bool is_paced(Connection& ch, Instant now) noexcept;
  // `alone`: it has its tag at once.
  Tx emit_data(Connection& ch, Instant now, Seq seq, bool alone) noexcept;
  void seal_later(std::byte* head, const Connection& ch, std::uint32_t body_crc) noexcept;
  void seal_now() noexcept;
  static bool carries_ack(const Receiver& rx, Instant now, std::size_t body_bytes) noexcept;
  void sum_up(Entry& entry) const noexcept;
  void first_time(Connection& ch, Seq seq, Entry& entry) noexcept;
  void emit_ack(Connection& ch, Instant now, TxBatch& out) noexcept;
  void emit_probes(Connection& ch, Instant now, TxBatch& out) noexcept;

  // What of the body is in its slot.
  std::span<std::byte> body_of(const Entry& entry) const noexcept {
    const bool records = (entry.flags & wire::kFlagRecords) != 0;
    return {log_pool.at(entry.slot) + (records ? kBodyRecords : kBodySingle), entry.body_bytes};
  }
  bool is_go_back() const noexcept { return config.repair == Repair::go_back_n; }

  const MeshConfig config;
  Prng& prng;
  Listener& listener;
  MeshCounters counters;
  const std::size_t body_most;
  PacketPool log_pool;
  PacketPool kept_pool;
  CreditBook book;
  std::vector<Connection*> connections;  // by peer; null: shares our memory
  // Where they are: in blocks, because each alone costs more.
  static constexpr std::size_t kBlock = 16;
  std::vector<std::unique_ptr<Connection[]>> blocks;
  std::size_t made = 0;
  DeadlineHeap<Connection> heap;
  PeerQueue<&Connection::next_sending> sending;
  PeerQueue<&Connection::next_roomy> roomy;
  PeerQueue<&Connection::next_starved> starved;
  PeerQueue<&Connection::next_warm> warm;
  Connection* changed = nullptr;  // its deadline may be another one now ...
  Instant changed_at{};           // ... since then
  Instant sweep_at{};
  // Heads that have no tag yet: several get theirs at once, before poll_transmit() returns.
  std::array<wire::TagAsked, wire::kTagsAtOnce> unsealed;
  std::array<std::byte*, wire::kTagsAtOnce> unsealed_at{};
  std::size_t unsealed_count = 0;
  // What room() gave out last.
  PacketPool::Slot spare = PacketPool::kNone;
  PeerId open_peer = -1;
  bool open_shares = false;
  std::size_t open_bytes = 0;
};

}  // namespace herald::rel
