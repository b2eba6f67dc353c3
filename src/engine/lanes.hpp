// SPDX-License-Identifier: BSD-3-Clause
// engine/lanes.hpp: the lanes of this process: joins p2p::Core, rel::Lanes and path::McastPath. Part of the
// net: datagrams to single members go by the net's own path. In:  lanes to open and close; turns of the net.
// Out: datagrams to groups and to peers; packets for Core.
#pragma once
#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/knobs.hpp"
#include "base/prng.hpp"
#include "group/address.hpp"
#include "group/report.hpp"
#include "p2p/fused_ops.hpp"
#include "p2p/lane_carrier.hpp"
#include "p2p/lane_registry.hpp"
#include "path/mcast/mcast.hpp"
#include "rel/lanes.hpp"

namespace herald::engine {

constexpr int kReceiveBatches = 8, kTransmitBatches = 16;  // in one turn
constexpr int kFullSocketMs = 2;  // wait for room in a socket; then the datagram is lost, and repaired

class LaneNet final : p2p::LaneGroups {
 public:
  // Sends datagrams to single peers.
  using ToPeers = std::function<void(Instant now, const rel::TxBatch& batch)>;
  // `pool`: without key and family.
  LaneNet(const rel::LanesConfig& config, const group::Pool& pool, std::uint64_t seed, p2p::Core& core,
          ToPeers to_peers, int verbose);

  // Without it all goes to single members.
  bool open(const path::McastConfig& config, std::string& why);

  // See p2p/lane_registry.hpp.
  rel::LaneId open_lane(std::uint64_t name, std::span<const p2p::PeerId> members) noexcept {
    return registry_.open(name, members);
  }
  void close_lane(rel::LaneId lane) noexcept {
    fused_ops_.drop(lane);
    registry_.close(lane);
  }
  rel::LaneId open_part(rel::LaneId whole, std::span<const p2p::PeerId> members) noexcept {
    return registry_.open_part(whole, members);
  }
  void close_part(rel::LaneId lane) noexcept { registry_.close_part(lane); }

  bool pump(Instant now, rel::LaneId lane) noexcept;
  void start(Instant now, p2p::FusedOp& op) noexcept;
  // Fused exchanges that may have finished, because something has come since the last time. True if one has.
  bool look() noexcept {
    if (!news_for_fused_ || !fused_ops_.waits()) return false;
    news_for_fused_ = false;
    return fused_ops_.look();
  }
  void on_clock_gap(Instant now) noexcept { lanes_.on_clock_gap(now); }
  // A datagram of a lane that came to our own address.
  bool on_datagram(Instant now, std::span<const std::byte> datagram) noexcept;
  bool receive(Instant now, bool thorough) noexcept;
  // Whether all that we wait for is the result to a group; then, to sleep until something has come to one: it
  // is received next. False: nothing came.
  bool may_doze() const noexcept { return mcast_ && !carrier_.has_calls() && lanes_.has_only_fused(); }
  bool doze() noexcept {
    dozed_ = mcast_->await();
    return !dozed_.empty();
  }
  void on_resume(Instant now, Duration away) noexcept { lanes_.on_resume(now, away); }
  bool after_receive(Instant now) noexcept;  // timers, windows that opened, what is due
  void set_open(p2p::Carrier::Door door) noexcept { carrier_.set_open(door); }
  void redeliver() noexcept;
  bool is_at_rest() const noexcept {
    return !stirred_ && !carrier_.holds() && !(news_for_fused_ && fused_ops_.waits());
  }
  bool wants_to_send() const noexcept { return lanes_.wants_to_send(); }
  std::vector<p2p::PeerId> take_lost() noexcept { return carrier_.take_lost(); }
  bool has_news() const noexcept { return carrier_.has_news(); }
  // Tells the rank that prints of members that do not hear us (group/report.hpp); that one prints.
  using HostOf = group::Report::HostOf;
  void report(Instant now, const HostOf& host_of, bool at_end) noexcept;

  // When report() has something to do.
  Instant report_at() const noexcept { return std::min(witness_.next_deadline(), report_.next_deadline()); }
  std::optional<Instant> next_deadline() const noexcept {
    if (carrier_.has_calls()) return Instant{};
    return lanes_.next_deadline();
  }
  bool is_flushed() const noexcept { return lanes_.is_flushed(); }
  int descriptor() const noexcept { return mcast_ ? mcast_->descriptor() : -1; }
  void forget(p2p::PeerId peer) noexcept {
    registry_.forget(peer);
    news_for_fused_ = true;
  }
  const rel::LaneCounters& counters() const noexcept { return lanes_.counters(); }

 private:
  bool join(const group::Address& group) noexcept override { return mcast_->join(group); }
  void leave(const group::Address& group) noexcept override { mcast_->leave(group); }
  void on_shared() noexcept override;
  void on_moved(std::uint8_t move) noexcept override;
  void on_strangers() noexcept override;

  // Something has come. Fused exchanges leave nothing to be done but what they say.
  void note(std::span<const std::byte> datagram) noexcept {
    news_for_fused_ = true;
    stirred_ = stirred_ || !wire::is_fused(datagram) || lanes_.wants_to_send();
  }
  bool transmit(Instant now) noexcept;
  void send_groups() noexcept;
  void take_news(Instant now) noexcept;

  const rel::LanesConfig config_;
  Prng prng_;
  p2p::Core& core_;
  p2p::LaneCarrier carrier_;
  rel::Lanes lanes_;
  p2p::LaneRegistry registry_;
  p2p::FusedOps fused_ops_;
  ToPeers to_peers_;
  const int verbose_;
  group::Witness witness_;
  group::Report report_;  // used by rank 0
  bool stirred_ = true;   // something happened since the last look at what is due
  bool news_for_fused_ = false;
  std::unique_ptr<path::McastPath> mcast_;
  std::span<const std::span<const std::byte>> dozed_;  // what ended that
  group::Pool pool_;
  std::unique_ptr<rel::TxBatch> batch_, single_;
  std::vector<path::McastPath::Send> to_groups_;  // as single_
};

}  // namespace herald::engine
