// SPDX-License-Identifier: BSD-3-Clause
// path/udp/udp.hpp: datagrams between hosts: one socket for each interface that is used, sendmmsg and
// recvmmsg, UDP_SEGMENT and UDP_GRO where they work (found out at run time, given up for good on error). In:
// our interfaces; what every rank published; batches to send. Out: what we publish (addresses, ports);
// datagrams that came, each with peer and link.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.hpp"

namespace herald::path {

struct UdpConfig {
  int rank = 0;
  int size = 1;
  std::string interfaces;                // HERALD_IF: names, comma separated; empty: all that make sense
  std::string networks;                  // HERALD_NET: prefixes, comma separated; empty: all
  std::uint32_t socket_bytes = 4 << 20;  // asked for; the system may give less
  bool segment = true;                   // try UDP_SEGMENT and UDP_GRO
};

struct UdpSend {  // one datagram to leave
  std::int32_t to = 0;
  std::uint8_t link = 0;
  std::span<const std::byte> bytes;
  std::span<const std::byte> rest = {};  // where it goes on
  std::size_t size() const noexcept { return bytes.size() + rest.size(); }
};

struct UdpArrival {
  std::int32_t from = -1;   // peer with that address, -1: unknown
  std::uint8_t link = 255;  // 255: unknown
  std::span<const std::byte> bytes;
};

struct UdpLocal {           // our end of a link
  std::uint8_t family = 0;  // 4 or 6; 0: no such link
  std::array<std::uint8_t, 16> address{};
  std::uint32_t interface = 0;  // index
  bool same_host = false;       // the other end is here, too
};

class UdpPath {
 public:
  static std::unique_ptr<UdpPath> open(const UdpConfig& config, std::string& why);
  virtual ~UdpPath() = default;

  // Text for the others: interfaces with addresses, ports, MTU, speed.
  virtual std::string card() const = 0;
  // The links to a peer, best first, from its card: pairs of one of our interfaces and one of its addresses.
  // Returns their number (at most 8), 0 with `why` if there is none.
  virtual int add_peer(int peer, const std::string& card, std::string& why) = 0;
  // All peers are known: nothing else is added.
  virtual void settle() noexcept = 0;
  // Words for messages: "eth0 10.0.0.1 -> 10.0.0.2".
  virtual std::string link_name(int peer, std::uint8_t link) const = 0;
  virtual UdpLocal local_of(int peer, std::uint8_t link) const = 0;
  // Largest datagram that all links of all peers carry without fragments.
  virtual std::uint32_t datagram_bytes() const noexcept = 0;
  // Datagrams of that size that one call sends as one.
  virtual std::uint32_t row_packets() const noexcept = 0;
  // Largest that may come: of one link, what its other end may send by it.
  virtual std::uint32_t largest_bytes() const noexcept = 0;
  // Receive buffer that the system really gave, in bytes of datagrams.
  virtual std::uint32_t receive_bytes() const noexcept = 0;

  // Sends in order; returns how many left. Fewer: the socket is full (try later; wait for writable()), or
  // `failed` is set to the entry that cannot be sent at all (no route, interface down): skip that one.
  virtual std::size_t send(std::span<const UdpSend> batch, std::ptrdiff_t& failed) noexcept = 0;
  // What has come: at most one batch (64 datagrams or so). The spans are good until the next call.
  virtual std::span<const UdpArrival> receive() noexcept = 0;
  // The last receive() took as many as fit: there are probably more.
  virtual bool may_have_more() const noexcept = 0;
  // To sleep on, all readable when something comes.
  virtual std::span<const int> descriptors() const noexcept = 0;
  virtual bool send_blocked() const noexcept = 0;
};

}  // namespace herald::path
