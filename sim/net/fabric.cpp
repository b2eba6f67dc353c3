// SPDX-License-Identifier: BSD-3-Clause
#include "sim/net/fabric.hpp"

#include <algorithm>
#include <cstring>

#include "sim/net/chance.hpp"

namespace herald::sim {

Fabric::Fabric(const NetConfig& config, Transit& transit)
    : config_(config),
      transit_(transit),
      faults_(config.faults),
      own_faults_(static_cast<std::size_t>(config.hosts)),
      links_(static_cast<std::size_t>(config.hosts) * config.links),
      switches_(config.links),
      trunks_(config, transit) {
  for (Link& link : links_) link.bits_per_second = config.shape.bits_per_second;
}

void Fabric::set_faults(HostId host, const Faults& faults) {
  own_faults_[static_cast<std::size_t>(host)] = faults;
}

void Fabric::set_link(HostId host, std::uint8_t which, bool up) {
  for (std::uint8_t i = 0; i < config_.links; ++i) {
    if (which != kNoLink && which != i) continue;
    Link& link = link_of(host, i);
    link.up = up;
    link.bad = false;
    if (!up) link.cut = link.nic_free = link.port_free = transit_.now;
  }
}

void Fabric::set_switch(std::uint8_t link, bool up) {
  switches_[link].up = up;
  if (up) return;
  for (HostId host = 0; host < config_.hosts; ++host)
    link_of(host, link).cut = link_of(host, link).port_free = transit_.now;
}

void Fabric::set_line(HostId host, std::uint8_t which, const Line& line) {
  for (std::uint8_t i = 0; i < config_.links; ++i) {
    if (which != kNoLink && which != i) continue;
    Link& link = link_of(host, i);
    link.longest = line.longest;
    if (line.bits_per_second != 0) link.bits_per_second = line.bits_per_second;
  }
}

void Fabric::partition(std::vector<std::uint8_t> sides, std::uint8_t which, bool one_way) {
  for (std::uint8_t i = 0; i < config_.links; ++i) {
    if (which != kNoLink && which != i) continue;
    switches_[i].divided = !sides.empty();
    switches_[i].one_way = one_way;
    for (std::size_t host = 0; host < sides.size(); ++host)
      link_of(static_cast<HostId>(host), i).side = sides[host];
  }
}

void Fabric::set_multicast(std::uint8_t link, bool forwards) { switches_[link].multicast = forwards; }

void Fabric::set_multicast_to(HostId host, std::uint8_t link, bool reaches) {
  link_of(host, link).multicast = reaches;
}

void Fabric::join(GroupId group, HostId host, std::uint8_t link) {
  if (group >= groups_.size()) groups_.resize(group + 1);
  leave(group, host, link);
  groups_[group].push_back({host, link});
}

void Fabric::leave(GroupId group, HostId host, std::uint8_t link) {
  if (group >= groups_.size()) return;
  auto& members = groups_[group];
  members.erase(std::remove_if(members.begin(), members.end(),
                               [&](const Member& m) { return m.host == host && m.link == link; }),
                members.end());
}

void Fabric::send_foreign(std::uint8_t link, GroupId group, std::span<const std::byte> bytes) {
  if (!switches_[link].multicast || group >= groups_.size()) return;
  for (const Member& member : groups_[group]) {
    if (member.link != link || !link_of(member.host, link).multicast) continue;
    Flight flight;
    flight.packet = transit_.pool.copy(bytes);
    flight.group = group;
    flight.link = link;
    flight.multicast = flight.bad = true;
    to_port(flight, member.host);
  }
}

Duration Fabric::queue_time(const Link& link, std::uint32_t bytes) noexcept {
  return {static_cast<std::int64_t>(std::uint64_t{bytes} * 8'000'000'000u / link.bits_per_second)};
}

bool Fabric::is_full(const Link& link) const noexcept {
  return link.nic_free > transit_.now &&
         link.nic_free - transit_.now > queue_time(link, config_.shape.nic_bytes);
}

bool Fabric::has_full_nic(HostId host) const noexcept {
  for (std::uint8_t link = 0; link < config_.links; ++link)
    if (is_full(link_of(host, link))) return true;
  return false;
}

std::optional<Instant> Fabric::nic_half_empty_at(HostId host) const noexcept {
  std::optional<Instant> first;
  for (std::uint8_t i = 0; i < config_.links; ++i) {
    const Link& link = link_of(host, i);
    const Instant at{link.nic_free.ns - queue_time(link, config_.shape.nic_bytes / 2).ns};
    if (is_full(link) && (!first || at < *first)) first = at;
  }
  return first;
}

void Fabric::enter_nic(Flight flight) {
  Link& link = link_of(flight.from, flight.link);
  if (!link.up) return transit_.drop(flight, flight.to, Sight::cut_off, transit_.counters.cut_off);
  const Duration time = line_time(link, flight.packet->size);
  const Instant free = std::max(link.nic_free, transit_.now);
  if (config_.nic_drops && (free + time) - transit_.now > queue_time(link, config_.shape.nic_bytes))
    return transit_.drop(flight, flight.to, Sight::nic_full, transit_.counters.nic_full);
  ++transit_.counters.sent;
  transit_.counters.sent_bytes += flight.packet->size;
  transit_.see(Sight::sent, flight, flight.to);
  flight.left = transit_.now;
  link.nic_free = free + time;
  transit_.launch(link.nic_free + config_.shape.delay + config_.switch_delay, kAtSwitch, flight);
}

bool Fabric::is_divided(HostId from, HostId to, std::uint8_t link) const noexcept {
  const Switch& plane = switches_[link];
  if (!plane.divided || from < 0) return false;
  const std::uint8_t here = link_of(from, link).side, there = link_of(to, link).side;
  return plane.one_way ? here < there : here != there;
}

bool Fabric::is_cut_off(const Flight& flight) const noexcept {
  const Link& link = link_of(flight.to, flight.link);
  return !link.up || link.cut >= flight.left;
}

// Store and forward: the switch has the whole datagram and chooses the output ports.
void Fabric::at_switch(const Flight& flight) {
  if (flight.stage == 1) return pass_spine(flight);
  if (flight.stage == 2) {
    if (!flight.multicast) return to_port(flight, flight.to);
    to_members(flight, flight.leaf);
    return transit_.pool.release(flight.packet);
  }
  const Switch& plane = switches_[flight.link];
  const Link& link = link_of(flight.from, flight.link);
  if (!plane.up || !link.up || link.cut >= flight.left || flight.packet->size > link.longest)
    return transit_.drop(flight, flight.to, Sight::cut_off, transit_.counters.cut_off);
  if (happens(transit_.chance, faults_.common_loss))
    return transit_.drop(flight, flight.to, Sight::lost, transit_.counters.lost);
  const std::uint16_t leaf = trunks_.leaf_of(flight.from);
  if (!flight.multicast)
    return trunks_.leaf_of(flight.to) == leaf ? to_port(flight, flight.to) : trunks_.up(flight);
  if (plane.multicast && flight.group < groups_.size()) {
    to_members(flight, leaf);
    if (trunks_.leaves() > 1) return trunks_.up(flight);
  } else if (!plane.multicast) {
    ++transit_.counters.cut_off;
    transit_.see(Sight::cut_off, flight, -1);
  }
  transit_.pool.release(flight.packet);
}

void Fabric::to_members(const Flight& flight, std::uint16_t leaf) {
  for (const Member& member : groups_[flight.group]) {
    if (member.link != flight.link || member.host == flight.from || trunks_.leaf_of(member.host) != leaf)
      continue;
    Flight copy = flight;
    ++copy.packet->uses;
    if (happens(transit_.chance, faults_.multicast_loss))
      transit_.drop(copy, member.host, Sight::lost, transit_.counters.lost);
    else if (link_of(member.host, member.link).multicast)
      to_port(copy, member.host);
    else
      transit_.drop(copy, member.host, Sight::cut_off, transit_.counters.cut_off);
  }
}

void Fabric::pass_spine(const Flight& flight) {
  Flight next = flight;
  if (!flight.multicast) {
    next.leaf = trunks_.leaf_of(flight.to);
    return trunks_.down(next);
  }
  std::vector<bool> wanted(trunks_.leaves());
  for (const Member& member : groups_[flight.group])
    if (member.link == flight.link) wanted[trunks_.leaf_of(member.host)] = true;
  wanted[trunks_.leaf_of(flight.from)] = false;
  for (std::uint16_t leaf = 0; leaf < wanted.size(); ++leaf) {
    if (!wanted[leaf]) continue;
    next.leaf = leaf;
    ++next.packet->uses;
    trunks_.down(next);
  }
  transit_.pool.release(flight.packet);
}

void Fabric::to_port(const Flight& flight, HostId to) {
  Link& link = link_of(to, flight.link);
  if (!link.up || is_divided(flight.from, to, flight.link) || flight.packet->size > link.longest)
    return transit_.drop(flight, to, Sight::cut_off, transit_.counters.cut_off);
  const Duration time = line_time(link, flight.packet->size);
  const Instant free = std::max(link.port_free, transit_.now);
  if ((free + time) - transit_.now > queue_time(link, config_.shape.port_bytes)) {
    if (!config_.pause_frames || flight.from < 0)
      return transit_.drop(flight, to, Sight::port_full, transit_.counters.port_full);
    Link& from = link_of(flight.from, flight.link);
    const Instant half{free.ns - queue_time(link, config_.shape.port_bytes / 2).ns};
    from.nic_free = std::max(from.nic_free, half);  // everything else that it sends waits, too
  }
  link.port_free = free + time;
  Flight next = flight;
  next.to = to;
  next.left = transit_.now;
  down_the_line(next, link.port_free + config_.shape.delay);
}

// The last line, with faults independent for each receiver.
void Fabric::down_the_line(Flight flight, Instant arrives) {
  const auto& own = own_faults_[static_cast<std::size_t>(flight.to)];
  const Faults& faults = own ? *own : faults_;
  Link& link = link_of(flight.to, flight.link);
  if (faults.burst_enter > 0)
    link.bad = link.bad ? !happens(transit_.chance, faults.burst_leave)
                        : happens(transit_.chance, faults.burst_enter);
  if ((link.bad && happens(transit_.chance, faults.burst_loss)) || happens(transit_.chance, faults.loss))
    return transit_.drop(flight, flight.to, Sight::lost, transit_.counters.lost);
  if (happens(transit_.chance, faults.duplicate))
    duplicate(flight, arrives + up_to(transit_.chance, faults.reorder_by));
  if (happens(transit_.chance, faults.replay))
    duplicate(flight, arrives + up_to(transit_.chance, faults.replay_by));
  if (happens(transit_.chance, faults.flip) || happens(transit_.chance, faults.truncate))
    spoil(flight, faults);
  if (happens(transit_.chance, faults.garbage)) {
    std::byte noise[96];
    for (std::byte& each : noise) each = static_cast<std::byte>(transit_.chance.next());
    // Half of them begin like a datagram of ours.
    if (transit_.chance.below(2) == 0)
      std::copy_n(flight.packet->data(), std::min<std::size_t>(12, flight.packet->size), noise);
    Flight foreign = flight;
    foreign.from = -1;
    foreign.bad = true;
    foreign.packet = transit_.pool.copy({noise, transit_.chance.below(sizeof noise) + 1});
    transit_.launch(arrives, kAtHost, foreign);
  }
  if (happens(transit_.chance, faults.reorder)) {
    ++transit_.counters.reordered;
    transit_.see(Sight::reordered, flight, flight.to);
    arrives = arrives + up_to(transit_.chance, faults.reorder_by);
  }
  transit_.launch(arrives, kAtHost, flight);
}

void Fabric::duplicate(const Flight& flight, Instant arrives) {
  ++transit_.counters.duplicated;
  transit_.see(Sight::duplicated, flight, flight.to);
  ++flight.packet->uses;
  transit_.launch(arrives, kAtHost, flight);
}

void Fabric::spoil(Flight& flight, const Faults& faults) {
  Packet* const whole = flight.packet;
  if (whole->size == 0) return;
  flight.packet = transit_.pool.copy(whole->bytes());
  Packet& packet = *flight.packet;
  if (faults.truncate > 0 && transit_.chance.below(2) == 0) {
    packet.size = static_cast<std::uint32_t>(transit_.chance.below(packet.size));
  } else {
    for (std::uint64_t bits = transit_.chance.below(3) + 1; bits != 0; --bits)
      packet.data()[transit_.chance.below(packet.size)] ^=
          static_cast<std::byte>(1u << transit_.chance.below(8));
  }
  if (packet.size != whole->size || std::memcmp(packet.data(), whole->data(), packet.size) != 0)
    flight.bad = true;
  transit_.pool.release(whole);
  ++transit_.counters.spoiled;
  transit_.see(Sight::spoiled, flight, flight.to);
}

}  // namespace herald::sim
