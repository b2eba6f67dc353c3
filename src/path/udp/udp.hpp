// SPDX-License-Identifier: BSD-3-Clause
// path/udp/udp.hpp: datagrams between hosts: one socket per interface in use, sendmmsg and recvmmsg,
// UDP_SEGMENT and UDP_GRO where they work (probed at run time, turned off for good on an error).
// In:  our interfaces; the cards of all ranks; batches to send.
// Out: our card (addresses, ports); datagrams that arrived, each with peer and link.
#pragma once
#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "path/ports.hpp"

namespace herald::path {

struct UdpConfig {
  int rank = 0;
  int size = 1;
  std::string interfaces;                // HERALD_IF: names, comma separated; empty: all suitable
  std::string networks;                  // HERALD_NET: prefixes, comma separated; empty: all
  std::uint32_t socket_bytes = 4 << 20;  // requested; the kernel may grant less
  bool segment = true;                   // try UDP_SEGMENT and UDP_GRO
  Ports ports;                           // HERALD_PORTS
  // Called with the address and port of each socket; false: take another port. Empty: any is good.
  std::function<bool(const sockaddr& bound, socklen_t length)> take_port;
};

struct UdpSend {  // one datagram to send
  std::int32_t to = 0;
  std::uint8_t link = 0;
  std::span<const std::byte> bytes;
  std::span<const std::byte> rest = {};  // its second part
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
  bool same_host = false;       // the other end is on this host
};

struct UdpEnds {  // addresses of a link
  sockaddr_storage ours{}, theirs{};
  socklen_t length = 0;  // 0: no such link
};

class UdpPath {
 public:
  static std::unique_ptr<UdpPath> open(const UdpConfig& config, std::string& why);
  virtual ~UdpPath() = default;

  // Text to publish: interfaces with addresses, ports, MTU, speed.
  virtual std::string card() const = 0;
  // The addresses of the card, best first, without those that need a scope.
  virtual std::vector<std::string> addresses() const = 0;
  // The links to a peer, best first, from its card: pairs of one of our interfaces and one of its addresses.
  // Returns their number (at most 8), 0 with `why` if there is none.
  virtual int add_peer(int peer, const std::string& card, std::string& why) = 0;
  // All peers of the job are known.
  virtual void settle() noexcept = 0;
  // As add_peer() for a process of another job, at any time after settle(). `peer`: UdpConfig::size or more.
  // `we_are_first` differs between the two processes.
  virtual int add_foreign(int peer, const std::string& card, bool we_are_first, std::string& why) = 0;
  // Largest datagram that all links of the peer carry.
  virtual std::uint32_t payload_to(int peer) const noexcept = 0;
  // For messages: "eth0 10.0.0.1 -> 10.0.0.2".
  virtual std::string link_name(int peer, std::uint8_t link) const = 0;
  virtual UdpLocal local_of(int peer, std::uint8_t link) const = 0;
  virtual UdpEnds ends_of(int peer, std::uint8_t link) const = 0;
  // Largest datagram that all links of all peers carry without fragments.
  virtual std::uint32_t datagram_bytes() const noexcept = 0;
  // Of the fastest interface of each host, the slowest in the job. 0: a host does not know its own.
  virtual std::uint32_t slowest_mbit() const noexcept = 0;
  // Datagrams of that size that one UDP_SEGMENT call sends.
  virtual std::uint32_t gso_packets() const noexcept = 0;
  // Largest datagram that a peer may send to us.
  virtual std::uint32_t largest_bytes() const noexcept = 0;
  // Receive buffer that the kernel granted, in bytes of datagrams.
  virtual std::uint32_t receive_bytes() const noexcept = 0;

  // Sends in order; returns how many were sent. Fewer: the socket is full (try later), or `failed` is set to
  // the entry that cannot be sent at all (no route, interface down): skip that entry.
  virtual std::size_t send(std::span<const UdpSend> batch, std::ptrdiff_t& failed) noexcept = 0;
  // The peer's host said that no process has one of its ports, since the last call. Anyone can forge that.
  virtual bool take_no_port(int peer) noexcept = 0;
  // Datagrams that have arrived, at most one batch (about 64). The spans are valid until the next call.
  virtual std::span<const UdpArrival> receive() noexcept = 0;
  // The last receive() filled its batch: more datagrams are probably queued.
  virtual bool may_have_more() const noexcept = 0;
  // To poll: readable when a datagram arrives.
  virtual std::span<const int> descriptors() const noexcept = 0;
  virtual bool send_blocked() const noexcept = 0;
};

}  // namespace herald::path
