// SPDX-License-Identifier: BSD-3-Clause
#include "model/baselines.hpp"

#include <algorithm>

namespace herald::model {
namespace {

// Costs of a message of one packet. A shorter message costs as much; a longer one is several packets.
struct Packet {
  double bytes, send_ns, recv_ns, latency_ns, gap_ns;
};

// `first` for the first packet, `each` for every further one.
Function in_packets(const Packet& packet, double first, double each) noexcept {
  Function function = {{0, first, 0}, {packet.bytes, first, 0}};
  constexpr double kMany = 1024;
  function.add({packet.bytes * kMany, first + each * (kMany - 1), 0});
  return function;
}

PathParameters path_of(const PathParameters& measured, bool has_overhead) noexcept {
  const double bytes = std::max(1.0, measured.packet_bytes);
  Packet packet{bytes, measured.send_overhead.at(bytes),
                measured.recv_overhead.at(bytes) + measured.user_recv.at(bytes), measured.latency.at(bytes),
                measured.send_gap.at(bytes)};
  if (!has_overhead) {
    packet.latency_ns += packet.send_ns + packet.recv_ns;
    packet.send_ns = packet.recv_ns = 0;
  }
  PathParameters path;
  path.send_overhead = in_packets(packet, packet.send_ns, packet.send_ns);
  path.recv_overhead = in_packets(packet, packet.recv_ns, packet.recv_ns);
  path.user_recv = Function::line(0, 0);
  path.latency = in_packets(packet, packet.latency_ns, packet.gap_ns);
  path.latency_per_pair = Function::line(0, 0);
  path.send_gap = path.recv_gap = in_packets(packet, packet.gap_ns, packet.gap_ns);
  path.eager_bytes = measured.eager_bytes;
  path.packet_bytes = bytes;
  return path;
}

Parameters reduced(const Parameters& measured, bool has_overhead) noexcept {
  Parameters all = measured;
  for (const Path path : {Path::udp, Path::tcp, Path::mcast})
    all.of(path) = path_of(measured.of(path), has_overhead);
  all.fan_out_ns = all.wake_ns = all.repair_ns = all.switch_bytes = all.interference = 0;
  return all;
}

}  // namespace

Parameters logp_parameters(const Parameters& measured) noexcept { return reduced(measured, true); }
Parameters postal_parameters(const Parameters& measured) noexcept { return reduced(measured, false); }

}  // namespace herald::model
