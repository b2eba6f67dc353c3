// SPDX-License-Identifier: BSD-3-Clause
// sim/net/config.hpp: the parameters of a simulated network and its faults. docs/simulation.md explains what
// each of them models.
#pragma once
#include <cstdint>

#include "base/instant.hpp"

namespace herald::sim {

// Overhead of a datagram on the wire: UDP and IP headers, Ethernet header and FCS, preamble and gap. A packet
// of no more than 1472 bytes is one frame; longer ones are one jumbo frame.
constexpr std::uint32_t kUdpIpBytes = 28;
constexpr std::uint32_t kEthernetBytes = 18;
constexpr std::uint32_t kGapBytes = 20;
constexpr std::uint32_t kLeastFrame = 64;  // shorter frames are padded

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
  double loss = 0;            // independently for each receiver
  double common_loss = 0;     // before the switch: no receiver gets it
  double multicast_loss = 0;  // of multicasts, independently for each receiver
  double burst_enter = 0;     // probability per packet that a loss burst begins (Gilbert-Elliott) ...
  double burst_leave = 0;     // ... that it ends ...
  double burst_loss = 0;      // ... and loss inside the burst
  double reorder = 0;         // delayed by up to reorder_by, while others pass
  Duration reorder_by = microseconds(500);
  double duplicate = 0;  // delivered twice, up to reorder_by apart
  double replay = 0;     // delivered again up to replay_by later
  Duration replay_by = milliseconds(2000);
  double flip = 0;      // one to three wrong bits
  double truncate = 0;  // truncated
  double garbage = 0;   // a datagram of random bytes arrives as well, from an unknown address
};

struct NetConfig {
  std::uint64_t seed = 1;
  std::int32_t hosts = 2;
  std::uint8_t links = 1;  // of each host; link i of every host ends at switch i
  Shape shape;
  // Hosts of one leaf switch. Leaves are joined by a spine, so that a datagram to another leaf passes three
  // switches. 0: one switch for all.
  std::int32_t leaf_hosts = 0;
  std::uint64_t trunk_bits_per_second = 10'000'000'000;  // lines between a leaf and the spine
  std::uint32_t trunk_bytes = 2'000'000;                 // queues of their ports
  bool pause_frames = false;  // a full port does not drop: it stops the interface that fills it
  Faults faults;
  Duration switch_delay = microseconds(1);
  bool nic_drops = false;                // a full interface drops; otherwise the sender blocks
  std::uint32_t socket_bytes = 4 << 20;  // receive buffer of a host
  std::uint32_t socket_overhead = 768;   // of each datagram in the receive buffer
  Duration wake = microseconds(5);       // wake-up latency of a host that sleeps
  Duration wake_jitter = microseconds(5);
  Duration per_turn = microseconds(1);    // cost of a turn of a host ...
  Duration per_datagram = Duration{300};  // ... and of each datagram that it receives or sends
};

// Counters of datagrams.
struct NetCounters {
  std::uint64_t sent = 0, sent_bytes = 0;            // accepted by an interface; payload bytes
  std::uint64_t delivered = 0, delivered_bytes = 0;  // received by a host
  std::uint64_t lost = 0;                            // by random loss
  std::uint64_t nic_full = 0, port_full = 0, socket_full = 0;
  std::uint64_t cut_off = 0;  // partition, link or switch down, host dead, multicast not forwarded
  std::uint64_t duplicated = 0, reordered = 0, spoiled = 0, foreign = 0;
  std::uint64_t bad = 0;  // corrupted and foreign datagrams that a host received
  std::uint64_t events = 0, turns = 0;
};

}  // namespace herald::sim
