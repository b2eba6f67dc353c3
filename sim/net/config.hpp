// SPDX-License-Identifier: BSD-3-Clause
// sim/net/config.hpp: what a network is made of, and what goes wrong in it. docs/simulation.md says what each
// of these stands for in a real one.
#pragma once
#include <cstdint>

#include "base/instant.hpp"

namespace herald::sim {

// Bytes that a datagram costs on the wire besides its payload: UDP and IP, Ethernet head and check sequence,
// preamble and gap. A packet of no more than 1472 bytes is one frame; longer ones are one jumbo frame.
constexpr std::uint32_t kUdpIpBytes = 28;
constexpr std::uint32_t kEthernetBytes = 18;
constexpr std::uint32_t kGapBytes = 20;
constexpr std::uint32_t kLeastFrame = 64;  // shorter frames are filled up

inline std::uint32_t wire_bytes(std::uint32_t payload) noexcept {
  const std::uint32_t frame = payload + kUdpIpBytes + kEthernetBytes;
  return (frame < kLeastFrame ? kLeastFrame : frame) + kGapBytes;
}

// One link: full duplex, from a host's interface to a port of a switch.
struct Shape {
  std::uint64_t bits_per_second = 1'000'000'000;
  Duration delay = microseconds(2);    // one way
  std::uint32_t nic_bytes = 256'000;   // queue of the host's interface, in bytes on the wire
  std::uint32_t port_bytes = 512'000;  // queue of the switch's port towards the host, likewise
};

// Shares of packets, 0 to 1.
struct Faults {
  double loss = 0;            // each receiver's copy for itself
  double common_loss = 0;     // before the switch: no receiver gets it
  double multicast_loss = 0;  // of multicasts, each receiver's copy for itself
  double burst_enter = 0;     // a link goes bad with one packet in so many (Gilbert and Elliott) ...
  double burst_leave = 0;     // ... gets well again ...
  double burst_loss = 0;      // ... and loses so many meanwhile
  double reorder = 0;         // held back by up to reorder_by, while others pass
  Duration reorder_by = microseconds(500);
  double duplicate = 0;  // comes twice, up to reorder_by apart
  double replay = 0;     // comes again up to replay_by later
  Duration replay_by = milliseconds(2000);
  double flip = 0;      // one to three wrong bits
  double truncate = 0;  // the end is cut off
  double garbage = 0;   // a stranger's bytes come as well, from an address that nobody knows
};

struct NetConfig {
  std::uint64_t seed = 1;
  std::int32_t hosts = 2;
  std::uint8_t links = 1;  // of each host; link i of every host ends at switch i
  Shape shape;
  Faults faults;
  Duration switch_delay = microseconds(1);
  bool nic_drops = false;                // a full interface drops; otherwise the sender is told and waits
  std::uint32_t socket_bytes = 4 << 20;  // what a host keeps of datagrams that came and were not taken
  std::uint32_t socket_overhead = 768;   // that each of them costs besides its bytes
  Duration wake = microseconds(5);       // from the arrival to the first instruction of a host that slept
  Duration wake_jitter = microseconds(5);
  Duration per_turn = microseconds(1);    // what a turn of a host costs ...
  Duration per_datagram = Duration{300};  // ... and each datagram that it takes or sends
};

// What became of datagrams.
struct NetCounters {
  std::uint64_t sent = 0, sent_bytes = 0;            // accepted by an interface; payload bytes
  std::uint64_t delivered = 0, delivered_bytes = 0;  // taken by a host
  std::uint64_t lost = 0;                            // by chance
  std::uint64_t nic_full = 0, port_full = 0, socket_full = 0;
  std::uint64_t cut_off = 0;  // partition, link or switch down, host dead, multicast not forwarded
  std::uint64_t duplicated = 0, reordered = 0, spoiled = 0, foreign = 0;
  std::uint64_t bad = 0;  // spoiled and foreign ones that a host took
  std::uint64_t events = 0, turns = 0;
};

}  // namespace herald::sim
