// SPDX-License-Identifier: BSD-3-Clause
// path/udp/socket.hpp: one UDP socket, bound to one address of one interface, with everything asked of the
// system that helps: large buffers, no fragments, segmentation and its reverse, errors told.
#pragma once
#include <cstdint>
#include <string>

#include "path/udp/address.hpp"

namespace herald::path::udp {

struct SocketConfig {
  Address address;
  std::uint32_t interface = 0;      // index
  std::uint32_t buffer_bytes = 0;   // asked for, each way
  bool segment = true;              // try UDP_SEGMENT and UDP_GRO
  bool leave_by_interface = false;  // whatever the routes say: there are several interfaces
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
  // What the system gave: memory with its overhead counted in; about half of it is datagrams.
  std::uint32_t receive_buffer() const noexcept { return receive_buffer_; }
  bool segments() const noexcept { return segments_; }
  // UDP_GRO: the system knows it, and it is not on yet; it is on.
  bool can_join() const noexcept { return can_join_; }
  bool joins() const noexcept { return joins_; }
  void join() noexcept;
  void part() noexcept;  // what is joined and not yet read is lost
  // From now on for this address only. False: the system does not want to, it is as before.
  bool tie(const sockaddr& to) noexcept;
  bool is_tied() const noexcept { return tied_; }
  void give_up_segments() noexcept { segments_ = false; }
  // The way has become narrower than its interfaces. From now on routers and we may cut. False: done already.
  bool allow_fragments() noexcept;

 private:
  bool bind_to(const SocketConfig& config, std::string& why);
  void set_buffers(std::uint32_t bytes) noexcept;
  void set_options(const SocketConfig& config) noexcept;

  int fd_ = -1;
  std::uint8_t family_ = 0;
  std::uint16_t port_ = 0;
  std::uint32_t receive_buffer_ = 0;
  bool segments_ = false;
  bool can_join_ = false;
  bool joins_ = false;
  bool fragments_ = false;
  bool tied_ = false;
};

// What the routes of this host say about the way to that address now.
std::uint32_t route_mtu(const sockaddr_storage& to, socklen_t length) noexcept;

}  // namespace herald::path::udp
