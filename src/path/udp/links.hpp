// SPDX-License-Identifier: BSD-3-Clause
// path/udp/links.hpp: the links of all peers: the address to send to, and the peer that an address belongs
// to. Memory: 40 bytes per link, and 8 to 16 bytes for its entry in the hash table.
#pragma once
#include <netinet/in.h>

#include <cstdint>
#include <span>
#include <vector>

#include "path/udp/card.hpp"

namespace herald::path::udp {

struct Link {
  union {
    sockaddr base;
    sockaddr_in four;
    sockaddr_in6 six;
  } to;
  std::int32_t peer = -1;
  std::uint16_t payload = 0;     // largest datagram without fragments
  std::uint8_t socket = 0;       // index of ours
  std::uint8_t number : 4 = 0;   // among the peer's links
  std::uint8_t refused : 1 = 0;  // an error came back: the next send fails
  std::uint8_t no_port : 1 = 0;  // its host said that no process has the port; until take_no_port()
};
static_assert(sizeof(Link) <= 40);

class Links {
 public:
  explicit Links(int peers) : peers_(static_cast<std::size_t>(peers)) {}

  bool has(int peer) const noexcept {
    return static_cast<std::size_t>(peer) < peers_.size() &&
           peers_[static_cast<std::size_t>(peer)].count != 0;
  }
  // All links of one peer at once, in order; `links` of at most kMostLinks.
  void add(int peer, std::span<const Link> links);
  // Null: there is no such link.
  Link* find(int peer, std::uint8_t number) noexcept;
  const Link* find(int peer, std::uint8_t number) const noexcept {
    return const_cast<Links*>(this)->find(peer, number);
  }
  // The link on which our socket received from that address; null: none.
  Link* find(std::uint8_t socket, const sockaddr_in6& from) noexcept;
  std::span<const Link> all() const noexcept { return links_; }

 private:
  struct Peer {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
  };
  void enter(std::uint32_t index) noexcept;
  void grow();

  std::vector<Peer> peers_;
  std::vector<Link> links_;
  std::vector<std::uint32_t> table_;  // index into links_ plus 1; 0: free. A power of two, at most half full
  std::uint32_t last_ = 0;            // found last: the next lookup is often for the same
};

}  // namespace herald::path::udp
