// SPDX-License-Identifier: BSD-3-Clause
// model/parameters.hpp: the parameters of a cluster, after Tam and Wang, "Realistic Communication Model for
// Parallel Computing on Cluster", section 3.2. All times are nanoseconds; the paper's names are in comments.
#pragma once
#include <array>
#include <cstdint>

#include "model/function.hpp"

namespace herald::model {

enum class Path : std::uint8_t { shm, direct, udp, tcp, mcast };
constexpr std::size_t kPaths = 5;
const char* name_of(Path path) noexcept;

struct PathParameters {
  Function send_overhead;  // O_s: processor time of the sender
  Function send_gap;       // g_s: between two messages that leave one host
  Function latency;        // L(m, 1): from the end of O_s until the whole message is at the receiver's host
  Function latency_per_pair;  // added to L for each further pair of hosts that communicates at the same time
  Function recv_gap;          // g_r: between two messages that arrive at one host
  Function recv_overhead;     // O_r: processor time of the receiver's kernel
  Function user_recv;         // U_r: processor time of the receiving process
  double eager_bytes = 0;     // a longer message waits until its receive has started
  double packet_bytes = 1;    // the stages of a message overlap, packet by packet
  bool operator==(const PathParameters&) const = default;
};

enum class Reduction : std::uint8_t { integer, floating };
constexpr std::size_t kReductions = 2;

struct Parameters {
  std::array<PathParameters, kPaths> path;
  // M_ctc, M_ctm, M_mtm: copies between memory that is in the cache or not.
  Function copy_in_cache, copy_out_of_cache, copy_in_memory;
  double cache_bytes = 256 << 10;  // copies of up to so many bytes stay in the cache of a core ...
  double memory_bytes = 8 << 20;   // ... and those of more do not fit into any cache
  std::array<Function, kReductions> reduce;
  Function checksum;
  double fan_out_ns = 0;    // of a multicast: for each further member
  double wake_ns = 0;       // until a sleeping receiver runs
  double spin_ns = 0;       // a receiver sleeps after it has waited for so long
  double switch_bytes = 0;  // B_L: buffer of a port of the switch; 0: not known, never full
  double repair_ns = 0;     // until a packet that was dropped by a full port arrives again
  // Share of the receive gap during which a host cannot send, and the other way round (section 4): 0 for an
  // ideal full-duplex port, 1 where both take turns.
  double interference = 0;
  double cores = 1;  // of a host

  const PathParameters& of(Path which) const noexcept { return path[static_cast<std::size_t>(which)]; }
  PathParameters& of(Path which) noexcept { return path[static_cast<std::size_t>(which)]; }
  double copy_ns(double bytes) const noexcept {
    if (bytes <= cache_bytes) return copy_in_cache.at(bytes);
    return (bytes <= memory_bytes ? copy_out_of_cache : copy_in_memory).at(bytes);
  }
  double reduce_ns(Reduction kind, double bytes) const noexcept {
    return reduce[static_cast<std::size_t>(kind)].at(bytes);
  }
  bool operator==(const Parameters&) const = default;
};

// Calls visit(name, function) for each function of a path, and of the host.
template <class P, class Visit>
void for_each_path_function(P& path, Visit visit) {
  visit("O_s", path.send_overhead), visit("g_s", path.send_gap), visit("L", path.latency);
  visit("L_pair", path.latency_per_pair), visit("g_r", path.recv_gap), visit("O_r", path.recv_overhead);
  visit("U_r", path.user_recv);
}
template <class P, class Visit>
void for_each_host_function(P& host, Visit visit) {
  visit("M_ctc", host.copy_in_cache), visit("M_ctm", host.copy_out_of_cache);
  visit("M_mtm", host.copy_in_memory), visit("reduce_integer", host.reduce[0]);
  visit("reduce_floating", host.reduce[1]), visit("checksum", host.checksum);
}
// Calls visit(name with its unit, value) for each plain number.
template <class P, class Visit>
void for_each_path_number(P& path, Visit visit) {
  visit("eager_bytes", path.eager_bytes), visit("packet_bytes", path.packet_bytes);
}
template <class P, class Visit>
void for_each_host_number(P& host, Visit visit) {
  visit("cache_bytes", host.cache_bytes), visit("memory_bytes", host.memory_bytes);
  visit("fan_out_ns", host.fan_out_ns), visit("wake_ns", host.wake_ns), visit("spin_ns", host.spin_ns);
  visit("B_L_bytes", host.switch_bytes), visit("repair_ns", host.repair_ns);
  visit("interference_share", host.interference), visit("cores_count", host.cores);
}

// All functions at the lower (-1) or upper (+1) end of their intervals.
Parameters shifted(const Parameters& parameters, double by) noexcept;

// Without measurement: hosts of today, joined by links of this rate.
Parameters default_parameters(double link_bits_per_second, double cores) noexcept;

}  // namespace herald::model
