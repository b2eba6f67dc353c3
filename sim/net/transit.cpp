// SPDX-License-Identifier: BSD-3-Clause
#include "sim/net/transit.hpp"

#include <algorithm>
#include <cstring>

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

Transit::~Transit() {
  while (!queue.empty()) {
    const Event event = queue.pop();
    if (event.kind == kAtSwitch || event.kind == kAtHost) pool.release(flights_[event.what].packet);
  }
}

void Transit::launch(Instant at, EventKind kind, const Flight& flight) {
  if (free_flight_ == kNone) {
    free_flight_ = static_cast<std::uint32_t>(flights_.size());
    flights_.emplace_back();
    flights_.back().next_free = kNone;
  }
  const std::uint32_t index = free_flight_;
  free_flight_ = flights_[index].next_free;
  flights_[index] = flight;
  queue.push(at, kind, index);
}

Flight Transit::land(std::uint32_t index) noexcept {
  const Flight flight = flights_[index];
  flights_[index].next_free = free_flight_;
  free_flight_ = index;
  return flight;
}

void Transit::drop(const Flight& flight, HostId to, Sight why, std::uint64_t& counter) {
  ++counter;
  see(why, flight, to);
  pool.release(flight.packet);
}

void Transit::see(Sight sight, const Flight& flight, HostId to) {
  if (watcher != nullptr) watcher->on_sight(now, sight, flight.from, to, flight.link, flight.packet->bytes());
}

// Time, kind, host, and the first bytes of the payload.
void Transit::remember(const Event& event, const Flight* flight) noexcept {
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

}  // namespace herald::sim
