// SPDX-License-Identifier: BSD-3-Clause
// path/udp/card.hpp: the business card that a process publishes about its sockets, as one line of text, and
// which pairs of interfaces of two cards are links.
// In: our card; a peer's, which is not trusted. Out: links, the same on both sides in the same order. Depends
// on nothing but its arguments.
//
//   udp1 NET NAME,MTU,MBIT,KIND,ADDRESS/BITS:PORT[,ADDRESS/BITS:PORT] ...
//
// NET names the network namespace in hexadecimal; KIND is p (plain), s (secondary) or l (loopback).
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "path/udp/address.hpp"
#include "path/udp/interfaces.hpp"

namespace herald::path::udp {

struct CardAddress {
  Prefix prefix;
  std::uint16_t port = 0;
};

struct CardInterface {
  std::string name;
  std::uint32_t mtu = 1500;
  std::uint32_t mbit = 0;
  InterfaceKind kind = InterfaceKind::plain;
  std::vector<CardAddress> addresses;  // 1 or 2
};

struct NetCard {
  std::uint64_t net = 0;
  std::vector<CardInterface> interfaces;
};

constexpr std::size_t kMostCardInterfaces = 16;
constexpr std::size_t kMostCardBytes = 4096;

// 0: not known.
std::uint32_t fastest_mbit(const NetCard& card) noexcept;
std::string write_card(const NetCard& card);
// False with `why` if the text is not a card of this version.
bool read_card(std::string_view text, NetCard& card, std::string& why);

// One of our addresses and one of theirs, as indices in the cards.
struct Pair {
  std::uint8_t our_interface = 0, our_address = 0;
  std::uint8_t their_interface = 0, their_address = 0;
  bool routed = false;  // not in one subnet: the path MTU may be smaller

  bool operator==(const Pair&) const = default;
};

constexpr std::size_t kMostLinks = 8;

// Best first. Two plain interfaces in one subnet are preferred; where there are none, routed pairs and then
// secondary interfaces are used. Both sides, with the cards and `we_are_first` exchanged, get the same pairs
// in the same order.
std::vector<Pair> pair_up(const NetCard& ours, const NetCard& theirs, bool we_are_first);

// The largest UDP payload that fits into one packet of such an interface.
std::uint32_t payload_bytes(std::uint32_t mtu, std::uint8_t family) noexcept;

}  // namespace herald::path::udp
