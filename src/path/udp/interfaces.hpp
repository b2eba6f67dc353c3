// SPDX-License-Identifier: BSD-3-Clause
// path/udp/interfaces.hpp: the network interfaces of this host, and which of them are used.
// In: the list of the kernel; HERALD_IF and HERALD_NET. Out: interfaces, best first, each with its usable
// addresses. choose_interfaces() depends on nothing but its arguments.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "path/udp/address.hpp"

namespace herald::path::udp {

enum class InterfaceKind : std::uint8_t {
  plain,      // a physical port, or one that looks like it
  secondary,  // container bridges, tunnels, no carrier: only if no other reaches the peer
  loopback,
};

struct Interface {
  std::string name;
  std::uint32_t index = 0;
  std::uint32_t mtu = 1500;
  std::uint32_t mbit = 0;  // 0: not known
  InterfaceKind kind = InterfaceKind::plain;
  bool up = false;
  bool multicast = false;
  std::vector<Prefix> addresses;  // in the order of the kernel
};

// Every interface of this network namespace, also those that are down or have no address; best first.
std::vector<Interface> list_interfaces();

// By its name: an interface of a container engine, a virtual machine or a tunnel.
bool is_secondary_name(std::string_view name) noexcept;

// The interfaces of `all` that HERALD_IF (`names`) and HERALD_NET (`networks`) allow, each with at most one
// address per family. Both empty: all that are up and not loopback; loopback only if there is no other. False
// with `why` if a name or prefix is wrong or no interface is left.
bool choose_interfaces(std::span<const Interface> all, std::string_view names, std::string_view networks,
                       std::vector<Interface>& chosen, std::string& why);

}  // namespace herald::path::udp
