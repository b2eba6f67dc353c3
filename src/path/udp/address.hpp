// SPDX-License-Identifier: BSD-3-Clause
// path/udp/address.hpp: IP addresses and prefixes as values: conversion to and from text, and membership in a
// network.
#pragma once
#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace herald::path::udp {

struct Address {
  std::uint8_t family = 0;             // 4 or 6; 0: none
  std::array<std::uint8_t, 16> raw{};  // network order; the first 4 for family 4

  bool operator==(const Address&) const = default;
  int bits() const noexcept { return family == 4 ? 32 : 128; }
  bool is_link_local() const noexcept;  // fe80::/10; 169.254.0.0/16
  bool is_loopback() const noexcept;
};

struct Prefix {
  Address address;
  std::uint8_t bits = 0;

  bool contains(const Address& other) const noexcept;
};

// False if the text is not an address. No host names, no scopes.
bool parse_address(std::string_view text, Address& address);
// "10.0.0.0/8", "fd00::/8"; an address without a length is a host prefix.
bool parse_prefix(std::string_view text, Prefix& prefix);
std::string to_text(const Address& address);

// `scope`: index of the interface, for link-local addresses of family 6. Returns the length.
socklen_t to_sockaddr(const Address& address, std::uint16_t port, std::uint32_t scope,
                      sockaddr_storage& out) noexcept;
// False if it is of another family.
bool from_sockaddr(const sockaddr* in, Address& address) noexcept;

}  // namespace herald::path::udp
