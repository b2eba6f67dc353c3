// SPDX-License-Identifier: BSD-3-Clause
// sim/job/process.cpp: turns and steps of a simulated process.
#include "sim/job/process.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/fatal.hpp"
#include "sim/job/pattern.hpp"
#include "sim/net/chance.hpp"

namespace herald::sim {
namespace {

constexpr int kReceived = 64;  // datagrams in one turn, as one recvmmsg brings
constexpr HostId kProbedAtOnce = 64;
constexpr int kBatches = 16;  // sent in one go
constexpr int kRounds = 64;   // of a turn

rel::MeshConfig mesh_config(const ProcessConfig& config, HostId me, std::size_t peers) {
  rel::MeshConfig out = config.mesh;
  out.me = me;
  out.peers = static_cast<std::int32_t>(peers);
  return out;
}

p2p::CoreConfig core_config(const ProcessConfig& config, HostId me, std::size_t peers) {
  p2p::CoreConfig out = config.core;
  out.me = me;
  out.peers = static_cast<std::int32_t>(peers);
  return out;
}

rel::LanesConfig lanes_config(const ProcessConfig& config) {
  rel::LanesConfig out = config.lanes;
  out.seal = config.mesh.seal;
  out.datagram_bytes = config.mesh.datagram_bytes;
  out.give_up = config.mesh.give_up;
  return out;
}

}  // namespace

Process::Process(Net& net, const Script& script, HostId me, std::uint64_t seed, const ProcessConfig& config)
    : net_(net),
      script_(script),
      steps_(script.steps[static_cast<std::size_t>(me)]),
      me_(me),
      seed_(seed),
      config_(config),
      chance_(pattern_seed(seed, 1'000'000 + static_cast<std::uint64_t>(me))),
      mesh_chance_(pattern_seed(seed, 2'000'000 + static_cast<std::uint64_t>(me))),
      core_(core_config(config, me, script.steps.size())),
      carrier_(core_),
      moody_(carrier_, chance_, config_),
      mesh_(mesh_config(config, me, script.steps.size()), mesh_chance_, moody_),
      lanes_(net, script, me, seed, lanes_config(config), config.addresses, config.refuses, core_),
      sends_(script.sends.size()),
      recvs_(script.receives.size()) {
  carrier_.join(mesh_);
  for (HostId peer = 0; peer < static_cast<HostId>(script.steps.size()); ++peer) {
    if (peer == me) continue;
    mesh_.add_peer(peer, net.config().links);
    core_.set_remote(peer);
  }
  net.attach(me, *this);
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

bool Process::receive(Instant now) {
  Arrival arrival;
  int heard = 0;
  for (; heard < kReceived && net_.receive(me_, arrival); ++heard) {
    if (arrival.multicast || wire::is_lane_datagram(arrival.bytes)) {
      lanes_.on_datagram(now, arrival);
      continue;
    }
    const rel::LinkId link = arrival.from < 0 ? rel::kMostLinks : link_from(arrival.from, arrival.link);
    mesh_.on_datagram(now, link, arrival.bytes);
  }
  if (now >= computing_until_ && std::exchange(was_away_, false)) {
    mesh_.on_resume(now, now - left_at_);
    lanes_.on_resume(now, now - left_at_);
  }
  const std::optional<Instant> deadline = mesh_.next_deadline();
  if (deadline && *deadline <= now) mesh_.on_deadline(now);
  lanes_.on_deadline(now);
  return heard != 0;
}

// The program computes: what comes is acknowledged and kept, Core is not touched.
void Process::keep_alive(Instant now) {
  carrier_.set_open(p2p::Carrier::Door::later);
  lanes_.set_open(p2p::Carrier::Door::later);
  receive(now);
  transmit(now);
  probe_idle_peers(now);
  net_.pause(me_, std::min(config_.keep_alive, computing_until_ - now));
}

void Process::turn(Instant now) {
  now_ = now;
  if (now < computing_until_) return keep_alive(now);
  const std::uint64_t said = header_context_, taken = moody_.asked() + lanes_.taken();
  const std::size_t step = step_;
  if (carrier_.door() == p2p::Carrier::Door::later || config_.refuses > 0) {
    carrier_.set_open(p2p::Carrier::Door::open);
    lanes_.set_open(p2p::Carrier::Door::open);
    mesh_.redeliver();
  }
  lanes_.redeliver();
  const bool heard = receive(now);
  probe_idle_peers(now);
  bool moved = true;
  for (int i = 0; moved && i < kRounds; ++i) {
    moved = core_.run_finished();
    moved = drain_departing() || moved;
    moved = run_steps(now) || moved;
    moved = pump() || moved;
    moved = transmit(now) || moved;
  }
  if (moved) net_.poke(me_, now + microseconds(1));
  if (is_finished() && finished_at_ == kNever) finished_at_ = now;
  most_buffered_ = std::max(most_buffered_, mesh_.buffered_bytes());
  if (!heard && said == header_context_ && step == step_ && taken == moody_.asked() + lanes_.taken())
    ++idle_turns_;
}

Instant Process::wake_at() const {
  Instant at = resting_ ? resting_until_ : kNever;
  at = std::min(at, next_probe_);
  if (moody_.refused()) at = std::min(at, now_ + microseconds(100));
  if (config_.twitch.ns > 0 && !is_finished()) at = std::min(at, now_ + config_.twitch);
  if (blocked_) return at;  // there is a turn when the interface has room again
  for (const std::optional<Instant> deadline : {mesh_.next_deadline(), lanes_.next_deadline()})
    if (deadline) at = std::min(at, *deadline);
  return at;
}

bool Process::pump() {
  bool moved = false;
  for (std::size_t n = core_.wanting(); n != 0; --n) {
    const p2p::PeerId to = core_.next_wanting();
    if (to < 0) break;
    moved = carrier_.pump(to) || moved;
  }
  moved = carrier_.pump_ready() || moved;
  return lanes_.pump() || moved;
}

bool Process::transmit(Instant now) {
  bool moved = false;
  for (int batches = 0; batches < kBatches && !(blocked_ = !net_.may_send(me_)); ++batches) {
    batch_.clear();
    if (mesh_.poll_transmit(now, batch_) == 0) break;
    for (std::size_t i = 0; i < batch_.count; ++i) put(batch_.entries[i]);
    tell_broken(now);
    moved = true;
  }
  const std::uint64_t sent = net_.counters().sent;
  moved = lanes_.transmit(now) || moved;
  header_context_ += net_.counters().sent - sent;
  return moved;
}

bool Process::drain_departing() {
  bool moved = false;
  for (p2p::PeerId peer = carrier_.take_lost(); peer >= 0; peer = carrier_.take_lost()) {
    lose(peer);
    moved = true;
  }
  for (const p2p::PeerId peer : lanes_.take_lost()) {
    if (core_.is_gone(peer)) continue;
    lose(peer);
    moved = true;
  }
  carrier_.take_links();
  return moved;
}

void Process::on_death(HostId peer) {
  if (core_.is_gone(peer)) return;
  lose(peer);
  net_.poke(me_, net_.now());
}

void Process::lose(HostId peer) {
  core_.on_peer_gone(peer);
  mesh_.forget_peer(peer);
  lanes_.forget(peer);
}

// Of everybody something is heard now and then, also if nothing is sent: so the dead are found.
void Process::probe_idle_peers(Instant now) {
  if (now < next_probe_) return;
  next_probe_ = now + Duration{config_.mesh.give_up.ns / 4};
  const auto peers = static_cast<HostId>(script_.steps.size());
  for (HostId i = 0, asked = 0; i < peers && asked < kProbedAtOnce; ++i) {
    const HostId peer = next_probed_;
    next_probed_ = (next_probed_ + 1) % peers;
    if (peer == me_ || core_.is_gone(peer)) continue;
    mesh_.ask(now, peer);
    ++asked;
  }
}

bool Process::run_steps(Instant now) {
  bool moved = look_for_probed();
  while (step_ < steps_.size() && run_step(now, steps_[step_])) {
    ++step_;
    moved = true;
    core_.run_finished();
  }
  return moved;
}

// False: not yet.
bool Process::run_step(Instant now, const Step& step) {
  switch (step.what) {
    case Do::send:
    case Do::tell: start_send(step.index); return true;
    case Do::receive: start_receive(step.index); return true;
    case Do::wait_send: return sends_[step.index]->done;
    case Do::wait_receive: return recvs_[step.index] != nullptr && recvs_[step.index]->done;
    case Do::wait_all: return pending_ == 0 && lanes_.all_done();
    case Do::open_lane: lanes_.open(step.index); return true;
    case Do::close_lane: lanes_.close(step.index); return true;
    case Do::collect: lanes_.start(step.index, now); return true;
    case Do::wait_collect: return lanes_.is_done(step.index);
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
    case Do::recall: {
      Send& send = *sends_[step.index];
      send.recalled = true;
      const bool was_done = send.done;
      core_.cancel(send);
      if (was_done && !send.done) ++pending_;
      return true;
    }
    case Do::heed: heed(step.index); return true;
  }
  return true;
}

void Process::compute(Instant now, Duration how_long) {
  const bool tended = config_.keep_alive.ns > 0 && config_.keep_alive < how_long;
  if (tended) computing_until_ = now + how_long;
  was_away_ = true;
  left_at_ = now;
  net_.pause(me_, tended ? config_.keep_alive : how_long);
}

void Process::on_done(p2p::Op& op) {
  auto& me = *static_cast<Process*>(op.owner);
  HERALD_ASSERT(me.pending_ != 0);
  --me.pending_;
}

void Process::start_receive(std::uint32_t index) {
  const RecvSpec& spec = script_.receives[index];
  recvs_[index] = std::make_unique<Recv>();
  Recv& recv = *recvs_[index];
  recv.memory = std::make_unique<std::byte[]>(spec.room);
  recv.context = spec.context;
  recv.source = spec.source;
  recv.awaited = spec.source;
  recv.tag = spec.tag;
  recv.owner = this;
  recv.on_done = on_done;
  recv.data = type::Cursor::bytes(recv.memory.get(), spec.room);
  ++pending_;
  if (spec.probed) {
    probing_.push_back(index);
    look_for_probed();
    return;
  }
  order_.push_back(index);
  core_.start(recv);
}

bool Process::look_for_probed() {
  bool found_any = false;
  for (std::size_t i = 0; i < probing_.size();) {
    const std::uint32_t index = probing_[i];
    Recv& recv = *recvs_[index];
    p2p::Found found;
    const bool lost = recv.source != p2p::kAnySource && core_.is_gone(recv.source);
    if (core_.take(recv.context, recv.source, recv.tag, found)) {
      order_.push_back(index);
      core_.start_matched(recv, found.message);
    } else if (lost) {
      recv.done = true;
      recv.status = Status::peer_lost;
      --pending_;
    } else {
      ++i;
      continue;
    }
    found_any = true;
    probing_.erase(probing_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return found_any;
}

// What was asked back: if it will not come, nobody waits for it; if it will, it is received.
void Process::heed(std::uint32_t index) {
  const Recv& news = *recvs_[index + 1];
  const bool started = recvs_[index] != nullptr;
  if (news.status != Status::ok) return;
  if (news.memory[0] == std::byte{0}) {
    if (!started) start_receive(index);
  } else if (started) {
    recvs_[index]->unwanted = true;
    core_.cancel(*recvs_[index]);
  }
}

std::string Process::state() const {
  char text[256];
  std::snprintf(
      text, sizeof text,
      "process %d: step %zu of %zu, %llu operations under way, %s, %llu bytes buffered, %llu messages held, "
      "%u peers gone\n",
      me_, step_, steps_.size(), static_cast<unsigned long long>(pending_),
      mesh_.is_flushed() ? "flushed" : "not flushed", static_cast<unsigned long long>(mesh_.buffered_bytes()),
      static_cast<unsigned long long>(core_.messages_held()), core_.gone_count());
  std::string out = text;
  int shown = 0;
  for (std::size_t i = 0; i < sends_.size(); ++i)
    if (sends_[i] != nullptr && !sends_[i]->done && shown++ < 4) {
      const SendSpec& spec = script_.sends[i];
      std::snprintf(text, sizeof text, "  send %zu to %d, tag %d, %llu bytes, phase %d, %llu left\n", i,
                    spec.to, spec.tag, static_cast<unsigned long long>(spec.bytes),
                    static_cast<int>(sends_[i]->phase),
                    static_cast<unsigned long long>(sends_[i]->data.remaining()));
      out += text;
    }
  for (std::size_t i = 0; i < recvs_.size(); ++i)
    if (recvs_[i] != nullptr && !recvs_[i]->done && shown++ < 8) {
      const Recv& recv = *recvs_[i];
      std::snprintf(text, sizeof text, "  receive %zu from %d, tag %d, room %llu, phase %d, %llu come\n", i,
                    recv.source, recv.tag, static_cast<unsigned long long>(script_.receives[i].room),
                    static_cast<int>(recv.phase), static_cast<unsigned long long>(recv.data.position()));
      out += text;
    }
  if (!script_.lanes.empty()) out += lanes_.state();
  return out;
}

}  // namespace herald::sim
