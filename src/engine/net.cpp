// SPDX-License-Identifier: BSD-3-Clause
#include "engine/net.hpp"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

namespace herald::engine {
namespace {

constexpr int kTurnsPerDeadline = 8, kShortTurnsInRow = 16;  // at most
constexpr std::uint32_t kSilentTurns = 64, kTurnsPerLook = 4;
constexpr std::uint32_t kSilentPeerTurns = 4, kTurnsPerPeerLook = 2;  // of peers, while a lane brings much
constexpr std::size_t kMostSockets = 16;
constexpr int kProbedAtOnce = 64;  // peers, of whom none was heard lately

p2p::PushMode push_mode(const Knobs& knobs) {
  if (knobs.push_mode == "zero") return p2p::PushMode::zero;
  return knobs.push_mode == "all" ? p2p::PushMode::all : p2p::PushMode::pull;
}

rel::LaneMode lane_mode(const Knobs& knobs) {
  if (knobs.lanes_mode == "simple") return rel::LaneMode::simple;
  return knobs.lanes_mode == "push_pull" ? rel::LaneMode::push_pull : rel::LaneMode::streaming;
}

}  // namespace

p2p::CoreConfig core_config(int rank, int size, const Knobs& knobs) {
  p2p::CoreConfig config;
  config.peers = size;
  config.me = rank;
  config.push_bytes = static_cast<std::uint32_t>(knobs.push_bytes);
  config.mode = push_mode(knobs);
  config.direct_bytes = static_cast<std::uint64_t>(knobs.cma_bytes);
  config.local_allowance = static_cast<std::uint32_t>(knobs.shm_allowance_bytes);
  config.remote_more = static_cast<std::uint32_t>(knobs.net_push_bytes);
  config.remote_copied = static_cast<std::uint32_t>(knobs.net_copy_bytes);
  config.remote_allowance = static_cast<std::uint32_t>(knobs.net_allowance_bytes);
  return config;
}

Net::Net(int rank, int size, const Knobs& knobs, p2p::Core& core)
    : rank_(rank),
      size_(size),
      detect_(milliseconds(knobs.detect_ms)),
      core_(core),
      carrier_(core),
      prng_(0),
      batch_(std::make_unique<rel::TxBatch>()),
      links_(static_cast<std::size_t>(size)),
      hosts_(size),
      verbose_(static_cast<int>(knobs.verbose)),
      lanes_on_(knobs.lanes == "on"),
      socket_bytes_(static_cast<std::uint32_t>(knobs.net_socket_bytes)),
      segment_(knobs.net_segment == "on"),
      lane_mode_(lane_mode(knobs)),
      lane_window_(static_cast<std::uint32_t>(knobs.lane_window)) {
  config_.me = rank;
  config_.peers = size;
  config_.give_up = detect_;
  config_.log_bytes = static_cast<std::uint32_t>(knobs.net_log_bytes);
  config_.repair = knobs.net_repair == "go_back_n" ? rel::Repair::go_back_n : rel::Repair::selective;
  config_.budget_bytes = static_cast<std::uint32_t>(knobs.net_switch_bytes);
}

std::unique_ptr<Net> Net::open(int rank, int size, const Knobs& knobs, p2p::Core& core, std::string& why) {
  std::unique_ptr<Net> net(new Net(rank, size, knobs, core));
  net->pool_.port = static_cast<std::uint16_t>(knobs.lanes_port);
  if (!group::read_range(knobs.lanes_net, net->pool_)) {
    why = "HERALD_LANES_NET=" + knobs.lanes_net + ": a range of multicast addresses such as 239.192.0.0/14";
    return nullptr;
  }
  path::UdpConfig config;
  config.rank = rank;
  config.size = size;
  config.interfaces = knobs.if_;
  config.networks = knobs.net;
  config.socket_bytes = static_cast<std::uint32_t>(knobs.net_socket_bytes);
  config.segment = net->segment_;
  net->udp_ = path::UdpPath::open(config, why);
  if (!net->udp_) return nullptr;
  return net;
}

bool Net::add_peer(p2p::PeerId peer, const std::string& card, std::string& why) {
  const int links = udp_->add_peer(peer, card, why);
  if (links <= 0) return false;
  links_[static_cast<std::size_t>(peer)] = static_cast<rel::LinkId>(std::min<int>(links, rel::kMostLinks));
  core_.set_remote(peer);
  return true;
}

void Net::start(const NetStart& start) noexcept {
  hosts_.settle();
  udp_->settle();
  config_.seal = {start.key, start.epoch};
  config_.datagram_bytes = udp_->datagram_bytes();
  config_.largest_bytes = udp_->largest_bytes();
  config_.row_packets = udp_->row_packets();
  config_.burst_packets = std::max(1u, config_.burst_packets / config_.row_packets) * config_.row_packets;
  // The ranks of a host share the port of the switch, and so what it holds; and all peers may be eager at
  // once.
  config_.budget_bytes =
      std::min(config_.budget_bytes / std::max(start.local_ranks, 1u), udp_->receive_bytes());
  const auto far =
      static_cast<std::uint32_t>(size_) - std::min(start.local_ranks, static_cast<std::uint32_t>(size_));
  config_.eager_packets = rel::eager_window(config_.budget_bytes, config_.datagram_bytes, far);
  prng_ = Prng(start.seed);
  mesh_ = std::make_unique<rel::Mesh>(config_, prng_, carrier_);
  carrier_.join(*mesh_);
  for (int peer = 0; peer < size_; ++peer)
    if (links_[static_cast<std::size_t>(peer)] != 0)
      mesh_->add_peer(peer, links_[static_cast<std::size_t>(peer)]);
  start_lanes(start);
  for (const int fd : udp_->descriptors()) watch_.add(fd, kPeers);
  watch_.add(lanes_->descriptor(), kLanes);
}

bool Net::is_used(p2p::PeerId peer) const noexcept {
  return links_[static_cast<std::size_t>(peer)] != 0 && mesh_->is_used(peer);
}

// The process may have been stopped: before peers are judged by their silence.
void Net::on_clock_gap(Instant now) noexcept {
  last_here_ = now;
  mesh_->on_clock_gap(now);
  lanes_->on_clock_gap(now);
}

bool Net::send_now(Instant now, const p2p::ShortSend& what) noexcept {
  if (now - last_here_ > kStopped) [[unlikely]]
    on_clock_gap(now);
  rel::Tx one;
  if (!carrier_.send_now(now, what, one)) return false;
  out_[0] = {one.to, one.link, one.datagram, one.rest};
  send_out(now, 1);
  return true;
}

bool Net::pump(Instant now, p2p::PeerId peer) noexcept {
  if (now - last_here_ > kStopped) [[unlikely]]
    on_clock_gap(now);
  bool moved = false;
  do {
    if (!carrier_.pump(peer)) break;
    (void)transmit(now);
    moved = true;
  } while (carrier_.take_stopped());
  return moved;
}

// With all that receives in one piece, as path/udp/receiver.cpp says.
bool Net::turn(Instant now) noexcept {
  if (now - last_here_ > kStopped) [[unlikely]]
    on_clock_gap(now);
  const bool slept = std::exchange(slept_, false), rested = away_.ns != 0;
  const Duration away = rested ? std::exchange(away_, {}) : now - last_turn_;
  const bool was_away = rested || (!slept && away >= kAway);
  last_turn_ = last_here_ = now;
  if (carrier_.door() == p2p::Carrier::Door::later) {
    set_door(p2p::Carrier::Door::open);
    mesh_->redeliver();
  }
  lanes_->redeliver();
  bool moved = receive(now, false);
  for (int i = 0; i < looks_ && !moved; ++i) moved = receive_peers(now, false);
  if (lanes_->look()) core_.run_finished();
  short_turns_in_row_ = 0;
  if (was_away) {
    back_at_ = now;
    sleeps_ = 0;
    mesh_->on_resume(now, away);
    lanes_->on_resume(now, away);
  }
  // Who got something goes on with it; timers come in the next turn, which is soon.
  const bool goes_on = moved && ++turns_moved_ < kTurnsPerDeadline;
  if (goes_on && !mesh_->has_work() && lanes_->is_at_rest()) return true;
  if (!goes_on) {
    turns_moved_ = 0;
    const std::optional<Instant> due = mesh_->next_deadline();
    if (due && *due <= now) mesh_->on_deadline(now);
  }
  moved = carrier_.pump_ready() || moved;
  moved = transmit(now) || moved;
  moved = lanes_->after_receive(now) || moved;
  probe_idle_peers(now);
  return moved;
}

// Timers, what waits to be sent and questions come in a whole turn, which is due after a few of these.
bool Net::short_turn(Instant now) noexcept {
  if (!told_ || (skip_peers_ && skip_lanes_) || now >= due_ || now - last_here_ > kStopped ||
      ++short_turns_in_row_ > kShortTurnsInRow || carrier_.door() != p2p::Carrier::Door::open)
    return false;
  slept_ = false;
  last_turn_ = last_here_ = now;
  mesh_stirred_ = false;
  (void)receive(now, false);
  if (lanes_->look()) core_.run_finished();
  return !mesh_stirred_ && lanes_->is_at_rest();
}

void Net::keep_alive(Instant now) noexcept {
  on_clock_gap(now);
  if (carrier_.door() == p2p::Carrier::Door::open) set_door(p2p::Carrier::Door::later);
  (void)receive(now, true);
  const std::optional<Instant> due = mesh_->next_deadline();
  if (due && *due <= now) mesh_->on_deadline(now);
  (void)transmit(now);
  (void)lanes_->after_receive(now);
  probe_idle_peers(now);
}

void Net::detach(Instant now) noexcept {
  set_door(p2p::Carrier::Door::discard);
  mesh_->redeliver();
  lanes_->redeliver();
  mesh_->hurry_acks();
  (void)transmit(now);
}

// `thorough`: until nothing is left. Who takes turns comes again soon, and pays a call for nothing less.
[[gnu::always_inline]] inline bool Net::receive(Instant now, bool thorough) noexcept {
  // Two sockets to be asked: one call says which of them is worth it.
  if (!told_ && !thorough && looks_ == 0 && silent_turns_ <= kSilentTurns) take(look());
  told_ = false;
  const bool peers = !std::exchange(skip_peers_, false), lanes = !std::exchange(skip_lanes_, false);
  const bool moved = peers && receive_peers(now, thorough);
  return (lanes && receive_lanes(now, thorough)) || moved;
}

bool Net::take(Instant now, std::span<const path::UdpArrival> arrivals) noexcept {
  if (arrivals.empty()) return false;  // as most often, when somebody waits
  if (arrivals.size() > 1) return take_row(now, arrivals);
  const path::UdpArrival& one = arrivals[0];
  if (wire::is_lane_datagram(one.bytes)) return lanes_->on_datagram(now, one.bytes);
  mesh_stirred_ = true;
  return mesh_->on_datagram(now, one.from >= 0 ? one.link : rel::kMostLinks, one.bytes) >= 0;
}

bool Net::take_row(Instant now, std::span<const path::UdpArrival> arrivals) noexcept {
  bool good = false;
  std::array<rel::Mesh::Rx, rel::Mesh::kMostAtOnce> row{};
  std::size_t count = 0;
  for (const path::UdpArrival& arrival : arrivals) {
    if (wire::is_lane_datagram(arrival.bytes)) {
      good = lanes_->on_datagram(now, arrival.bytes) || good;
      continue;
    }
    mesh_stirred_ = true;
    row[count++] = {arrival.from >= 0 ? arrival.link : rel::kMostLinks, arrival.bytes};
    if (count < row.size()) continue;
    good = mesh_->on_datagrams(now, row) || good;
    count = 0;
  }
  if (count == 1) return mesh_->on_datagram(now, row[0].link, row[0].datagram) >= 0 || good;
  return (count != 0 && mesh_->on_datagrams(now, {row.data(), count})) || good;
}

// While all that comes comes by a lane (calls whose root is another one), every second turn saves the call.
[[gnu::always_inline]] inline bool Net::receive_peers(Instant now, bool thorough) noexcept {
  if (!thorough && ++silent_peer_turns_ > kSilentPeerTurns && silent_turns_ < 2 * kSilentPeerTurns &&
      silent_peer_turns_ % kTurnsPerPeerLook != 0)
    return false;
  bool moved = false;
  for (int i = 0; i < kReceiveBatches; ++i) {
    const std::span<const path::UdpArrival> arrivals = udp_->receive();
    moved = take(now, arrivals) || moved;
    if (thorough ? arrivals.empty() : !udp_->may_have_more()) break;
    if (mesh_stirred_) (void)transmit(now);  // senders hear of these while we are busy with the next
  }
  if (moved) silent_peer_turns_ = 0;
  return moved;
}

// Where nothing has come by a lane for long, most turns save the system call.
bool Net::receive_lanes(Instant now, bool thorough) noexcept {
  if (!thorough && ++silent_turns_ > kSilentTurns && silent_turns_ % kTurnsPerLook != 0) return false;
  if (!lanes_->receive(now, thorough)) return false;
  silent_turns_ = 0;
  return true;
}

bool Net::transmit(Instant now) noexcept {
  bool moved = false;
  for (int i = 0; i < kTransmitBatches; ++i) {
    batch_->clear();
    if (mesh_->poll_transmit(now, *batch_) == 0) break;
    send(now, *batch_);
    moved = true;
  }
  if (process_trace.on()) [[unlikely]]
    trace();
  return moved;
}

// What the mesh counted since the last time.
void Net::trace() noexcept {
  const rel::MeshCounters& all = mesh_->counters();
  const auto tell = [](TraceEvent event, std::uint64_t total, std::uint64_t& told) {
    if (total != told)
      process_trace.add(event, std::uint64_t{0}, static_cast<std::int64_t>(total - told),
                        static_cast<std::int64_t>(total));
    told = total;
  };
  tell(TraceEvent::resent, all.resent, traced_resent_);
  tell(TraceEvent::dropped, all.malformed + all.stale + all.forged, traced_dropped_);
}

void Net::send(Instant now, const rel::TxBatch& batch) noexcept {
  for (std::size_t i = 0; i < batch.count; ++i)
    out_[i] = {batch.entries[i].to, batch.entries[i].link, batch.entries[i].datagram, batch.entries[i].rest};
  send_out(now, batch.count);
}

// The first of out_.
void Net::send_out(Instant now, std::size_t count) noexcept {
  std::size_t broken = 0;  // the first of out_, after it is through with them
  bool waited = false;
  for (std::size_t at = 0; at < count;) {
    std::ptrdiff_t failed = -1;
    const std::size_t left = udp_->send({out_.data() + at, count - at}, failed);
    at += left;
    if (failed >= 0) {
      out_[broken++] = out_[at++];
    } else if (left == 0) {
      if (waited) break;  // as good as lost on the way: it is repaired
      waited = true;
      wait_writable();
    }
  }
  for (std::size_t i = 0; i < broken; ++i) mesh_->on_link_error(now, out_[i].to, out_[i].link);
}

// Peers of whom nothing was heard for a while are asked whether they live, some at a time; a peer that does
// not answer within the detection time is lost, also if nobody had sent it anything.
void Net::probe_idle_peers(Instant now) noexcept {
  if (now < next_probe_) return;
  next_probe_ = now + Duration{detect_.ns / 4};
  for (int i = 0, asked = 0; i < size_ && asked < kProbedAtOnce; ++i) {
    const p2p::PeerId peer = next_probed_;
    next_probed_ = (next_probed_ + 1) % size_;
    if (links_[static_cast<std::size_t>(peer)] == 0 || core_.is_gone(peer)) continue;
    mesh_->ask(now, peer);
    ++asked;
  }
}

void Net::report(Instant now, bool at_end) noexcept {
  lanes_->report(
      now, [this](std::int32_t rank) { return std::string(hosts_.of(rank)); }, at_end);
}

void Net::tell_links() noexcept {
  for (const p2p::Carrier::LinkNews& news : carrier_.take_links()) {
    process_trace.add(TraceEvent::link, std::uint64_t{0}, news.peer, news.link, news.live ? 1 : 0);
    if (verbose_ == 0) continue;
    std::fprintf(stderr, "herald: rank %d: link %s to rank %d %s\n", rank_,
                 udp_->link_name(news.peer, news.link).c_str(), news.peer,
                 news.live ? "works" : "does not answer");
  }
}

Instant Net::find_due() noexcept {
  watch();
  due_ = next_deadline().value_or(rel::kNever);
  return due_;
}

void Net::wait_writable() const noexcept {
  std::array<pollfd, kMostSockets> fds{};
  nfds_t count = 0;
  for (const int fd : udp_->descriptors())
    if (count < kMostSockets) fds[count++] = {.fd = fd, .events = POLLOUT, .revents = 0};
  (void)::poll(fds.data(), count, kFullSocketMs);
}

bool Net::is_still(Instant now) noexcept {
  if (silent_turns_ > kSilentTurns) return false;
  const Woken why = look();
  if (why.peers || why.lanes) {
    take(why);
    return false;
  }
  const std::optional<Instant> due = next_deadline();
  return !due || *due > now;
}

}  // namespace herald::engine
