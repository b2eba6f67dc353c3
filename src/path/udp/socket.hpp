// SPDX-License-Identifier: BSD-3-Clause
// path/udp/socket.hpp: one UDP socket, bound to one address of one interface: large buffers, no
// fragmentation, UDP_SEGMENT and UDP_GRO, errors reported (IP_RECVERR).
#pragma once
#include <cstdint>
#include <functional>
#include <string>

#include "path/ports.hpp"
#include "path/udp/address.hpp"

namespace herald::path::udp {

struct SocketConfig {
  Address address;
  std::uint32_t interface = 0;      // index
  std::uint32_t buffer_bytes = 0;   // requested, in each direction
  bool segment = true;              // try UDP_SEGMENT and UDP_GRO
  bool leave_by_interface = false;  // ignore the routes: the host has several interfaces
  Ports ports;                      // one of them is bound
  std::uint32_t first_try = 0;      // where the search among them begins
  std::function<bool(const sockaddr& bound, socklen_t length)> take_port = {};  // false: another one
};

class Socket {
 public:
  Socket() = default;
  ~Socket() { close(); }
  Socket(Socket&& other) noexcept;
  Socket& operator=(Socket&&) = delete;

  // False with `why` on failure.
  bool open(const SocketConfig& config, std::string& why);
  void close() noexcept;

  int fd() const noexcept { return fd_; }
  std::uint8_t family() const noexcept { return family_; }
  std::uint16_t port() const noexcept { return port_; }
  // open() failed for want of a free port in the range.
  bool is_out_of_ports() const noexcept { return out_of_ports_; }
  // As the kernel reports it: about half of it is overhead.
  std::uint32_t receive_buffer() const noexcept { return receive_buffer_; }
  bool has_gso() const noexcept { return segments_; }
  // UDP_GRO: available and off; on.
  bool can_gro() const noexcept { return can_gro_; }
  bool has_gro() const noexcept { return has_gro_; }
  void start_gro() noexcept;
  void stop_gro() noexcept;  // coalesced datagrams that are not read yet are lost
  // From now on for this peer address only. False: the kernel refuses, nothing has changed.
  bool connect(const sockaddr& to) noexcept;
  // From all peers again, at the same address and port.
  bool disconnect(const Address& address, std::uint32_t interface, std::string& why) noexcept;
  bool is_connected() const noexcept { return connected_; }
  void stop_gso() noexcept { segments_ = false; }
  // The path MTU has shrunk below that of the interfaces: from now on datagrams may be fragmented. False: was
  // allowed already.
  bool allow_fragments() noexcept;

 private:
  bool bind_any(const SocketConfig& config);
  bool bind_port(const SocketConfig& config, std::uint16_t port);
  void set_buffers(std::uint32_t bytes) noexcept;
  void set_options(const SocketConfig& config) noexcept;

  int fd_ = -1;
  std::uint8_t family_ = 0;
  std::uint16_t port_ = 0;
  std::uint32_t receive_buffer_ = 0;
  bool segments_ = false;
  bool can_gro_ = false;
  bool has_gro_ = false;
  bool fragments_ = false;
  bool connected_ = false;
  bool out_of_ports_ = false;
};

// The MTU of the route to that address as this host knows it now.
std::uint32_t route_mtu(const sockaddr_storage& to, socklen_t length) noexcept;

}  // namespace herald::path::udp
