// SPDX-License-Identifier: BSD-3-Clause
#include "tests/unit/rel/world.hpp"

#include "tests/unit/rel/frame.hpp"

namespace herald::rel {
namespace {

constexpr std::size_t kKept = 16;  // of a packet whose rest is borrowed

MeshConfig mesh_config(const WorldConfig& config, PeerId me) {
  MeshConfig mesh = config.mesh;
  mesh.me = me;
  mesh.peers = config.nodes;
  if (me % 2 != 0 && config.odd_bytes != 0) mesh.datagram_bytes = config.odd_bytes;
  mesh.seal = {{0x0123456789abcdef, 0xfedcba9876543210}, 7};
  return mesh;
}

// A packet contains its number, filled up with the lowest byte of that number.
void fill(std::span<std::byte> packet, std::uint64_t number) {
  std::memcpy(packet.data(), &number, 8);
  std::memset(packet.data() + 8, static_cast<int>(number & 0xff), packet.size() - 8);
}

bool is_filled(std::span<const std::byte> packet, std::uint64_t number) {
  if (packet.size() < 8 || std::memcmp(packet.data(), &number, 8) != 0) return false;
  const auto rest = packet.subspan(8);
  if (rest.empty()) return true;
  return rest[0] == static_cast<std::byte>(number) &&
         std::memcmp(rest.data(), rest.data() + 1, rest.size() - 1) == 0;
}

}  // namespace

Node::Node(World& world_, PeerId me_, const WorldConfig& config)
    : world(world_),
      me(me_),
      prng(config.seed * 1000 + static_cast<std::uint64_t>(me_)),
      mesh(mesh_config(config, me_), prng, *this) {
  for (PeerId peer = 0; peer < config.nodes; ++peer)
    if (peer != me) mesh.add_peer(peer, config.links);
}

void Node::send(PeerId to, std::uint64_t packets, std::uint32_t bytes) {
  Flow& flow = flows[to];
  flow.packets += packets;
  flow.bytes = bytes;
  pump(to);
  world.settle(me);
}

void Node::send_bytes(PeerId to, std::uint64_t bytes) {
  Flow& flow = flows[to];
  flow.packets = UINT64_MAX;
  flow.total_bytes = bytes;
  pump(to);
  world.settle(me);
}

bool Node::pump(PeerId to) {
  Flow& flow = flows[to];
  bool moved = false;
  while (flow.packets > 0 && flow.total_bytes > 0) {
    const std::span<std::byte> room = mesh.reserve(to, std::max<std::uint32_t>(flow.bytes, 8));
    if (room.empty()) {
      mesh.set_backlog(to, true);
      return moved;
    }
    std::size_t bytes = flow.bytes != 0 ? flow.bytes : room.size();
    bytes = std::max<std::size_t>(8, std::min<std::uint64_t>(bytes, flow.total_bytes));
    if (world.config.borrows && mesh.may_borrow() && bytes > kKept) {
      std::vector<std::byte> whole(bytes);
      fill(whole, flow.next);
      std::memcpy(room.data(), whole.data(), kKept);
      mesh.commit(to, kKept, std::span(whole).subspan(kKept));
      borrowed[to].push_back(std::move(whole));
    } else {
      fill(room.first(bytes), flow.next);
      mesh.commit(to, bytes);
    }
    ++flow.next;
    --flow.packets;
    if (flow.total_bytes != UINT64_MAX) flow.total_bytes -= std::min<std::uint64_t>(flow.total_bytes, bytes);
    moved = true;
  }
  mesh.set_backlog(to, false);
  return moved;
}

void Node::returned(PeerId to, std::uint32_t packets) noexcept {
  got_back += packets;
  for (; packets != 0 && !borrowed[to].empty(); --packets) borrowed[to].pop_front();
  wrong += packets;
}

void Node::pump() {
  for (PeerId to = mesh.next_ready(); to >= 0; to = mesh.next_ready()) pump(to);
}

Status Node::deliver(PeerId from, std::span<const std::byte> packet) noexcept {
  if (gate && gate() != Status::ok) {
    ++refused;
    return Status::again;
  }
  if (!is_filled(packet, expected[from]++)) ++wrong;
  ++got_packets;
  got_bytes += packet.size();
  if (on_packet) on_packet(from);
  return Status::ok;
}

World::World(const WorldConfig& config_) : config(config_), chance(config_.seed) {
  for (PeerId id = 0; id < config.nodes; ++id) nodes_.push_back(std::make_unique<Node>(*this, id, config));
  timer_.assign(nodes_.size(), Instant{INT64_MAX});
}

void World::settle(PeerId id) {
  Node& node = (*this)[id];
  if (node.dead) return;
  auto batch = std::make_unique<TxBatch>();
  for (;;) {
    node.pump();
    if (node.mesh.poll_transmit(now_, *batch) == 0) break;
    for (std::size_t i = 0; i < batch->count; ++i) transmit(id, batch->entries[i]);
  }
  const std::optional<Instant> at = node.mesh.next_deadline();
  Instant& armed = timer_[static_cast<std::size_t>(id)];
  if (!at.has_value() || *at >= armed) return;
  armed = std::max(*at, now_);
  events_.push(std::make_shared<Event>(Event{armed, order_++, id, 0, Event::Kind::timer, {}}));
}

std::int64_t World::wire_ns(std::size_t bytes) const {
  return static_cast<std::int64_t>(static_cast<double>(bytes + kFrame) * 8e9 / config.bits_per_second);
}

void World::transmit(PeerId from, const Tx& tx) {
  ++datagrams;
  if (watch) watch(tx, from);
  Instant& up = up_free_[{from, tx.link}];
  up = std::max(up, now_) + Duration{wire_ns(tx.datagram.size() + tx.rest.size())};
  const bool fits = tx.datagram.size() + tx.rest.size() <= longest;
  if (!fits || (cut && cut(from, tx.to, tx.link)) || happens(config.loss)) {
    ++dropped;
    return;
  }
  std::vector<std::byte> bytes(tx.datagram.begin(), tx.datagram.end());
  bytes.insert(bytes.end(), tx.rest.begin(), tx.rest.end());
  events_.push(
      std::make_shared<Event>(Event{up, order_++, tx.to, tx.link, Event::Kind::in_switch, std::move(bytes)}));
}

void World::forward(PeerId to, LinkId link, std::vector<std::byte> bytes) {
  // Cut through: it is on the receiver's cable while it still leaves the sender's.
  Instant& down = down_free_[{to, link}];
  const double queued = std::max(0.0, static_cast<double>((down - now_).ns)) * config.bits_per_second / 8e9;
  if (queued + static_cast<double>(bytes.size() + kFrame) > static_cast<double>(config.switch_bytes)) {
    ++dropped_full;
    return;
  }
  down = std::max(down + Duration{wire_ns(bytes.size())}, now_);
  Instant at = down + config.delay;
  if (happens(config.reorder))
    at = at +
         Duration{static_cast<std::int64_t>(chance.below(static_cast<std::uint64_t>(config.reorder_by.ns)))};
  if (happens(config.corrupt))
    bytes[chance.below(bytes.size())] ^= static_cast<std::byte>(1u << chance.below(8));
  if (happens(config.duplicate))
    arrive(to, link, at + microseconds(static_cast<std::int64_t>(chance.below(500))), bytes);
  arrive(to, link, at, std::move(bytes));
}

void World::arrive(PeerId to, LinkId link, Instant at, std::vector<std::byte> bytes) {
  events_.push(
      std::make_shared<Event>(Event{at, order_++, to, link, Event::Kind::arrival, std::move(bytes)}));
}

bool World::run(Duration at_most, const std::function<bool()>& done) {
  const Instant end = now_ + at_most;
  while (!done()) {
    if (events_.empty() || events_.top()->at > end) {
      now_ = end;
      return false;
    }
    const std::shared_ptr<Event> event = events_.top();
    events_.pop();
    now_ = std::max(now_, event->at);
    ++steps;
    Node& node = (*this)[event->to];
    if (event->kind == Event::Kind::in_switch) {
      forward(event->to, event->link, std::move(event->bytes));
      continue;
    }
    if (node.dead) continue;
    if (event->kind == Event::Kind::timer) {
      if (timer_[static_cast<std::size_t>(event->to)] != event->at) continue;  // rearmed since
      timer_[static_cast<std::size_t>(event->to)] = {INT64_MAX};
      node.mesh.on_deadline(now_);
    } else {
      node.mesh.on_datagram(now_, event->link, event->bytes);
    }
    settle(event->to);
  }
  return true;
}

bool World::all_flushed() {
  for (auto& node : nodes_)
    if (!node->dead && !node->mesh.is_flushed()) return false;
  return true;
}

}  // namespace herald::rel
