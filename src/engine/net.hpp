// SPDX-License-Identifier: BSD-3-Clause
// engine/net.hpp: the way to peers on other hosts: joins p2p::Core, rel::Mesh and path::UdpPath.
// In:  turns of the loop, with the time; what Core wants to send.
// Out: datagrams; packets for Core; peers that are lost.
// A peer that computes answers nobody, so another thread tends the mesh now and then (tend()): it
// acknowledges and answers, and hands nothing to Core.
#pragma once
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/knobs.hpp"
#include "base/prng.hpp"
#include "engine/host_names.hpp"
#include "engine/lanes.hpp"
#include "p2p/carrier.hpp"
#include "p2p/core.hpp"
#include "path/udp/udp.hpp"
#include "path/watch.hpp"
#include "rel/mesh.hpp"

namespace herald::engine {

// What ranks tell each other of themselves, beside their card of shared memory.
struct NetStart {
  wire::JobKey key{};
  std::uint32_t epoch = 0;
  std::uint64_t seed = 0;
  std::uint32_t local_ranks = 1;  // on this host, ourselves included
};

p2p::CoreConfig core_config(int rank, int size, const Knobs& knobs);

class Net {
 public:
  static std::unique_ptr<Net> open(int rank, int size, const Knobs& knobs, p2p::Core& core, std::string& why);

  std::string card() const { return udp_->card(); }
  bool add_peer(p2p::PeerId peer, const std::string& card, std::string& why);
  void start(const NetStart& start) noexcept;  // after all add_peer()

  // A lane to these peers and ourselves; -1: none is to be had. Nothing is waited for.
  rel::LaneId open_lane(std::uint64_t name, std::span<const p2p::PeerId> members) noexcept;
  void close_lane(rel::LaneId lane) noexcept;
  rel::LaneId open_part(rel::LaneId whole, std::span<const p2p::PeerId> members) noexcept {
    return lanes_->open_part(whole, members);
  }
  void close_part(rel::LaneId lane) noexcept { lanes_->close_part(lane); }
  bool pump_lane(Instant now, rel::LaneId lane) noexcept {
    if (now - last_here_ > kStopped) [[unlikely]]
      on_clock_gap(now);
    return lanes_->pump(now, lane);
  }

  void start(Instant now, p2p::FusedOp& op) noexcept {
    if (now - last_here_ > kStopped) [[unlikely]]
      on_clock_gap(now);
    lanes_->start(now, op);
  }

  // The short way of a message that is one packet. False: it has to go the other one.
  bool send_now(Instant now, const p2p::ShortSend& what) noexcept;
  // Sends what Core has for the peer, as far as its window goes.
  bool pump(Instant now, p2p::PeerId peer) noexcept;
  // Takes what came, and sends what is due. True if anything moved.
  bool turn(Instant now) noexcept;
  // After a sleep: takes what came, and nothing more. False: there is more to do.
  bool short_turn(Instant now) noexcept;
  // The same for a process that is elsewhere: nothing reaches Core.
  void keep_alive(Instant now) noexcept;
  // Core is about to go: what still comes for it is thrown away. What has come is acknowledged.
  void detach(Instant now) noexcept;

  // Peers that were lost: -1 when there are no more.
  p2p::PeerId take_lost() noexcept;
  void tell_links() noexcept;
  // Members of lanes that do not hear multicast: the rank that prints is told, and prints. `at_end`: now.
  void report(Instant now, bool at_end) noexcept;
  bool report_due(Instant now) const noexcept { return now >= lanes_->report_at() || core_.has_notices(); }
  const rel::LaneCounters& lane_counters() const noexcept { return lanes_->counters(); }
  bool has_news() const noexcept { return carrier_.has_news() || lanes_->has_news(); }
  bool is_flushed() const noexcept { return mesh_->is_flushed() && lanes_->is_flushed(); }
  bool is_used(p2p::PeerId peer) const noexcept;
  void forget(p2p::PeerId peer) noexcept {
    mesh_->forget_peer(peer);
    lanes_->forget(peer);
  }
  Instant last_turn() const noexcept { return last_turn_; }
  const char* host_of(p2p::PeerId peer) const noexcept { return hosts_.of(peer); }
  void set_host(p2p::PeerId peer, const std::string& host) { hosts_.set(peer, host); }

  // Until when to sleep: the next timer. To be asked before each sleep.
  Instant find_due() noexcept;
  // Why a sleep ended: the time is over, unless one of these is readable.
  struct Woken {
    bool bell = false, peers = false, lanes = false;
  };
  void set_bell(int descriptor) noexcept { watch_.add(descriptor, kBell); }  // that ends a sleep, too
  // Sleeps until a datagram comes, the bell is rung, or the time is over; now and then it ends too early.
  // Touches nothing that others may change meanwhile.
  Woken sleep(Instant now, Instant due, Duration longest) noexcept {
    return to_woken(watch_.sleep(now, due, longest));
  }
  // For who waits for the result of a fused exchange: whether nothing else matters to it for some
  // milliseconds, as far as can be told; then it may sleep until something comes by a lane, or those are
  // over. Fused exchanges that had to wait so long put an end to that for a while: something may be lost here
  // now and then.
  bool may_doze() noexcept;
  bool doze() noexcept { return lanes_->doze(); }
  void dozed(bool came) noexcept;
  std::uint64_t dozes() const noexcept { return dozes_; }
  // Nothing has come and nothing is due since the last turn: another one would be in vain. Where just one
  // socket is in use a turn costs no more than to ask; then it is false.
  bool is_still(Instant now) noexcept;
  // All that came is handed on, nothing waits for a turn but what has a time of its own, and the last one was
  // just now.
  bool is_at_rest(Instant now) const noexcept {
    return !told_ && now - last_turn_ < kAway && carrier_.door() == p2p::Carrier::Door::open &&
           lanes_->is_at_rest();
  }
  // It is known that something has come: a sleep would end at once.
  bool is_told() const noexcept { return told_ && !(skip_peers_ && skip_lanes_); }
  // The program was away for a while until a moment ago, and has slept here hardly since.
  bool just_resumed(Instant now) const noexcept { return sleeps_ < kBackSleeps && now - back_at_ < kBackFor; }
  // The program has been here for a while, call after call.
  bool is_settled(Instant now) const noexcept { return now - back_at_ > kAway; }
  // It was away until now, and nothing that we know of waits for a turn but what has a time of its own.
  bool is_resuming(Instant now) const noexcept {
    return !slept_ && !told_ && now - last_turn_ >= kAway && carrier_.door() == p2p::Carrier::Door::open &&
           !mesh_->has_work() && lanes_->is_at_rest() && !lanes_->wants_to_send();
  }
  // It comes back, and sleeps before its first turn.
  void rest_first(Instant now) noexcept { away_ = now - last_turn_; }
  // The next turn need not look elsewhere: a system call less for each.
  void woke(const Woken& why) noexcept {
    slept_ = true;
    if (sleeps_ < kBackSleeps) ++sleeps_;
    take(why);
  }
  // Somebody does nothing but take turns: most of a turn is then spent looking at the sockets of peers, so
  // that what comes is seen soon.
  void set_spinning(bool spins) noexcept { looks_ = spins ? kLooks : 0; }
  // It did so until something came. Who does not sleep for long is not told by the kernel of what comes.
  void spun() noexcept {
    if (++spins_ == kSpinsUnwatched) watch_.pause(kPeers | kLanes);
  }
  const rel::MeshCounters& counters() const noexcept { return mesh_->counters(); }

 private:
  // Without a turn for so long, and not because we slept: the program was elsewhere, or did not get a
  // processor.
  static constexpr Duration kAway = microseconds(300), kBackFor = microseconds(500);
  static constexpr int kBackSleeps = 3;
  static constexpr int kLooks = 8;  // more than one
  static constexpr std::uint32_t kLeastAwake = 8, kMostAwake = 8192, kDozesToForget = 256,
                                 kAwakeAfterLoss = 128;              // fused exchanges
  static constexpr std::uint32_t kSpinsUnwatched = 64;               // in a row
  static constexpr std::uint32_t kPeers = 1, kLanes = 2, kBell = 4;  // marks of the watch
  static Woken to_woken(std::uint32_t marks) noexcept {
    return {(marks & kBell) != 0, (marks & kPeers) != 0, (marks & kLanes) != 0};
  }

  Net(int rank, int size, const Knobs& knobs, p2p::Core& core);
  void watch() noexcept {
    spins_ = 0;
    watch_.resume();
  }
  Woken look() noexcept {
    watch();
    return to_woken(watch_.look());
  }
  void take(const Woken& why) noexcept {
    told_ = true;
    skip_peers_ = !why.peers;
    skip_lanes_ = !why.lanes;
    if (why.lanes) silent_turns_ = 0;
    if (why.peers) silent_peer_turns_ = 0;
  }
  bool receive(Instant now, bool thorough) noexcept;
  bool receive_peers(Instant now, bool thorough) noexcept;
  bool take(Instant now, std::span<const path::UdpArrival> arrivals) noexcept;
  bool take_row(Instant now, std::span<const path::UdpArrival> arrivals) noexcept;
  bool receive_lanes(Instant now, bool thorough) noexcept;
  bool transmit(Instant now) noexcept;
  void send(Instant now, const rel::TxBatch& batch) noexcept;
  void send_out(Instant now, std::size_t count) noexcept;
  void probe_idle_peers(Instant now) noexcept;
  void wait_writable() const noexcept;
  void start_lanes(const NetStart& start) noexcept;
  std::optional<Instant> next_deadline() const noexcept;
  void set_door(p2p::Carrier::Door door) noexcept {
    carrier_.set_open(door);
    lanes_->set_open(door);
  }
  void trace() noexcept;

  const int rank_;
  const int size_;
  const Duration detect_;
  p2p::Core& core_;
  p2p::Carrier carrier_;
  std::unique_ptr<path::UdpPath> udp_;
  rel::MeshConfig config_;
  Prng prng_;
  std::unique_ptr<rel::Mesh> mesh_;
  std::unique_ptr<LaneNet> lanes_;
  std::unique_ptr<rel::TxBatch> batch_;
  std::array<path::UdpSend, rel::TxBatch::kMost> out_;  // the batch, as the path wants it
  std::vector<rel::LinkId> links_;                      // to each peer; 0: not ours
  HostNames hosts_;
  path::Watch watch_;                                  // all that we sleep on
  std::uint32_t spins_ = 0;                            // since somebody slept or asked the watch
  bool told_ = false;                                  // the next turn knows where something has come
  bool slept_ = true;                                  // since the last turn
  int sleeps_ = 0;                                     // since the program was away; kBackSleeps: or more
  int looks_ = 0;                                      // at peers' sockets in a turn, beyond the first
  bool mesh_stirred_ = true;                           // something came for it since the last brief turn
  std::uint64_t dozes_ = 0;                            // so far
  std::uint64_t fused_resent_ = 0;                     // as it was before the last fused exchange
  std::uint32_t awake_for_ = 0, awake_ = kLeastAwake;  // fused exchanges without: still, and the next time
  int short_turns_in_row_ = 0;                         // in a row
  Instant due_{};                                      // nothing is, before, as the last sleeper found
  int turns_moved_ = 0;                                // since the deadlines were looked at
  bool skip_peers_ = false, skip_lanes_ = false;       // in the next turn: nothing has come there
  std::uint32_t silent_turns_ = 0;                     // since something came by a lane
  std::uint32_t silent_peer_turns_ = 0;                // since something came from a peer
  static constexpr Duration kStopped = milliseconds(100);  // no sign of ourselves: maybe
  void on_clock_gap(Instant now) noexcept;
  Instant last_turn_{}, last_here_{}, back_at_{};
  Duration away_{};  // the program was, before it slept without a turn; 0: it has had one
  Instant next_probe_{};
  p2p::PeerId next_probed_ = 0;
  std::uint64_t traced_resent_ = 0, traced_dropped_ = 0;
  const int verbose_;
  const bool lanes_on_;
  const std::uint32_t socket_bytes_;
  const bool segment_;  // UDP_SEGMENT may be tried
  const rel::LaneMode lane_mode_;
  const std::uint32_t lane_window_;  // packets
  group::Pool pool_;                 // of lanes' addresses
};

}  // namespace herald::engine
