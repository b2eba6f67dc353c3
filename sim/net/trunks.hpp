// SPDX-License-Identifier: BSD-3-Clause
// sim/net/trunks.hpp: the lines between leaf switches and the spine that joins them, with a queue each.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/net/transit.hpp"

namespace herald::sim {

class Trunks {
 public:
  Trunks(const NetConfig& config, Transit& transit)
      : config_(config),
        transit_(transit),
        lines_((std::size_t{leaf_of(config.hosts - 1)} + 1) * config.links) {}

  std::uint16_t leaf_of(HostId host) const noexcept {
    return static_cast<std::uint16_t>(config_.leaf_hosts == 0 ? 0 : host / config_.leaf_hosts);
  }
  std::uint16_t leaves() const noexcept { return static_cast<std::uint16_t>(lines_.size() / config_.links); }
  // Both take over the datagram, which is at the spine next, or at the leaf of its receivers.
  void up(const Flight& flight) { pass(flight, line_of(leaf_of(flight.from), flight.link).up_free, 1); }
  void down(const Flight& flight) { pass(flight, line_of(flight.leaf, flight.link).down_free, 2); }

 private:
  struct Line {  // when its queues are empty
    Instant up_free, down_free;
  };
  Line& line_of(std::uint16_t leaf, std::uint8_t link) noexcept {
    return lines_[std::size_t{leaf} * config_.links + link];
  }
  Duration time_of(std::uint32_t bytes) const noexcept {
    return {static_cast<std::int64_t>(std::uint64_t{bytes} * 8'000'000'000u / config_.trunk_bits_per_second)};
  }
  void pass(Flight flight, Instant& free, std::uint8_t stage) {
    const Instant end = std::max(free, transit_.now) + time_of(wire_bytes(flight.packet->size));
    if (end - transit_.now > time_of(config_.trunk_bytes) && !config_.pause_frames)
      return transit_.drop(flight, flight.to, Sight::port_full, transit_.counters.port_full);
    free = end;
    flight.stage = stage;
    transit_.launch(free + config_.shape.delay + config_.switch_delay, kAtSwitch, flight);
  }

  const NetConfig& config_;
  Transit& transit_;
  std::vector<Line> lines_;  // by leaf and link
};

}  // namespace herald::sim
