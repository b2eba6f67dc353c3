// SPDX-License-Identifier: BSD-3-Clause
// path/ports.hpp: the ports that the sockets of a job may bind (HERALD_PORTS), and which one is tried next.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace herald::path {

struct Ports {
  std::uint16_t first = 0, last = 0;  // 0: the kernel chooses
  std::uint16_t reserved = 0;         // not to be bound: the port of multicast, which jobs share

  bool any() const noexcept { return first == 0; }
  std::uint32_t count() const noexcept { return any() ? 0 : last - first + 1u; }
  bool contains(std::uint16_t port) const noexcept { return first <= port && port <= last; }
  // The port of try `index`, below count(); 0: leave it out. Processes that begin at different places
  // seldom meet.
  std::uint16_t at(std::uint32_t begin, std::uint32_t index) const noexcept {
    const auto port = static_cast<std::uint16_t>(first + (begin + index) % count());
    return port == reserved ? 0 : port;
  }
  std::string text() const { return std::to_string(first) + "-" + std::to_string(last); }
};

// "20000-20100", or nothing. False: not a range of at least two ports from 1024 to 65535.
bool read_ports(std::string_view text, Ports& ports) noexcept;

}  // namespace herald::path
