// SPDX-License-Identifier: BSD-3-Clause
// path/udp/interfaces.hpp: the network interfaces of this host, and which of them are worth using.
// In: the system's list; HERALD_IF and HERALD_NET. Out: interfaces, best first, each with the addresses that
// may be used. choose_interfaces() looks at nothing but its arguments.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "path/udp/address.hpp"

namespace herald::path::udp {

enum class InterfaceKind : std::uint8_t {
  plain,      // what a cable is in, or looks like it
  secondary,  // bridges of containers, tunnels, links without carrier: only if nothing else leads there
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
  std::vector<Prefix> addresses;  // as the system lists them
};

// Every interface of this network namespace, also those that are down or have no address; best first.
std::vector<Interface> list_interfaces();

// By its name alone: true for those of container engines, virtual machines and tunnels.
bool is_secondary_name(std::string_view name) noexcept;

// Of `all`, what HERALD_IF (`names`) and HERALD_NET (`networks`) allow, each with at most one address of each
// family. Both empty: all that are up and not loopback; loopback only if there is no other. False with `why`
// if a name or prefix is wrong or nothing is left.
bool choose_interfaces(std::span<const Interface> all, std::string_view names, std::string_view networks,
                       std::vector<Interface>& chosen, std::string& why);

}  // namespace herald::path::udp
