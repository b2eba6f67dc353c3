// SPDX-License-Identifier: BSD-3-Clause
#include "model/parameters.hpp"

namespace herald::model {

const char* name_of(Path path) noexcept {
  static constexpr const char* kNames[kPaths] = {"shm", "direct", "udp", "tcp", "mcast"};
  return kNames[static_cast<std::size_t>(path)];
}

Parameters shifted(const Parameters& parameters, double by) noexcept {
  Parameters moved = parameters;
  const auto shift = [by](const char*, Function& function) { function = function.shifted(by); };
  for (PathParameters& path : moved.path) for_each_path_function(path, shift);
  for_each_host_function(moved, shift);
  return moved;
}

namespace {

// A kernel passes UDP datagrams of 64 KiB (UDP_SEGMENT) at about 20 Gbit/s; a slower link is the limit.
PathParameters network_path(double link_bits_per_second) noexcept {
  constexpr double kKernelByteNs = 0.4, kFrame = 1538.0 / 1380.0;
  const double byte_ns = std::max(kKernelByteNs, 8e9 / link_bits_per_second * kFrame);
  PathParameters path;
  path.send_overhead = Function::line(3000, 0.2);
  path.send_gap = Function::line(1500, byte_ns);
  path.latency = Function::line(9000, byte_ns);
  path.latency_per_pair = Function::line(100, 0);
  path.recv_gap = Function::line(1500, byte_ns);
  path.recv_overhead = Function::line(2500, 0.2);
  path.user_recv = Function::line(1500, 0.06);
  path.eager_bytes = 65536;
  path.packet_bytes = 1380;
  return path;
}

}  // namespace

Parameters default_parameters(double link_bits_per_second, double cores) noexcept {
  Parameters all;
  PathParameters& shm = all.of(Path::shm);
  shm.send_overhead = Function::line(150, 0.06);
  shm.latency = Function::line(120, 0);
  shm.user_recv = Function::line(150, 0.06);
  shm.eager_bytes = 48 << 10;
  shm.packet_bytes = 8192;
  PathParameters& direct = all.of(Path::direct);
  direct.send_overhead = Function::line(500, 0.04);
  direct.latency = Function::line(200, 0);
  direct.user_recv = Function::line(700, 0.08);
  direct.packet_bytes = 16384;
  all.of(Path::udp) = all.of(Path::tcp) = all.of(Path::mcast) = network_path(link_bits_per_second);
  all.copy_in_cache = Function::line(40, 0.04);
  all.copy_out_of_cache = Function::line(60, 0.07);
  all.copy_in_memory = Function::line(100, 0.12);
  all.reduce = {Function::line(40, 0.06), Function::line(40, 0.08)};
  all.checksum = Function::line(30, 0.05);
  all.fan_out_ns = 150;
  all.wake_ns = 5000;
  all.spin_ns = 50000;
  all.switch_bytes = 128 << 10;
  all.repair_ns = 1e6;
  all.cores = cores;
  return all;
}

}  // namespace herald::model
