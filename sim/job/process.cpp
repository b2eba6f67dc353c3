// SPDX-License-Identifier: BSD-3-Clause
// sim/job/process.cpp: turns and steps of a simulated process.
#include "sim/job/process.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "sim/job/model_cipher.hpp"
#include "sim/job/pattern.hpp"
#include "sim/net/chance.hpp"

namespace herald::sim {
namespace {

constexpr int kReceived = 64;  // datagrams in one turn, as one recvmmsg brings
constexpr int kBatches = 16;   // sent in one go
constexpr int kRounds = 64;    // of a turn

p2p::CoreConfig core_config(const ProcessConfig& config, HostId me, std::size_t peers) {
  p2p::CoreConfig out = config.core;
  out.me = me;
  out.peers = static_cast<std::int32_t>(peers);
  return out;
}

node::SecurityConfig security_of(const ProcessConfig& config) {
  if (config.security == wire::Security::tag) return {};
  return {config.security, &model_suite(), model_key(config.mesh.seal.key)};
}

node::NodeConfig node_config(const ProcessConfig& config, HostId me, std::size_t peers, std::uint64_t seed) {
  const auto host = static_cast<std::uint64_t>(me);
  node::NodeConfig out;
  out.mesh = config.mesh;
  out.mesh.me = me;
  out.mesh.peers = static_cast<std::int32_t>(peers);
  out.lanes = config.lanes;
  out.lanes.me = me;
  out.lanes.peers = out.mesh.peers;
  out.mesh.seal.enveloped = config.security != wire::Security::tag;
  out.lanes.seal = out.mesh.seal;
  if (config.security != wire::Security::tag) {
    out.security = security_of(config);
    out.mesh.datagram_bytes = wire::longest_inside(config.security, out.mesh.datagram_bytes);
    out.mesh.probe_extra = wire::kSealedGroupExtra;
  }
  out.lanes.datagram_bytes = out.mesh.datagram_bytes;
  out.lanes.longest_backoff = rel::longest_backoff(config.mesh.pace());
  out.lanes.interfaces = config.interfaces;
  if (config.mixed_sockets && out.lanes.window_packets > out.lanes.first_packets)
    out.lanes.held_packets = me % 3 == 0 ? out.lanes.window_packets : me % 3 == 1 ? 144 : 24;
  out.pool = config.addresses.pool;
  out.mesh_seed = pattern_seed(seed, 2'000'000 + host);
  out.lanes_seed = pattern_seed(seed, 4'000'000 + host);
  return out;
}

// The node is connected before anything is built on it.
node::Node& connect(node::Node& node, const node::NodeConfig& config, Tap& tap, std::uint8_t links) {
  node.connect(config, &tap);
  for (HostId peer = 0; peer < config.mesh.peers; ++peer)
    if (peer != config.mesh.me) node.add_peer(peer, links);
  return node;
}

}  // namespace

Process::Process(Net& net, const Script& script, HostId me, std::uint64_t seed, const ProcessConfig& config)
    : net_(net),
      script_(script),
      steps_(script.steps[static_cast<std::size_t>(me)]),
      me_(me),
      config_(config),
      tap_(pattern_seed(seed, 1'000'000 + static_cast<std::uint64_t>(me)),
           pattern_seed(seed, 3'000'000 + static_cast<std::uint64_t>(me)), config.tap),
      node_(core_config(config, me, script.steps.size())),
      runs_(net, script, me, seed, config.addresses,
            connect(node_, node_config(config, me, script.steps.size(), seed), tap_, net.config().links)),
      messages_(script, me, seed, node_.core()),
      one_sided_(script, me, seed, node_.core()) {
  net.attach(me, *this);
  if (config.tcp != nullptr)
    tcp_.emplace(*config.tcp, net, node_, me, config.mesh.seal, security_of(config), config.bulk);
}

// Both ends number the links between them, and not alike.
std::uint8_t Process::link_to(HostId peer, rel::LinkId link) const noexcept {
  const auto shift = static_cast<unsigned>(me_ < peer ? peer : 2 * peer + 1);
  return static_cast<std::uint8_t>((link + shift) % net_.config().links);
}

rel::LinkId Process::link_from(HostId peer, std::uint8_t link) const noexcept {
  for (rel::LinkId each = 0; each < net_.config().links; ++each)
    if (link_to(peer, each) == link) return each;
  return rel::kMostLinks;
}

// Datagrams that the node has counted as broken or foreign.
std::uint64_t Process::dropped() const noexcept {
  const rel::MeshCounters& unicast = mesh().counters();
  const rel::LaneCounters& multicast = lanes().counters();
  return unicast.malformed + unicast.stale + unicast.forged + multicast.malformed + multicast.forged +
         node_.refused().all();
}

void Process::on_arrival(Instant now, const Arrival& arrival) {
  if (tcp_ && !arrival.multicast && tcp_->take_probe(now, arrival.bytes)) return;
  const std::uint64_t before = dropped();
  const rel::LinkId link = arrival.from < 0 ? rel::kMostLinks : link_from(arrival.from, arrival.link);
  const rel::Mesh::Rx one{link, arrival.bytes};
  const std::span<const std::byte> bytes = arrival.bytes;
  const bool good = arrival.multicast ? node_.on_group_datagrams(now, {&bytes, 1}) != 0
                                      : node_.on_datagrams(now, {&one, 1});
  if (good) return;
  if (dropped() == before) ++refused_;
  if (arrival.multicast) runs_.on_foreign(now, arrival.group);
}

bool Process::receive(Instant now) {
  Arrival arrival;
  int count = 0;
  for (; count < kReceived && net_.receive(me_, arrival); ++count) on_arrival(now, arrival);
  const bool by_tcp = tcp_ && tcp_->turn(now);
  return count != 0 || by_tcp;
}

// While the program computes, the keep-alive thread takes turns in its place.
void Process::turn(Instant now) {
  now_ = now;
  const bool computing = now < computing_until_;
  const node::Caller caller = computing ? node::Caller::keep_alive : node::Caller::program;
  if (!computing && !std::exchange(was_computing_, false)) node_.on_block();
  const std::uint64_t sent = sent_, taken = tap_.moved();
  const std::size_t step = step_;
  (void)node_.serve_calls(computing);
  node_.begin_turn(now, caller);
  const bool received = receive(now);
  node_.end_turn(now, caller, received);
  if (computing) {
    if (core().wants_to_send()) pump(now);
    transmit(now);
    return net_.pause(me_, std::min(config_.keep_alive, computing_until_ - now));
  }
  bool moved = true;
  for (int i = 0; moved && i < kRounds; ++i) {
    moved = node_.core().run_finished();
    moved = (tcp_ && tcp_->turn_bulk()) || moved;
    moved = drop_lost() || moved;
    moved = run_steps(now) || moved;
    moved = pump(now) || moved;
    moved = transmit(now) || moved;
  }
  if (moved) net_.poke(me_, now + microseconds(1));
  if (is_finished() && finished_at_ == kNever) finished_at_ = now;
  most_buffered_ = std::max(most_buffered_, mesh().buffered_bytes());
  if (!received && sent == sent_ && step == step_ && taken == tap_.moved()) ++idle_turns_;
}

Instant Process::wake_at() const {
  Instant at = resting_ ? resting_until_ : kNever;
  if (config_.twitch.ns > 0 && !is_finished()) at = std::min(at, now_ + config_.twitch);
  if (tcp_) at = std::min(at, tcp_->next_deadline());
  if (blocked_) return at;  // there is a turn when the interface has room again
  return std::min(at, node_.next_deadline().value_or(kNever));
}

bool Process::pump(Instant now) {
  bool moved = false;
  p2p::Core& core = node_.core();
  for (std::size_t n = core.peers().wanting(); n != 0; --n) {
    const p2p::PeerId to = core.peers().next_wanting();
    if (to < 0) break;
    moved = node_.pump(now, to) || moved;
  }
  return runs_.pump(now) || moved;
}

bool Process::transmit(Instant now) {
  bool moved = false;
  for (int batches = 0; batches < kBatches && !(blocked_ = !net_.may_send(me_)); ++batches) {
    if (node_.poll_transmit(now, batch_) == 0) break;
    for (std::size_t i = 0; i < batch_.count; ++i) put(batch_.entries[i]);
    for (const auto& [peer, link] : broken_) node_.on_link_error(now, peer, link);
    broken_.clear();
    moved = true;
  }
  return moved;
}

void Process::put(const rel::Tx& tx) {
  ++sent_;
  if (tx.to < 0) {
    const rel::LaneId lane = rel::Lanes::lane_of(tx.to);
    return net_.multicast(me_, tx.link, runs_.group_of(lane), tx.datagram);
  }
  if (tcp_ && tcp_->uses(tx.to)) return tcp_->send(tx);
  const std::uint8_t link = link_to(tx.to, tx.link);
  if (config_.hears_of_links && !net_.fabric().is_up(me_, link)) broken_.push_back({tx.to, tx.link});
  net_.send(me_, link, tx.to, tx.datagram, tx.rest);
}

bool Process::drop_lost() {
  bool moved = false;
  for (p2p::PeerId peer = node_.take_lost(); peer >= 0; peer = node_.take_lost()) {
    if (core().is_gone(peer)) continue;
    node_.on_peer_gone(peer);
    moved = true;
  }
  (void)node_.take_events();
  return moved;
}

void Process::on_death(HostId peer) {
  if (core().is_gone(peer)) return;
  node_.on_peer_gone(peer);
  net_.poke(me_, net_.now());
}

bool Process::run_steps(Instant now) {
  bool moved = messages_.look_for_probed();
  moved = one_sided_.advance() || moved;
  while (step_ < steps_.size() && run_step(now, steps_[step_])) {
    ++step_;
    moved = true;
    node_.core().run_finished();
  }
  return moved;
}

// False: not yet.
bool Process::run_step(Instant now, const Step& step) {
  switch (step.what) {
    case Do::send:
    case Do::tell: start_send(step); return true;
    case Do::receive: messages_.start_receive(step.index); return true;
    case Do::wait_send: return messages_.is_sent(step.index);
    case Do::wait_receive: return messages_.is_received(step.index);
    case Do::wait_all: return messages_.pending() == 0 && runs_.all_done();
    case Do::epoch: one_sided_.start(step.index); return true;
    case Do::activate: one_sided_.active().start(); return true;
    case Do::open_lane: runs_.open(step.index); return true;
    case Do::close_lane: runs_.close(step.index); return true;
    case Do::collect: runs_.start(step.index, now); return true;
    case Do::wait_collect: return runs_.is_done(step.index);
    case Do::compute:
    case Do::rest:
      if (!resting_) {
        if (step.what == Do::compute) compute(now, step.time);
        resting_ = true;
        resting_until_ = now + step.time;
        if (step.time.ns > 0) return false;
      }
      if (now < resting_until_) return false;
      resting_ = false;
      return true;
    case Do::recall: messages_.recall(step.index); return true;
    case Do::heed: messages_.heed(step.index); return true;
  }
  return true;
}

void Process::start_send(const Step& step) {
  messages_.start_send(step.index, step.what == Do::tell);
  if (!config_.sends_at_once) return;
  (void)node_.pump(now_, script_.sends[step.index].to);
  transmit(now_);
}

void Process::compute(Instant now, Duration how_long) {
  const bool kept_alive = config_.keep_alive.ns > 0 && config_.keep_alive < how_long;
  if (kept_alive) computing_until_ = now + how_long;
  was_computing_ = true;
  net_.pause(me_, kept_alive ? config_.keep_alive : how_long);
}

std::string Process::state() const {
  char text[256];
  std::snprintf(
      text, sizeof text,
      "process %d: step %zu of %zu, %llu operations under way, %s, %llu bytes buffered, %llu messages held, "
      "%u peers gone\n",
      me_, step_, steps_.size(), static_cast<unsigned long long>(messages_.pending()),
      mesh().is_flushed() ? "flushed" : "not flushed",
      static_cast<unsigned long long>(mesh().buffered_bytes()),
      static_cast<unsigned long long>(node_.core().messages_held()), node_.core().counters().peers_gone);
  std::string out = text + messages_.state();
  out += one_sided_.state();
  if (!script_.lanes.empty()) out += runs_.state();
  return out;
}

}  // namespace herald::sim
