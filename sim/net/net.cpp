// SPDX-License-Identifier: BSD-3-Clause
// sim/net/net.cpp: how a datagram travels from one host to others.
#include "sim/net/net.hpp"

#include <algorithm>
#include <cstring>

#include "base/fatal.hpp"
#include "sim/net/chance.hpp"

namespace herald::sim {

const char* word(Sight sight) noexcept {
  switch (sight) {
    case Sight::sent: return "sent";
    case Sight::delivered: return "delivered";
    case Sight::lost: return "LOST";
    case Sight::nic_full: return "NIC FULL";
    case Sight::port_full: return "PORT FULL";
    case Sight::socket_full: return "SOCKET FULL";
    case Sight::cut_off: return "CUT OFF";
    case Sight::duplicated: return "duplicated";
    case Sight::reordered: return "reordered";
    case Sight::spoiled: return "SPOILED";
    case Sight::foreign: return "foreign";
  }
  return "?";
}

Net::Net(const NetConfig& config)
    : config_(config),
      chance_(config.seed),
      hosts_(static_cast<std::size_t>(config.hosts)),
      links_(static_cast<std::size_t>(config.hosts) * config.links),
      switches_(config.links) {
  HERALD_ASSERT(config.hosts > 0 && config.links > 0 && config.links < kNoLink);
}

Net::~Net() {
  while (!queue_.empty()) {
    const Event event = queue_.pop();
    if (event.kind == kAtSwitch || event.kind == kAtHost) pool_.release(flights_[event.what].packet);
  }
  for (Host& host : hosts_) {
    for (std::size_t i = host.first_waiting; i < host.waiting.size(); ++i)
      pool_.release(host.waiting[i].packet);
    if (host.taken != nullptr) pool_.release(host.taken);
  }
}

void Net::attach(HostId host, Node& node) {
  host_of(host).node = &node;
  schedule_turn(host, now_);
}

Duration Net::queue_time(std::uint32_t bytes) const noexcept {
  return {static_cast<std::int64_t>(std::uint64_t{bytes} * 8'000'000'000u / config_.shape.bits_per_second)};
}
Duration Net::line_time(std::uint32_t payload) const noexcept { return queue_time(wire_bytes(payload)); }

bool Net::is_full(HostId host, std::uint8_t link) const noexcept {
  const Instant free = link_of(host, link).nic_free;
  return free > now_ && free - now_ > queue_time(config_.shape.nic_bytes);
}

void Net::send(HostId from, std::uint8_t link, HostId to, std::span<const std::byte> bytes,
               std::span<const std::byte> rest) {
  Flight flight;
  flight.from = from;
  flight.to = to;
  flight.link = link;
  flight.packet = pool_.copy(bytes, rest);
  enter_nic(flight);
}

void Net::multicast(HostId from, std::uint8_t link, GroupId group, std::span<const std::byte> bytes) {
  Flight flight;
  flight.from = from;
  flight.group = group;
  flight.link = link;
  flight.multicast = true;
  flight.packet = pool_.copy(bytes);
  enter_nic(flight);
}

void Net::send_foreign(std::uint8_t link, GroupId group, std::span<const std::byte> bytes) {
  if (!switches_[link].multicast || group >= groups_.size()) return;
  for (const Member& member : groups_[group]) {
    if (member.link != link || !link_of(member.host, link).multicast) continue;
    Flight flight;
    flight.packet = pool_.copy(bytes);
    flight.group = group;
    flight.link = link;
    flight.multicast = flight.bad = true;
    to_port(flight, member.host);
  }
}

bool Net::may_send(HostId id) {
  if (config_.nic_drops) return true;
  for (std::uint8_t link = 0; link < config_.links; ++link)
    if (is_full(id, link)) {
      host_of(id).blocked = true;
      return false;
    }
  return true;
}

void Net::enter_nic(Flight flight) {
  Host& host = host_of(flight.from);
  Link& link = link_of(flight.from, flight.link);
  ++host.handled;
  if (!host.alive || !link.up) return drop(flight, flight.to, Sight::cut_off, counters_.cut_off);
  const Duration time = line_time(flight.packet->size);
  const Instant free = std::max(link.nic_free, now_);
  if (config_.nic_drops && (free + time) - now_ > queue_time(config_.shape.nic_bytes))
    return drop(flight, flight.to, Sight::nic_full, counters_.nic_full);
  ++counters_.sent;
  counters_.sent_bytes += flight.packet->size;
  see(Sight::sent, flight, flight.to);
  flight.left = now_;
  link.nic_free = free + time;
  launch(link.nic_free + config_.shape.delay + config_.switch_delay, kAtSwitch, flight);
}

bool Net::is_cut(HostId from, HostId to, std::uint8_t link) const noexcept {
  const Switch& plane = switches_[link];
  if (!plane.divided || from < 0) return false;
  const std::uint8_t here = link_of(from, link).side, there = link_of(to, link).side;
  return plane.one_way ? here < there : here != there;
}

// Store and forward: the switch has the whole datagram and chooses the output ports.
void Net::at_switch(const Flight& flight) {
  const Switch& plane = switches_[flight.link];
  const Link& link = link_of(flight.from, flight.link);
  if (!plane.up || !link.up || link.cut >= flight.left)
    return drop(flight, flight.to, Sight::cut_off, counters_.cut_off);
  if (happens(chance_, config_.faults.common_loss))
    return drop(flight, flight.to, Sight::lost, counters_.lost);
  if (!flight.multicast) return to_port(flight, flight.to);
  if (plane.multicast && flight.group < groups_.size()) {
    for (const Member& member : groups_[flight.group]) {
      if (member.link != flight.link || member.host == flight.from) continue;
      Flight copy = flight;
      ++copy.packet->uses;
      if (happens(chance_, config_.faults.multicast_loss))
        drop(copy, member.host, Sight::lost, counters_.lost);
      else if (link_of(member.host, member.link).multicast)
        to_port(copy, member.host);
      else
        drop(copy, member.host, Sight::cut_off, counters_.cut_off);
    }
  } else if (!plane.multicast) {
    ++counters_.cut_off;
    see(Sight::cut_off, flight, -1);
  }
  pool_.release(flight.packet);
}

void Net::to_port(const Flight& flight, HostId to) {
  Link& link = link_of(to, flight.link);
  if (!link.up || is_cut(flight.from, to, flight.link))
    return drop(flight, to, Sight::cut_off, counters_.cut_off);
  const Duration time = line_time(flight.packet->size);
  const Instant free = std::max(link.port_free, now_);
  if ((free + time) - now_ > queue_time(config_.shape.port_bytes))
    return drop(flight, to, Sight::port_full, counters_.port_full);
  link.port_free = free + time;
  Flight next = flight;
  next.to = to;
  next.left = now_;
  down_the_line(next, link.port_free + config_.shape.delay);
}

// The last line, with faults independent for each receiver.
void Net::down_the_line(Flight flight, Instant arrives) {
  const Host& host = host_of(flight.to);
  const Faults& faults = host.own_faults ? host.faults : config_.faults;
  Link& link = link_of(flight.to, flight.link);
  if (faults.burst_enter > 0)
    link.bad = link.bad ? !happens(chance_, faults.burst_leave) : happens(chance_, faults.burst_enter);
  if ((link.bad && happens(chance_, faults.burst_loss)) || happens(chance_, faults.loss))
    return drop(flight, flight.to, Sight::lost, counters_.lost);
  if (happens(chance_, faults.duplicate)) {
    ++counters_.duplicated;
    see(Sight::duplicated, flight, flight.to);
    ++flight.packet->uses;
    launch(arrives + up_to(chance_, faults.reorder_by), kAtHost, flight);
  }
  if (happens(chance_, faults.replay)) {
    ++counters_.duplicated;
    see(Sight::duplicated, flight, flight.to);
    ++flight.packet->uses;
    launch(arrives + up_to(chance_, faults.replay_by), kAtHost, flight);
  }
  if (happens(chance_, faults.flip) || happens(chance_, faults.truncate)) spoil(flight, faults);
  if (happens(chance_, faults.garbage)) {
    std::byte noise[96];
    for (std::byte& each : noise) each = static_cast<std::byte>(chance_.next());
    // Half of them begin like a datagram of ours.
    if (chance_.below(2) == 0)
      std::copy_n(flight.packet->data(), std::min<std::size_t>(12, flight.packet->size), noise);
    Flight foreign = flight;
    foreign.from = -1;
    foreign.bad = true;
    foreign.packet = pool_.copy({noise, chance_.below(sizeof noise) + 1});
    launch(arrives, kAtHost, foreign);
  }
  if (happens(chance_, faults.reorder)) {
    ++counters_.reordered;
    see(Sight::reordered, flight, flight.to);
    arrives = arrives + up_to(chance_, faults.reorder_by);
  }
  launch(arrives, kAtHost, flight);
}

void Net::spoil(Flight& flight, const Faults& faults) {
  Packet* const whole = flight.packet;
  if (whole->size == 0) return;
  flight.packet = pool_.copy(whole->bytes());
  Packet& packet = *flight.packet;
  if (faults.truncate > 0 && chance_.below(2) == 0) {
    packet.size = static_cast<std::uint32_t>(chance_.below(packet.size));
  } else {
    for (std::uint64_t bits = chance_.below(3) + 1; bits != 0; --bits)
      packet.data()[chance_.below(packet.size)] ^= static_cast<std::byte>(1u << chance_.below(8));
  }
  if (packet.size != whole->size || std::memcmp(packet.data(), whole->data(), packet.size) != 0)
    flight.bad = true;
  pool_.release(whole);
  ++counters_.spoiled;
  see(Sight::spoiled, flight, flight.to);
}

void Net::at_host(const Flight& flight) {
  const Link& link = link_of(flight.to, flight.link);
  if (!host_of(flight.to).alive || !link.up || link.cut >= flight.left)
    return drop(flight, flight.to, Sight::cut_off, counters_.cut_off);
  into_socket(flight);
}

void Net::into_socket(const Flight& flight) {
  Host& host = host_of(flight.to);
  const std::uint32_t cost = flight.packet->size + config_.socket_overhead;
  if (host.socket_bytes + cost > config_.socket_bytes)
    return drop(flight, flight.to, Sight::socket_full, counters_.socket_full);
  host.socket_bytes += cost;
  if (flight.from < 0) ++counters_.foreign;
  host.waiting.push_back(
      {flight.packet, flight.from, flight.link, flight.multicast, flight.bad, flight.group});
  if (host.turn_at <= std::max(now_, host.busy_until)) return;  // awake already
  const Duration wake{config_.wake.ns + up_to(chance_, config_.wake_jitter).ns};
  schedule_turn(flight.to, std::max(now_ + wake, host.busy_until));
}

bool Net::receive(HostId id, Arrival& out) {
  Host& host = host_of(id);
  if (host.taken != nullptr) pool_.release(host.taken);
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
  ++counters_.delivered;
  if (first.bad) ++counters_.bad;
  counters_.delivered_bytes += first.packet->size;
  if (watcher_ != nullptr)
    watcher_->on_sight(now_, first.from < 0 ? Sight::foreign : Sight::delivered, first.from, id, first.link,
                       out.bytes);
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

void Net::drop(const Flight& flight, HostId to, Sight why, std::uint64_t& counter) {
  ++counter;
  see(why, flight, to);
  pool_.release(flight.packet);
}

void Net::see(Sight sight, const Flight& flight, HostId to) {
  if (watcher_ != nullptr)
    watcher_->on_sight(now_, sight, flight.from, to, flight.link, flight.packet->bytes());
}

}  // namespace herald::sim
