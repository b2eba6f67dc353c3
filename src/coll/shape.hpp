// SPDX-License-Identifier: BSD-3-Clause
// coll/shape.hpp: facts about a communicator that an algorithm uses to say whether it fits and what it costs.
// All of them are equal at every rank, so every rank makes the same choice.
#pragma once
#include <cstdint>

#include "coll/incast.hpp"

namespace herald::coll {

// Alpha-beta model. The defaults are typical of shared memory on one host and rank the algorithms sanely
// without measurement.
struct Cost {
  double message_ns = 700;  // alpha: one message, however short
  double byte_ns = 0.12;    // beta: one byte from one rank to another
  double copy_byte_ns = 0.06;
  double reduce_byte_ns = 0.12;
};

// Between hosts: 10 Gbit/s Ethernet and the path through both kernels.
constexpr Cost kNetworkCost{.message_ns = 25000, .byte_ns = 0.9};

struct Shape {
  int ranks = 1;
  int hosts = 1;
  bool commutes = true;  // the reduction, if there is one
  // All ranks of a host share a collective segment; a post copied into it has at most so many bytes. 0: there
  // is none.
  std::uint32_t shared_bytes = 0;
  bool reads_peers = false;         // they can read each other's memory
  bool lane = false;                // one rank per host, and a multicast reaches all (cast steps)
  int largest_host = 1;             // ranks on it
  bool host_order = true;           // ranks are numbered host by host
  bool leaders_lane = false;        // a multicast reaches the leaders of all hosts
  bool streams = false;             // the collective segment has streams
  bool in_order = true;             // all ranks start this call in the same order among others
  bool oversubscribed = false;      // ranks outnumber the cores that they may use
  bool fast = false;                // between hosts: processors, not links, limit long collectives
  std::uint64_t segment_bytes = 0;  // of pipelines between hosts, as measured; 0: as usual
  Incast incast;                    // between hosts
  double link_byte_ns = 0;          // a byte by the slowest link between hosts; 0: not known
  Cost cost;
};

// Without measurement: every message costs as much as on the slowest path between two ranks.
constexpr Shape shape_of(int ranks, int hosts, bool commutes) noexcept {
  Shape shape;
  shape.ranks = ranks;
  shape.hosts = hosts;
  shape.commutes = commutes;
  if (hosts > 1) shape.cost = kNetworkCost, shape.incast = kUsualIncast;
  return shape;
}

// A link slower than usual, as its interface or casts have told. A faster one changes nothing: there the
// kernels take most of the time.
constexpr Shape with_link(Shape shape, double byte_ns) noexcept {
  shape.link_byte_ns = byte_ns;
  if (shape.hosts > 1 && byte_ns > shape.cost.byte_ns) shape.cost.byte_ns = byte_ns;
  return shape;
}

// Estimate of an algorithm that cannot perform the call.
constexpr double kNeverNs = 1e300;
// Bytes that a post may copy into the collective segment of a communicator of usual size.
constexpr std::uint32_t kUsualSharedBytes = 4048;

// Smallest k with 2^k >= n.
constexpr int log2_up(int n) noexcept {
  int k = 0;
  while ((1 << k) < n) ++k;
  return k;
}
// Largest power of two that is not above n.
constexpr int power_below(int n) noexcept {
  int power = 1;
  while (power * 2 <= n) power *= 2;
  return power;
}
constexpr bool is_power(int n) noexcept { return (n & (n - 1)) == 0; }

// Destination and source of a rank in rounds 1 .. n-1 of an exchange between each pair of n ranks. They are
// equal where possible, so that acknowledgements ride on the data.
constexpr int to_in_round(int rank, int round, int n) noexcept {
  return is_power(n) ? rank ^ round : (rank + round) % n;
}
constexpr int from_in_round(int rank, int round, int n) noexcept {
  return is_power(n) ? rank ^ round : (rank - round + n) % n;
}

// `messages` in sequence, and `bytes` moved in all.
constexpr double transfer_ns(const Shape& shape, double messages, double bytes) noexcept {
  return messages * shape.cost.message_ns + bytes * shape.cost.byte_ns;
}

}  // namespace herald::coll
