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
#include "p2p/lane_carrier.hpp"
#include "path/mcast/mcast.hpp"
#include "rel/lanes.hpp"

namespace herald::engine {

class LaneNet {
 public:
  // Sends datagrams to single peers.
  using ToPeers = std::function<void(Instant now, const rel::TxBatch& batch)>;
  // `pool`: without key and family.
  LaneNet(const rel::LanesConfig& config, const group::Pool& pool, std::uint64_t seed, p2p::Core& core,
          ToPeers to_peers, int verbose);

  // Without it all goes to single members.
  bool open(const path::McastConfig& config, std::string& why);

  rel::LaneId open_lane(std::uint64_t name, std::span<const p2p::PeerId> members) noexcept;
  void close_lane(rel::LaneId lane) noexcept;
  // A lane of some members of another one, which are told by it. Nobody is waited for: who has not opened it
  // yet is served by unicast. -1: not now. They close it when they close that other one; or when told so by
  // close_part(), which is for lanes by which each of them has got something.
  rel::LaneId open_part(rel::LaneId whole, std::span<const p2p::PeerId> members) noexcept;
  void close_part(rel::LaneId lane) noexcept;

  bool pump(Instant now, rel::LaneId lane) noexcept;
  // A datagram of a lane that came to our own address.
  bool on_datagram(Instant now, std::span<const std::byte> datagram) noexcept;
  bool receive(Instant now, bool thorough) noexcept;
  bool after_receive(Instant now) noexcept;  // timers, windows that opened, what is due
  void set_open(p2p::Carrier::Door door) noexcept { carrier_.set_open(door); }
  void redeliver() noexcept;
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
  void forget(p2p::PeerId peer) noexcept;
  const rel::LaneCounters& counters() const noexcept { return lanes_.counters(); }

 private:
  // Lanes of parts that others have made.
  struct Guest {
    std::uint64_t name;
    p2p::PeerId host;
    rel::LaneId whole, lane;
  };
  void answer_calls() noexcept;
  bool is_good(const p2p::LaneCarrier::Call& call) const noexcept;
  void leave_group(rel::LaneId lane) noexcept;
  void dismiss_guests() noexcept;

  bool transmit(Instant now) noexcept;
  void send_groups(std::span<const rel::Tx> entries) noexcept;
  void take_news(Instant now) noexcept;
  struct Spot {  // of a lane
    path::GroupAddress group{};
    std::uint64_t name = 0;
    bool joined = false;
    bool part = false;  // we have made it, of some members of another
  };
  Spot& spot(rel::LaneId lane) noexcept { return spots_[static_cast<std::size_t>(lane)]; }
  void on_foreign(Instant now, const path::GroupAddress* group) noexcept;
  void follow_moves(Instant now) noexcept;
  void leave_old(Instant now) noexcept;

  const rel::LanesConfig config_;
  Prng prng_;
  p2p::Core& core_;
  p2p::LaneCarrier carrier_;
  rel::Lanes lanes_;
  ToPeers to_peers_;
  const int verbose_;
  group::Witness witness_;
  group::Report report_;  // used by rank 0
  bool stirred_ = true;   // something happened since the last look at what is due
  std::unique_ptr<path::McastPath> mcast_;
  group::Pool pool_;
  group::Strangers strangers_;
  std::vector<Spot> spots_;  // by lane
  struct Left {
    Instant at;
    path::GroupAddress group;
  };
  std::vector<Left> leaving_;  // others may still send there
  std::unique_ptr<rel::TxBatch> batch_, single_;
  std::vector<Guest> guests_;
  std::vector<rel::LaneId> ending_;  // parts that we have made, and close
  std::uint32_t next_part_ = 0;
};

}  // namespace herald::engine
