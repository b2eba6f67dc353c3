// SPDX-License-Identifier: BSD-3-Clause
#include "path/udp/links.hpp"

#include <cstring>

namespace herald::path::udp {
namespace {

// Addresses from the kernel differ in padding and flow label: only port and IP address identify the sender.
bool same_sender(const Link& link, std::uint8_t socket, const sockaddr_in6& from) noexcept {
  if (link.socket != socket || link.to.base.sa_family != from.sin6_family) return false;
  if (from.sin6_family == AF_INET) {
    const auto& four = reinterpret_cast<const sockaddr_in&>(from);
    return link.to.four.sin_port == four.sin_port && link.to.four.sin_addr.s_addr == four.sin_addr.s_addr;
  }
  return link.to.six.sin6_port == from.sin6_port &&
         std::memcmp(&link.to.six.sin6_addr, &from.sin6_addr, sizeof from.sin6_addr) == 0;
}

std::size_t hash_of(std::uint8_t socket, const sockaddr_in6& from) noexcept {
  std::uint64_t words[2] = {0, 0};
  if (from.sin6_family == AF_INET)
    words[0] = reinterpret_cast<const sockaddr_in&>(from).sin_addr.s_addr;
  else
    std::memcpy(words, &from.sin6_addr, sizeof words);
  // The port lies in the same place in both kinds of address.
  std::uint64_t mix =
      words[0] * 0x9e3779b97f4a7c15u + words[1] + (std::uint64_t{from.sin6_port} << 8 | socket);
  mix = (mix ^ (mix >> 29)) * 0xbf58476d1ce4e5b9u;
  return static_cast<std::size_t>(mix ^ (mix >> 32));
}

}  // namespace

void Links::add(int peer, std::span<const Link> links) {
  if (static_cast<std::size_t>(peer) >= peers_.size()) peers_.resize(static_cast<std::size_t>(peer) + 1);
  Peer& place = peers_[static_cast<std::size_t>(peer)];
  place = {static_cast<std::uint32_t>(links_.size()), static_cast<std::uint32_t>(links.size())};
  for (const Link& link : links) links_.push_back(link);
  if (2 * links_.size() > table_.size()) return grow();
  for (std::uint32_t i = 0; i < place.count; ++i) enter(place.first + i);
}

void Links::enter(std::uint32_t index) noexcept {
  const std::size_t mask = table_.size() - 1;
  std::size_t at = hash_of(links_[index].socket, links_[index].to.six) & mask;
  while (table_[at] != 0) at = (at + 1) & mask;
  table_[at] = index + 1;
}

void Links::grow() {
  std::size_t size = 16;
  while (size < 4 * links_.size()) size *= 2;
  table_.assign(size, 0);
  for (std::uint32_t i = 0; i < links_.size(); ++i) enter(i);
}

Link* Links::find(int peer, std::uint8_t number) noexcept {
  if (peer < 0 || static_cast<std::size_t>(peer) >= peers_.size()) return nullptr;
  const Peer& place = peers_[static_cast<std::size_t>(peer)];
  return number < place.count ? &links_[place.first + number] : nullptr;
}

Link* Links::find(std::uint8_t socket, const sockaddr_in6& from) noexcept {
  if (links_.empty()) return nullptr;
  if (same_sender(links_[last_], socket, from)) return &links_[last_];
  const std::size_t mask = table_.size() - 1;
  for (std::size_t at = hash_of(socket, from) & mask; table_[at] != 0; at = (at + 1) & mask) {
    Link& link = links_[table_[at] - 1];
    if (!same_sender(link, socket, from)) continue;
    last_ = table_[at] - 1;
    return &link;
  }
  return nullptr;
}

}  // namespace herald::path::udp
