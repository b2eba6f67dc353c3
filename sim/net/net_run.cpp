// SPDX-License-Identifier: BSD-3-Clause
// sim/net/net_run.cpp: time, turns of hosts, and actions on the network.
#include <algorithm>
#include <cstring>

#include "base/fatal.hpp"
#include "sim/net/chance.hpp"
#include "sim/net/net.hpp"

namespace herald::sim {

bool Net::run(Instant end, const std::function<bool()>& stop) {
  while (!queue_.empty() && queue_.front().at <= end) {
    if (stop && stop()) return true;
    const Event event = queue_.pop();
    now_ = event.at;
    switch (static_cast<Kind>(event.kind)) {
      case kAtSwitch:
      case kAtHost: {
        const Flight flight = land(event.what);
        remember(event, &flight);
        ++counters_.events;
        if (event.kind == kAtSwitch)
          at_switch(flight);
        else
          at_host(flight);
        break;
      }
      case kTurn:
        if (host_of(static_cast<HostId>(event.what)).turn_at != event.at)
          break;  // the turn was moved to an earlier time
        remember(event, nullptr);
        ++counters_.events;
        run_turn(static_cast<HostId>(event.what));
        break;
      case kAction:
        remember(event, nullptr);
        if (watcher_ != nullptr) watcher_->on_action(now_, actions_[event.what].what);
        actions_[event.what].run(*this);
        break;
    }
  }
  if (stop && stop()) return true;
  if (!queue_.empty()) now_ = end;
  return false;
}

void Net::schedule_turn(HostId id, Instant at) {
  Host& host = host_of(id);
  if (!host.alive || host.node == nullptr || at >= host.turn_at) return;
  host.turn_at = at;
  queue_.push(at, kTurn, static_cast<std::uint32_t>(id));
}

void Net::poke(HostId host, Instant at) { schedule_turn(host, std::max(at, now_)); }

void Net::run_turn(HostId id) {
  Host& host = host_of(id);
  host.turn_at = kNever;
  if (!host.alive) return;
  const Instant free = std::max(host.paused_until, host.busy_until);
  if (free > now_) return schedule_turn(id, free);
  ++host.turns;
  ++counters_.turns;
  host.handled = 0;
  host.node->turn(now_);
  if (!host.alive) return;
  host.busy_until = now_ + Duration{config_.per_turn.ns + config_.per_datagram.ns * host.handled};
  if (host.first_waiting != host.waiting.size()) return schedule_turn(id, host.busy_until);
  if (host.blocked) {
    host.blocked = false;
    const Duration half = queue_time(config_.shape.nic_bytes / 2);
    Instant soonest = kNever;
    for (std::uint8_t link = 0; link < config_.links; ++link)
      if (is_full(id, link)) soonest = std::min(soonest, Instant{link_of(id, link).nic_free.ns - half.ns});
    if (soonest != kNever) schedule_turn(id, std::max(soonest, host.busy_until));
  }
  const Instant wish = host.node->wake_at();
  if (wish != kNever) schedule_turn(id, std::max(wish, host.busy_until));
}

void Net::launch(Instant at, Kind kind, const Flight& flight) {
  if (free_flight_ == kNone) {
    free_flight_ = static_cast<std::uint32_t>(flights_.size());
    flights_.emplace_back();
    flights_.back().next_free = kNone;
  }
  const std::uint32_t index = free_flight_;
  free_flight_ = flights_[index].next_free;
  flights_[index] = flight;
  queue_.push(at, kind, index);
}

Net::Flight Net::land(std::uint32_t index) noexcept {
  const Flight flight = flights_[index];
  flights_[index].next_free = free_flight_;
  free_flight_ = index;
  return flight;
}

// Time, kind, host, and the first bytes of the payload.
void Net::remember(const Event& event, const Flight* flight) noexcept {
  std::uint64_t hash = history_ ^ static_cast<std::uint64_t>(event.at.ns);
  const auto mix = [&hash](std::uint64_t value) {
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
  };
  mix(event.kind);
  if (flight == nullptr) {
    mix(event.what);
  } else {
    mix(std::uint64_t{flight->packet->size} << 32 | static_cast<std::uint32_t>(flight->to));
    std::uint64_t words[8]{};
    std::memcpy(words, flight->packet->data(), std::min<std::size_t>(sizeof words, flight->packet->size));
    for (const std::uint64_t each : words) mix(each);
  }
  history_ = hash;
}

void Net::join(GroupId group, HostId host, std::uint8_t link) {
  if (group >= groups_.size()) groups_.resize(group + 1);
  leave(group, host, link);
  groups_[group].push_back({host, link});
}

void Net::leave(GroupId group, HostId host, std::uint8_t link) {
  if (group >= groups_.size()) return;
  auto& members = groups_[group];
  members.erase(std::remove_if(members.begin(), members.end(),
                               [&](const Member& m) { return m.host == host && m.link == link; }),
                members.end());
}

void Net::at(Instant when, std::string what, std::function<void(Net&)> action) {
  actions_.push_back({std::move(what), std::move(action)});
  queue_.push(when, kAction, static_cast<std::uint32_t>(actions_.size() - 1));
}

void Net::set_faults(HostId host, const Faults& faults) {
  host_of(host).own_faults = true;
  host_of(host).faults = faults;
}

void Net::kill(HostId id) {
  Host& host = host_of(id);
  host.alive = false;
  host.turn_at = kNever;
  for (std::size_t i = host.first_waiting; i < host.waiting.size(); ++i)
    pool_.release(host.waiting[i].packet);
  host.waiting.clear();
  host.first_waiting = 0;
}

void Net::pause(HostId host, Duration how_long) {
  host_of(host).paused_until = std::max(host_of(host).paused_until, now_ + how_long);
}

void Net::set_link(HostId host, std::uint8_t which, bool up) {
  for (std::uint8_t i = 0; i < config_.links; ++i) {
    if (which != kNoLink && which != i) continue;
    Link& link = link_of(host, i);
    link.up = up;
    link.bad = false;
    if (!up) link.cut = link.nic_free = link.port_free = now_;
  }
}

void Net::set_switch(std::uint8_t link, bool up) {
  switches_[link].up = up;
  if (up) return;
  for (HostId host = 0; host < config_.hosts; ++host)
    link_of(host, link).cut = link_of(host, link).port_free = now_;
}

void Net::partition(std::vector<std::uint8_t> sides, std::uint8_t which, bool one_way) {
  for (std::uint8_t i = 0; i < config_.links; ++i) {
    if (which != kNoLink && which != i) continue;
    switches_[i].divided = !sides.empty();
    switches_[i].one_way = one_way;
    for (std::size_t host = 0; host < sides.size(); ++host)
      link_of(static_cast<HostId>(host), i).side = sides[host];
  }
}

void Net::set_multicast(std::uint8_t link, bool forwards) { switches_[link].multicast = forwards; }

void Net::set_multicast_to(HostId host, std::uint8_t link, bool reaches) {
  link_of(host, link).multicast = reaches;
}

}  // namespace herald::sim
