// SPDX-License-Identifier: BSD-3-Clause
#include "tests/unit/rel/lane_world.hpp"

#include <algorithm>
#include <cstring>

#include "tests/unit/rel/frame.hpp"

namespace herald::rel {
namespace {

constexpr int kBurstLength = 20;

LanesConfig lanes_config(const LaneWorldConfig& config, PeerId me) {
  LanesConfig lanes = config.lanes;
  lanes.me = me;
  lanes.peers = config.nodes;
  if (const auto held = config.held.find(me); held != config.held.end()) lanes.held_packets = held->second;
  lanes.seal = {{0x0123456789abcdef, 0xfedcba9876543210}, 7};
  return lanes;
}

MeshConfig mesh_config(const LaneWorldConfig& config, PeerId me) {
  MeshConfig mesh = config.mesh;
  mesh.me = me;
  mesh.peers = config.nodes;
  mesh.seal = lanes_config(config, me).seal;
  return mesh;
}

std::byte pattern(std::uint64_t number, std::size_t at) {
  return static_cast<std::byte>(number * 31 + at * 7 + (at >> 8));
}

}  // namespace

LaneNode::LaneNode(LaneWorld& world_, PeerId me_, const LaneWorldConfig& config)
    : world(world_),
      me(me_),
      prng(config.seed * 1000 + static_cast<std::uint64_t>(me_)),
      mesh(mesh_config(config, me_), mesh_prng, *this),
      lanes(lanes_config(config, me_), prng, *this, &mesh.liveness()) {
  for (PeerId peer = 0; peer < config.nodes; ++peer)
    if (peer != me) mesh.add_peer(peer, 1);
}

void LaneNode::on_datagram(bool by_group, std::span<const std::byte> datagram) {
  if (wire::is_lane_datagram(datagram))
    lanes.on_datagram(world.now(), by_group, datagram);
  else
    mesh.on_datagram(world.now(), 0, datagram);
  for (const PeerId peer : mesh.liveness().take_answered()) lanes.on_answer(world.now(), peer);
}

void LaneNode::on_train() {
  std::vector<std::span<const std::byte>> came(train.begin(), train.end());
  if (!came.empty()) lanes.on_group_datagrams(world.now(), came);
  train.clear();
  for (const PeerId peer : mesh.liveness().take_answered()) lanes.on_answer(world.now(), peer);
}

void LaneNode::on_deadline() {
  mesh.on_deadline(world.now());
  lanes.on_deadline(world.now());
}

std::size_t LaneNode::poll_transmit(TxBatch& out) {
  return mesh.poll_transmit(world.now(), out) != 0 ? out.count : lanes.poll_transmit(world.now(), out);
}

std::optional<Instant> LaneNode::next_deadline() const {
  const Instant at = std::min(mesh.next_deadline().value_or(kNever), lanes.next_deadline().value_or(kNever));
  return at == kNever ? std::nullopt : std::optional(at);
}

void LaneNode::open(std::uint64_t name, std::vector<PeerId> members) {
  const LaneId id = lanes.open(name, members);
  ids[name] = id;
  names[id] = name;
}

void LaneNode::cast(std::uint64_t name, std::uint64_t packets, std::uint32_t bytes) {
  Flow& flow = flows[ids.at(name)];
  flow.packets += packets;
  flow.bytes = bytes;
  pump(ids.at(name));
  world.settle(me);
}

void LaneNode::pump(LaneId lane) {
  Flow& flow = flows[lane];
  while (flow.packets > 0) {
    const std::span<std::byte> room = lanes.room(lane, std::max<std::uint32_t>(flow.bytes, 8));
    if (room.empty()) return;
    const std::size_t bytes = flow.bytes != 0 ? flow.bytes : room.size();
    std::memcpy(room.data(), &flow.next, 8);
    for (std::size_t i = 8; i < bytes; ++i) room[i] = pattern(flow.next, i);
    lanes.commit(lane, bytes);
    ++flow.next;
    --flow.packets;
  }
}

void LaneNode::pump() {
  for (LaneId lane = lanes.next_ready(); lane >= 0; lane = lanes.next_ready()) pump(lane);
}

Status LaneNode::deliver(LaneId lane, PeerId source, std::span<const std::byte> packet) noexcept {
  if (gate && !gate(source)) {
    ++refused;
    return Status::again;
  }
  std::uint64_t number = 0;
  if (packet.size() < 8 || names.count(lane) == 0) {
    ++wrong;
    return Status::ok;
  }
  std::memcpy(&number, packet.data(), 8);
  bool good = number == expected[{names[lane], source}]++;
  for (std::size_t i = 8; i < packet.size(); ++i) good = good && packet[i] == pattern(number, i);
  if (!good) ++wrong;
  ++got;
  if (on_packet) on_packet(names[lane], source);
  return Status::ok;
}

LaneWorld::LaneWorld(const LaneWorldConfig& config_) : config(config_), chance(config_.seed) {
  const auto count = static_cast<std::size_t>(config.nodes);
  timer_.assign(count, Instant{INT64_MAX});
  up_free_.resize(count);
  down_free_.resize(count);
  bad_.resize(count);
  std::vector<PeerId> all;
  for (PeerId id = 0; id < config.nodes; ++id) all.push_back(id);
  for (PeerId id = 0; id < config.nodes; ++id) {
    nodes_.push_back(std::make_unique<LaneNode>(*this, id, config));
    if (config.all_open) nodes_.back()->open(1, all);
  }
}

void LaneWorld::settle(PeerId id) {
  LaneNode& node = (*this)[id];
  if (node.dead) return;
  auto batch = std::make_unique<TxBatch>();
  const Instant& up = up_free_[static_cast<std::size_t>(id)];
  const Duration most{line_ns(config.nic_bytes)};
  for (;;) {
    node.pump();
    if (up - now_ > most) {
      Instant& armed = timer_[static_cast<std::size_t>(id)];
      const Instant later{up.ns - most.ns / 2};
      if (later >= armed) return;
      armed = later;
      post({armed, 0, Event::timer, id, id, false, {}});
      return;
    }
    if (node.poll_transmit(*batch) == 0) break;
    for (std::size_t i = 0; i < batch->count; ++i) transmit(id, batch->entries[i]);
  }
  const std::optional<Instant> at = node.next_deadline();
  Instant& armed = timer_[static_cast<std::size_t>(id)];
  if (!at.has_value() || *at >= armed) return;
  armed = std::max(*at, now_);
  post({armed, 0, Event::timer, id, id, false, {}});
}

void LaneWorld::post(Event event) {
  event.order = order_++;
  events_.push(std::make_shared<Event>(std::move(event)));
}

std::int64_t LaneWorld::line_ns(std::size_t bytes) const {
  return static_cast<std::int64_t>(static_cast<double>(bytes + kFrame) * 8e9 / config.bits_per_second);
}

void LaneWorld::transmit(PeerId from, const Tx& tx) {
  ++datagrams;
  ++kinds[std::to_integer<int>(tx.datagram[1])];
  if (tx.to < 0) ++by_group;
  Instant& up = up_free_[static_cast<std::size_t>(from)];
  up = std::max(up, now_) + Duration{line_ns(tx.datagram.size())};
  post({up, 0, Event::at_switch, from, tx.to, tx.to < 0, {tx.datagram.begin(), tx.datagram.end()}});
}

void LaneWorld::at_switch(const Event& event) {
  if (happens(config.common_loss)) return;
  if (!event.group) {
    to_port(event.from, event.to, false, event.bytes);
    return;
  }
  for (PeerId to = 0; to < config.nodes; ++to)
    if (to != event.from && (!forwards || forwards(event.from, to)))
      to_port(event.from, to, true, event.bytes);
}

void LaneWorld::to_port(PeerId from, PeerId to, bool group, std::span<const std::byte> datagram) {
  const auto port = static_cast<std::size_t>(to);
  if (happens(config.burst)) bad_[port] = kBurstLength;
  const bool lost = bad_[port] > 0 || happens(config.loss);
  if (bad_[port] > 0) --bad_[port];
  if (lost || (cut && cut(from, to)) || (drop && drop(from, to, datagram))) {
    ++dropped;
    return;
  }
  Instant& down = down_free_[port];
  const double queued = std::max(0.0, static_cast<double>((down - now_).ns)) * config.bits_per_second / 8e9;
  if (queued + static_cast<double>(datagram.size() + kFrame) > static_cast<double>(config.switch_bytes)) {
    ++dropped_full;
    return;
  }
  down = std::max(down + Duration{line_ns(datagram.size())}, now_);  // cut through
  const auto arrive = [&](Instant at, std::vector<std::byte> bytes) {
    post({at, 0, Event::arrival, from, to, group, std::move(bytes)});
  };
  std::vector<std::byte> bytes(datagram.begin(), datagram.end());
  const auto some = [&](Duration most) {
    return Duration{static_cast<std::int64_t>(chance.below(static_cast<std::uint64_t>(most.ns)))};
  };
  Instant at = down + config.delay;
  if (happens(config.reorder)) at = at + some(config.reorder_by);
  if (happens(config.corrupt))
    bytes[chance.below(bytes.size())] ^= static_cast<std::byte>(1u << chance.below(8));
  if (happens(config.duplicate)) arrive(at + some(microseconds(500)), bytes);
  arrive(at, std::move(bytes));
}

// Multicasts are received in trains that end anywhere, whatever the source sent together.
void LaneWorld::arrive(const Event& event) {
  LaneNode& node = (*this)[event.to];
  if (event.kind == Event::train) return node.on_train();
  if (!event.group || config.train == 1) return node.on_datagram(event.group, event.bytes);
  node.train.push_back(event.bytes);
  if (node.train.size() >= config.train || chance.below(config.train) == 0) return node.on_train();
  if (node.train.size() == 1)
    post({now_ + microseconds(30), 0, Event::train, event.from, event.to, true, {}});
}

bool LaneWorld::run(Duration at_most, const std::function<bool()>& done) {
  const Instant end = now_ + at_most;
  while (!done()) {
    if (events_.empty() || events_.top()->at > end) {
      now_ = end;
      return false;
    }
    const std::shared_ptr<Event> event = events_.top();
    events_.pop();
    now_ = std::max(now_, event->at);
    if (event->kind == Event::at_switch) {
      at_switch(*event);
      continue;
    }
    LaneNode& node = (*this)[event->to];
    if (node.dead) continue;
    if (event->kind == Event::timer) {
      if (timer_[static_cast<std::size_t>(event->to)] != event->at) continue;  // was armed earlier since
      timer_[static_cast<std::size_t>(event->to)] = {INT64_MAX};
      node.on_deadline();
    } else {
      arrive(*event);
    }
    settle(event->to);
  }
  return true;
}

void LaneWorld::inject(PeerId to, wire::DatagramKind kind, std::uint8_t flags, PeerId from,
                       std::uint64_t number, std::span<const std::byte> body) {
  const wire::Seal seal = lanes_config(config, to).seal;
  wire::DatagramHead head;
  head.version = wire::kDatagramVersion;
  head.kind = static_cast<std::uint8_t>(kind);
  head.flags = flags;
  head.epoch = static_cast<std::uint8_t>(seal.epoch);
  head.from = static_cast<std::uint32_t>(from);
  head.seq = static_cast<Seq>(number);
  std::vector<std::byte> bytes(sizeof head);
  std::memcpy(bytes.data(), &head, sizeof head);
  wire::seal(seal, static_cast<std::uint32_t>(to), wire::crc32c(body), bytes, {upper_half(number), 0});
  bytes.insert(bytes.end(), body.begin(), body.end());
  (*this)[to].on_datagram(false, bytes);
  settle(to);
}

bool LaneWorld::all_flushed() {
  return std::all_of(nodes_.begin(), nodes_.end(),
                     [](const auto& node) { return node->dead || node->lanes.is_flushed(); });
}

bool LaneWorld::have(PeerId source, std::uint64_t packets, std::uint64_t name) {
  return std::all_of(nodes_.begin(), nodes_.end(), [&](const auto& node) {
    return node->dead || node->me == source || node->expected[{name, source}] >= packets;
  });
}

LaneCounters LaneWorld::sum() {
  LaneCounters all;
  for (const auto& node : nodes_) {
    const LaneCounters& one = node->lanes.counters();
    all.cast += one.cast;
    all.received += one.received;
    all.repaired_unicast += one.repaired_unicast;
    all.repaired_multicast += one.repaired_multicast;
    all.naks_sent += one.naks_sent;
    all.naks_received += one.naks_received;
    all.naks_suppressed += one.naks_suppressed;
    all.acks_sent += one.acks_sent;
    all.acks_received += one.acks_received;
    all.duplicates += one.duplicates;
    all.forged += one.forged;
    all.malformed += one.malformed;
    all.multicast_lost += one.multicast_lost;
    all.multicast_regained += one.multicast_regained;
  }
  return all;
}

LaneWorldConfig small(int nodes) {
  LaneWorldConfig config;
  config.nodes = nodes;
  config.mesh.give_up = milliseconds(500);
  return config;
}

void expect_clean(LaneWorld& world) {
  for (PeerId id = 0; id < world.size(); ++id) {
    EXPECT_EQ(world[id].wrong, 0u) << id;
    EXPECT_TRUE(world[id].lost.empty()) << id;
    EXPECT_EQ(world[id].lanes.buffered_bytes(), 0u) << id;
  }
}

}  // namespace herald::rel
