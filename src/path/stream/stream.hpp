// SPDX-License-Identifier: BSD-3-Clause
// path/stream/stream.hpp: TCP connections between the roots of two jobs, while those jobs get to know each
// other. Nothing here blocks; the owner polls with turn() and accept().
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "path/ports.hpp"

namespace herald::path {

class Stream {
 public:
  // Takes the descriptor over, unless it `borrows` it: then it stays open, with its flags as they were.
  explicit Stream(int fd, bool borrows = false) noexcept;
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  // Begins to connect to an address in digits. Null with `why`: it is none.
  static std::unique_ptr<Stream> connect(const std::string& address, std::uint16_t port, std::string& why);

  void write(std::string_view bytes) { out_ += bytes; }
  // Moves bytes both ways, as far as the kernel allows. A borrowed descriptor is read up to `most` bytes.
  void turn(std::size_t most = SIZE_MAX) noexcept;
  std::string& arrived() noexcept { return in_; }
  bool is_connecting() const noexcept { return connecting_; }
  bool has_failed() const noexcept { return error_ != 0 || ended_; }
  bool is_flushed() const noexcept { return out_.empty(); }
  const char* error() const noexcept;

 private:
  void fail(int error) noexcept;

  const int fd_;
  const bool borrows_;
  int flags_ = 0;  // of a borrowed descriptor
  bool connecting_ = false, ended_ = false;
  int error_ = 0;
  std::string in_, out_;
};

class Listener {
 public:
  // On all addresses, at one of these ports. Null with `why`.
  static std::unique_ptr<Listener> open(const Ports& ports, std::string& why);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  std::uint16_t port() const noexcept { return port_; }
  std::unique_ptr<Stream> accept() noexcept;  // null: none has come

 private:
  Listener(int fd, std::uint16_t port) noexcept : fd_(fd), port_(port) {}
  const int fd_;
  const std::uint16_t port_;
};

}  // namespace herald::path
