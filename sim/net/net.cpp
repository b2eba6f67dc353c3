// SPDX-License-Identifier: BSD-3-Clause
#include "sim/net/net.hpp"

#include <algorithm>

#include "base/fatal.hpp"
#include "sim/net/chance.hpp"

namespace herald::sim {

Net::Net(const NetConfig& config)
    : config_(config),
      transit_(config.seed),
      fabric_(config_, transit_),
      hosts_(static_cast<std::size_t>(config.hosts)) {
  HERALD_ASSERT(config.hosts > 0 && config.links > 0 && config.links < kNoLink);
}

Net::~Net() {
  for (Host& host : hosts_) {
    for (std::size_t i = host.first_waiting; i < host.waiting.size(); ++i)
      transit_.pool.release(host.waiting[i].packet);
    if (host.taken != nullptr) transit_.pool.release(host.taken);
  }
}

void Net::attach(HostId host, Node& node) {
  host_of(host).node = &node;
  schedule_turn(host, transit_.now);
}

void Net::transmit(const Flight& flight) {
  Host& host = host_of(flight.from);
  ++host.handled;
  if (!host.alive) return transit_.drop(flight, flight.to, Sight::cut_off, transit_.counters.cut_off);
  fabric_.enter_nic(flight);
}

void Net::send(HostId from, std::uint8_t link, HostId to, std::span<const std::byte> bytes,
               std::span<const std::byte> rest) {
  Flight flight;
  flight.from = from;
  flight.to = to;
  flight.link = link;
  flight.packet = transit_.pool.copy(bytes, rest);
  transmit(flight);
}

void Net::multicast(HostId from, std::uint8_t link, GroupId group, std::span<const std::byte> bytes) {
  Flight flight;
  flight.from = from;
  flight.group = group;
  flight.link = link;
  flight.multicast = true;
  flight.packet = transit_.pool.copy(bytes);
  transmit(flight);
}

bool Net::may_send(HostId id) {
  if (config_.nic_drops || !fabric_.has_full_nic(id)) return true;
  host_of(id).blocked = true;
  return false;
}

bool Net::run(Instant end, const std::function<bool()>& stop) {
  while (!transit_.queue.empty() && transit_.queue.front().at <= end) {
    if (stop && stop()) return true;
    const Event event = transit_.queue.pop();
    transit_.now = event.at;
    switch (static_cast<EventKind>(event.kind)) {
      case kAtSwitch:
      case kAtHost: {
        const Flight flight = transit_.land(event.what);
        transit_.remember(event, &flight);
        ++transit_.counters.events;
        if (event.kind == kAtSwitch)
          fabric_.at_switch(flight);
        else
          at_host(flight);
        break;
      }
      case kTurn:
        if (host_of(static_cast<HostId>(event.what)).turn_at != event.at)
          break;  // the turn was moved to an earlier time
        transit_.remember(event, nullptr);
        ++transit_.counters.events;
        run_turn(static_cast<HostId>(event.what));
        break;
      case kAction:
        transit_.remember(event, nullptr);
        if (transit_.watcher != nullptr) transit_.watcher->on_action(transit_.now, actions_[event.what].what);
        actions_[event.what].run(*this);
        break;
    }
  }
  if (stop && stop()) return true;
  if (!transit_.queue.empty()) transit_.now = end;
  return false;
}

void Net::schedule_turn(HostId id, Instant at) {
  Host& host = host_of(id);
  if (!host.alive || host.node == nullptr || at >= host.turn_at) return;
  host.turn_at = at;
  transit_.queue.push(at, kTurn, static_cast<std::uint32_t>(id));
}

void Net::poke(HostId host, Instant at) { schedule_turn(host, std::max(at, transit_.now)); }

void Net::run_turn(HostId id) {
  Host& host = host_of(id);
  host.turn_at = kNever;
  if (!host.alive) return;
  const Instant free = std::max(host.paused_until, host.busy_until);
  if (free > transit_.now) return schedule_turn(id, free);
  ++host.turns;
  ++transit_.counters.turns;
  host.handled = 0;
  host.node->turn(transit_.now);
  if (!host.alive) return;
  host.busy_until = transit_.now + Duration{config_.per_turn.ns + config_.per_datagram.ns * host.handled};
  if (host.first_waiting != host.waiting.size()) return schedule_turn(id, host.busy_until);
  if (host.blocked) {
    host.blocked = false;
    if (const auto room_at = fabric_.nic_half_empty_at(id))
      schedule_turn(id, std::max(*room_at, host.busy_until));
  }
  const Instant wish = host.node->wake_at();
  if (wish != kNever) schedule_turn(id, std::max(wish, host.busy_until));
}

void Net::at_host(const Flight& flight) {
  Host& host = host_of(flight.to);
  if (!host.alive || fabric_.is_cut_off(flight))
    return transit_.drop(flight, flight.to, Sight::cut_off, transit_.counters.cut_off);
  const std::uint32_t cost = flight.packet->size + config_.socket_overhead;
  if (host.socket_bytes + cost > config_.socket_bytes)
    return transit_.drop(flight, flight.to, Sight::socket_full, transit_.counters.socket_full);
  host.socket_bytes += cost;
  if (flight.from < 0) ++transit_.counters.foreign;
  host.waiting.push_back(
      {flight.packet, flight.from, flight.link, flight.multicast, flight.bad, flight.group});
  if (host.turn_at <= std::max(transit_.now, host.busy_until)) return;  // awake already
  const Duration wake{config_.wake.ns + up_to(transit_.chance, config_.wake_jitter).ns};
  schedule_turn(flight.to, std::max(transit_.now + wake, host.busy_until));
}

bool Net::receive(HostId id, Arrival& out) {
  Host& host = host_of(id);
  if (host.taken != nullptr) transit_.pool.release(host.taken);
  host.taken = nullptr;
  if (host.first_waiting == host.waiting.size()) return false;
  const Waiting& first = host.waiting[host.first_waiting++];
  host.taken = first.packet;
  host.socket_bytes -= first.packet->size + config_.socket_overhead;
  out.from = first.from;
  out.link = first.from < 0 ? kNoLink : first.link;
  out.multicast = first.multicast;
  out.group = first.group;
  out.bytes = first.packet->bytes();
  ++host.handled;
  ++transit_.counters.delivered;
  if (first.bad) ++transit_.counters.bad;
  transit_.counters.delivered_bytes += first.packet->size;
  if (transit_.watcher != nullptr)
    transit_.watcher->on_sight(transit_.now, first.from < 0 ? Sight::foreign : Sight::delivered, first.from,
                               id, first.link, out.bytes);
  if (host.first_waiting == host.waiting.size()) {
    host.waiting.clear();
    host.first_waiting = 0;
  } else if (host.first_waiting > 4096 && host.first_waiting * 2 > host.waiting.size()) {
    host.waiting.erase(host.waiting.begin(),
                       host.waiting.begin() + static_cast<std::ptrdiff_t>(host.first_waiting));
    host.first_waiting = 0;
  }
  return true;
}

void Net::at(Instant when, std::string what, std::function<void(Net&)> action) {
  actions_.push_back({std::move(what), std::move(action)});
  transit_.queue.push(when, kAction, static_cast<std::uint32_t>(actions_.size() - 1));
}

void Net::kill(HostId id) {
  Host& host = host_of(id);
  host.alive = false;
  host.turn_at = kNever;
  for (std::size_t i = host.first_waiting; i < host.waiting.size(); ++i)
    transit_.pool.release(host.waiting[i].packet);
  host.waiting.clear();
  host.first_waiting = 0;
}

void Net::pause(HostId host, Duration how_long) {
  host_of(host).paused_until = std::max(host_of(host).paused_until, transit_.now + how_long);
}

}  // namespace herald::sim
