// SPDX-License-Identifier: BSD-3-Clause
// engine/net.cpp: turns of the network: receive, let the node work, transmit.
#include "engine/net.hpp"

#include <poll.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/trace.hpp"
#include "engine/no_udp_line.hpp"
#include "engine/tcp_links.hpp"

namespace herald::engine {
namespace {

constexpr int kReceiveBatches = 8, kTransmitBatches = 16;  // in one turn
constexpr int kFullSocketMs = 2;  // wait for room in a socket; then the datagram counts as lost
constexpr std::size_t kMostSockets = 16;
// Where no cast has come for many turns, most turns save the system call that would look for one.
constexpr std::uint32_t kSilentTurns = 64, kTurnsPerLook = 4;
constexpr std::uint32_t kSpinsUnwatched = 64;  // in a row

void wait_writable(std::span<const int> descriptors) noexcept {
  std::array<pollfd, kMostSockets> fds{};
  nfds_t count = 0;
  for (const int fd : descriptors)
    if (count < kMostSockets) fds[count++] = {.fd = fd, .events = POLLOUT, .revents = 0};
  (void)::poll(fds.data(), count, kFullSocketMs);
}

// HERALD_VERBOSE: what a line says of an event.
std::string text_of(const node::NodeEvent& event, const path::UdpPath& udp) {
  using Kind = node::NodeEvent::Kind;
  const std::string peer = "rank " + std::to_string(event.peer), amount = std::to_string(event.amount);
  switch (event.kind) {
    case Kind::link_up:
    case Kind::link_down:
      return "link " + udp.link_name(event.peer, static_cast<rel::LinkId>(event.amount)) + " to " + peer +
             (event.kind == Kind::link_up ? " works" : " does not answer");
    case Kind::multicast_restored: return peer + " hears our multicast";
    case Kind::multicast_lost:
      return peer +
             " does not hear our multicast; it is served by unicast, and multicast is tried again with every "
             "cast to others, or with back-off up to a second";
    case Kind::multicast_lossy: return amount + " % of the multicast from " + peer + " is lost, and repaired";
    case Kind::group_shared:
      return "no more groups can be joined (igmp_max_memberships); a communicator shares the group of others";
    case Kind::lane_moved: return "a lane moves to its address number " + amount;
    case Kind::group_foreign: return "others use a multicast address of ours; its lanes move";
    case Kind::segment_shrunk:
    case Kind::segment_grown:
      return "link " + udp.link_name(event.peer, event.link) + " to " + peer + ": datagrams of " + amount +
             " bytes";
    case Kind::peer_silent: return peer + " does not answer";
    case Kind::peer_answers: return peer + " answers again";
  }
  return {};
}

}  // namespace

Net::Net(int rank, const Knobs& knobs, node::Node& node, std::unique_ptr<path::UdpPath> udp,
         std::shared_ptr<TcpLinks> tcp, std::vector<std::unique_ptr<path::McastPath>> mcast, HostNames hosts)
    : slowest_mbit(udp->slowest_mbit()),
      rank_(rank),
      verbose_(knobs.verbose > 0),
      use_lanes_(knobs.lanes == "on"),
      node_(node),
      udp_(std::move(udp)),
      tcp_(std::move(tcp)),
      hosts_(std::move(hosts)),
      silence_(rank, knobs),
      segments_(rank),
      ports_(knobs.ports) {
  to_peers_.reserve(rel::TxBatch::kMost);
  for (const int fd : udp_->descriptors()) watch_.add(fd, kPeers);
  watch_.add(tcp_->descriptor(), kTcp);
  watch_.add(tcp_->bulk().descriptor(), kTcp);
  for (auto& path : mcast) {
    watch_.add(path->descriptor(), kLanes);
    groups_.push_back({std::move(path), {}});
  }
  if (!groups_.empty()) node_.lanes().use_groups(*this);
}

bool Net::pump(Instant now, p2p::PeerId peer) noexcept {
  bool moved = false;
  while (node_.pump(now, peer)) {
    (void)transmit(now);
    moved = true;
  }
  return moved;
}

bool Net::pump_lane(Instant now, rel::LaneId lane) noexcept {
  const bool moved = node_.pump_lane(now, lane);
  if (moved) (void)transmit(now);
  return moved;
}

void Net::start(Instant now, p2p::FusedOp& op) noexcept {
  node_.start(now, op);
  (void)transmit(now);
}

bool Net::turn(Instant now) noexcept {
  node_.begin_turn(now, node::Caller::program);
  const bool quiet = ready_known_ && !tcp_ready_;
  bool moved = receive(now, false);
  for (int i = 0; i < extra_polls_ && !moved; ++i) moved = receive_peers(now, false);
  moved = node_.end_turn(now, node::Caller::program, moved) || moved;
  moved = transmit(now) || moved;
  return tcp_->bulk().turn(quiet) || moved;
}

void Net::keep_alive(Instant now) noexcept {
  node_.begin_turn(now, node::Caller::keep_alive);
  const bool moved = receive(now, true);
  (void)node_.end_turn(now, node::Caller::keep_alive, moved);
  (void)transmit(now);
}

void Net::detach(Instant now) noexcept {
  node_.detach();
  tcp_->print_refused();
  tcp_->bulk().close();
  (void)transmit(now);
}

// `thorough`: until nothing is left. A waiting call comes again soon and saves the last system call.
bool Net::receive(Instant now, bool thorough) noexcept {
  const bool known = std::exchange(ready_known_, false);
  const bool peers = !known || peers_ready_, lanes = !known || lanes_ready_;
  bool moved = peers && receive_peers(now, thorough);
  moved = tcp_->turn(now, known ? tcp_ready_ : thorough) || moved;
  return (lanes && receive_groups(now, thorough)) || moved;
}

bool Net::receive_peers(Instant now, bool thorough) noexcept {
  bool moved = false;
  for (int i = 0; i < kReceiveBatches; ++i) {
    const std::span<const path::UdpArrival> arrivals = udp_->receive();
    moved = take(now, arrivals) || moved;
    if (thorough ? arrivals.empty() : !udp_->may_have_more()) break;
    (void)transmit(now);  // senders hear of these while we are busy with the next
  }
  return moved;
}

bool Net::take(Instant now, std::span<const path::UdpArrival> arrivals) noexcept {
  std::array<rel::Mesh::Rx, rel::Mesh::kMostAtOnce> row{};
  bool good = false;
  for (std::size_t at = 0; at < arrivals.size();) {
    std::size_t count = 0;
    for (; count < row.size() && at < arrivals.size(); ++at) {
      if (!tcp_->is_idle() && tcp_->take_probe(now, arrivals[at])) [[unlikely]]
        continue;
      row[count++] = {arrivals[at].from >= 0 ? arrivals[at].link : rel::kMostLinks, arrivals[at].bytes};
    }
    if (count != 0) good = node_.on_datagrams(now, {row.data(), count}) || good;
  }
  return good;
}

bool Net::take_groups(Instant now, path::McastPath& from,
                      std::span<const std::span<const std::byte>> arrivals) noexcept {
  bool moved = false;
  for (std::size_t first = 0; first < arrivals.size(); first += rel::Lanes::kMostTogether) {
    const std::size_t count = std::min(rel::Lanes::kMostTogether, arrivals.size() - first);
    const std::uint32_t good = node_.on_group_datagrams(now, arrivals.subspan(first, count));
    moved = good != 0 || moved;
    if (good == (1u << count) - 1) continue;
    // Another program uses the group. Where the path does not know which one, the next datagram tells.
    from.track_groups();
    for (std::size_t k = 0; k < count; ++k) {
      const path::GroupAddress* const group = from.group_of(first + k);
      if ((good >> k & 1) == 0 && group != nullptr) node_.lanes().on_foreign(now, *group);
    }
  }
  return moved;
}

bool Net::receive_groups(Instant now, bool thorough) noexcept {
  bool moved = false;
  for (Groups& groups : groups_) {
    const std::uint32_t turns = ++groups.turns_without_cast;
    if (!thorough && turns > kSilentTurns && turns % kTurnsPerLook != 0) continue;
    path::McastPath& from = *groups.path;
    for (int i = 0; i < kReceiveBatches; ++i) {
      const auto arrivals = from.receive();
      if (take_groups(now, from, arrivals)) {
        groups.turns_without_cast = 0;
        moved = true;
      }
      if (thorough ? arrivals.empty() : !from.may_have_more()) break;
      (void)transmit(now);  // sources hear of these while we are busy with the next
    }
  }
  return moved;
}

bool Net::transmit(Instant now) noexcept {
  bool moved = false;
  for (int i = 0; i < kTransmitBatches && node_.poll_transmit(now, batch_) != 0; ++i) {
    to_peers_.clear();
    by_tcp_.clear();
    const bool some_tcp = !tcp_->is_idle();
    for (std::size_t k = 0; k < batch_.count; ++k) {
      const rel::Tx& tx = batch_.entries[k];
      if (some_tcp && tx.to >= 0 && tcp_->uses(tx.to)) [[unlikely]]
        by_tcp_.push_back({tx.to, tx.link, tx.datagram, tx.rest});
      else if (tx.to >= 0)
        to_peers_.push_back({tx.to, tx.link, tx.datagram, tx.rest});
      else if (tx.link < groups_.size())
        groups_[tx.link].batch.push_back({&node_.lanes().group_of(rel::Lanes::lane_of(tx.to)), tx.datagram});
    }
    for (Groups& each : groups_)
      if (!each.batch.empty()) send_to_groups(each);
    if (!to_peers_.empty()) send_to_peers(now);
    if (!by_tcp_.empty()) tcp_->send(now, by_tcp_);
    moved = true;
  }
  if (process_trace.on()) [[unlikely]]
    trace();
  return moved;
}

void Net::send_to_peers(Instant now) noexcept {
  std::size_t broken = 0;  // they are moved to the front
  bool waited = false;
  for (std::size_t at = 0; at < to_peers_.size();) {
    std::ptrdiff_t failed = -1;
    const std::size_t left = udp_->send({to_peers_.data() + at, to_peers_.size() - at}, failed);
    at += left;
    if (failed >= 0) {
      to_peers_[broken++] = to_peers_[at++];
    } else if (left == 0) {
      if (waited) break;
      waited = true;
      wait_writable(udp_->descriptors());
    }
  }
  for (std::size_t i = 0; i < broken; ++i) node_.on_link_error(now, to_peers_[i].to, to_peers_[i].link);
}

void Net::send_to_groups(Groups& groups) noexcept {
  bool waited = false;
  for (std::size_t at = 0; at < groups.batch.size();) {
    const std::size_t left = groups.path->send({groups.batch.data() + at, groups.batch.size() - at});
    uplink_rate = std::max(uplink_rate, groups.path->uplink_rate());
    at += left;
    if (left != 0) continue;
    if (waited) break;
    waited = true;
    const int fd = groups.path->send_descriptor();
    wait_writable({&fd, 1});
  }
  groups.batch.clear();
}

// A group that an interface beyond the first cannot join is received by the others.
bool Net::join(const group::Address& group) noexcept {
  if (!groups_.front().path->join(group)) return false;
  for (std::size_t i = 1; i < groups_.size(); ++i) (void)groups_[i].path->join(group);
  return true;
}

void Net::leave(const group::Address& group) noexcept {
  for (Groups& each : groups_) each.path->leave(group);
}

// Adds the counts of the mesh since the last call.
void Net::trace() noexcept {
  const rel::MeshCounters& all = node_.mesh().counters();
  const auto add = [](TraceEvent event, std::uint64_t total, std::uint64_t& traced) {
    if (total != traced)
      process_trace.add(event, std::uint64_t{0}, static_cast<std::int64_t>(total - traced),
                        static_cast<std::int64_t>(total));
    traced = total;
  };
  const rel::LaneCounters& lanes = node_.lanes().lanes().counters();
  const std::uint64_t repaired = lanes.repaired_unicast + lanes.repaired_multicast + lanes.fused_resent;
  add(TraceEvent::resent, all.resent + repaired, traced_resent_);
  add(TraceEvent::dropped, all.malformed + all.stale + all.forged + node_.refused().all(), traced_dropped_);
}

Instant Net::prepare_to_sleep() noexcept {
  spins_ = 0;
  watch_.resume();
  return std::min(node_.next_deadline().value_or(rel::kNever), tcp_->next_deadline());
}

Net::Woken Net::sleep(Instant now, Instant due, Duration longest) noexcept {
  const std::uint32_t marks = watch_.sleep(now, due, longest);
  return {(marks & kBell) != 0, (marks & kPeers) != 0, (marks & kLanes) != 0, (marks & kTcp) != 0};
}

void Net::woke(const Woken& why) noexcept {
  node_.on_block();
  mark_ready(why);
}

void Net::look() noexcept {
  watch_.resume();
  const std::uint32_t marks = watch_.look();
  mark_ready({false, (marks & kPeers) != 0, (marks & kLanes) != 0, (marks & kTcp) != 0});
}

void Net::mark_ready(const Woken& why) noexcept {
  ready_known_ = true;
  peers_ready_ = why.peers;
  lanes_ready_ = why.lanes;
  tcp_ready_ = why.tcp;
  if (!why.lanes) return;
  for (Groups& each : groups_) each.turns_without_cast = 0;
}

void Net::on_spun() noexcept {
  if (++spins_ == kSpinsUnwatched) watch_.pause(kPeers | kLanes);
}

void Net::print_events() noexcept {
  using Kind = node::NodeEvent::Kind;
  for (const node::NodeEvent& event : node_.take_events()) {
    const bool up = event.kind == Kind::link_up;
    if (up || event.kind == Kind::link_down)
      process_trace.add(TraceEvent::link, std::uint64_t{0}, event.peer, event.amount, up ? 1 : 0);
    if (event.kind == Kind::multicast_lost || event.kind == Kind::multicast_restored)
      process_trace.add(TraceEvent::lane, std::uint64_t{0}, event.peer,
                        event.kind == Kind::multicast_restored ? 1 : 0);
    if (event.kind == Kind::peer_silent || event.kind == Kind::peer_answers) {
      process_trace.add(TraceEvent::suspected, std::uint64_t{0}, event.peer,
                        event.kind == Kind::peer_silent ? 1 : 0);
      silence_.print(event, hosts_.of(event.peer));
    }
    if (event.kind == Kind::segment_shrunk)
      segments_.print(event, hosts_.of(event.peer), udp_->link_name(event.peer, event.link));
    // In one write: ranks share a terminal.
    if (verbose_) std::fprintf(stderr, "herald: rank %d: %s\n", rank_, text_of(event, *udp_).c_str());
  }
}

void Net::print_report(Instant now, bool at_end) noexcept {
  const auto host_of = [this](std::int32_t rank) { return std::string(hosts_.of(rank)); };
  node::Reports& reports = node_.lanes().reports();
  const std::string line = reports.update(now, host_of, at_end);
  if (!line.empty()) std::fprintf(stderr, "herald: %s\n", line.c_str());
  print_no_udp(reports.take_no_udp(now, host_of, at_end), ports_);
}

}  // namespace herald::engine
