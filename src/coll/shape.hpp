// SPDX-License-Identifier: BSD-3-Clause
// coll/shape.hpp: what an algorithm may know of the communicator when it says whether it fits and what it
// would cost. Everything here is the same at every rank, so every rank chooses the same.
#pragma once
#include <cstdint>

namespace herald::coll {

// Alpha-beta model. The defaults are of the order of one host's shared memory; they rank the algorithms
// sanely without measurement.
struct Cost {
  double message_ns = 700;  // alpha: one message, however short
  double byte_ns = 0.12;    // beta: one byte from one rank to another
  double copy_byte_ns = 0.06;
  double reduce_byte_ns = 0.12;
};

// Between hosts joined by Ethernet: 10 Gbit/s, and the way through both kernels.
constexpr Cost kNetworkCost{.message_ns = 25000, .byte_ns = 0.9};

struct Shape {
  int ranks = 1;
  int hosts = 1;
  bool commutes = true;  // the reduction, if there is one
  // All ranks of a host share a collective segment in memory; a post copied onto it has at most so many
  // bytes. 0: there is none.
  std::uint32_t shared_bytes = 0;
  bool reads_peers = false;     // and they can read each other's memory
  bool lane = false;            // each rank is a host of its own, and one send reaches all (cast steps)
  int largest_host = 1;         // ranks on it; where there are several hosts
  bool host_order = true;       // the ranks count up host after host
  bool leaders_lane = false;    // one send reaches the leaders of all hosts
  bool streams = false;         // and the collective segment has streams
  bool in_order = true;         // all ranks start this call in the same order among others
  bool oversubscribed = false;  // and they outnumber the processors that they may use
  Cost cost;
};

// Without measurement: every message costs what the slowest way between two ranks costs.
constexpr Shape shape_of(int ranks, int hosts, bool commutes) noexcept {
  Shape shape;
  shape.ranks = ranks;
  shape.hosts = hosts;
  shape.commutes = commutes;
  if (hosts > 1) shape.cost = kNetworkCost;
  return shape;
}

// What an algorithm that cannot do it says that it would cost.
constexpr double kNeverNs = 1e300;
// What a post may copy, on the collective segment of a communicator of usual size.
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

// Exchanges between each two of n ranks, in rounds 1 .. n-1: to whom a rank sends, and from whom it receives.
// Where it can be the same rank it is: then acknowledgements ride on the data.
constexpr int to_in_round(int rank, int round, int n) noexcept {
  return is_power(n) ? rank ^ round : (rank + round) % n;
}
constexpr int from_in_round(int rank, int round, int n) noexcept {
  return is_power(n) ? rank ^ round : (rank - round + n) % n;
}

// `messages` one after another, and `bytes` moved on the way.
constexpr double transfer_ns(const Shape& shape, double messages, double bytes) noexcept {
  return messages * shape.cost.message_ns + bytes * shape.cost.byte_ns;
}

}  // namespace herald::coll
