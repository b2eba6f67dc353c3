// SPDX-License-Identifier: BSD-3-Clause
// path/tcp/stream.hpp: one TCP connection as frames: those that the socket does not take at once are kept,
// within a bound; several frames come with one read.
// In:  frames to send; a socket that is readable or writable. Out: whole frames, in order.
//
//   2 bytes: length of the body, little-endian | 1 byte: kind | 1 byte: link | body
//
// A frame that does not fit behind what is kept is refused, and the caller drops it: the datagrams of a batch
// count as sent, and the reliability above repairs what is missing, as it does for UDP.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace herald::path {

struct TcpFrame {
  std::uint8_t kind = 0;
  std::uint8_t link = 0;
  std::span<const std::byte> bytes;
  std::span<const std::byte> rest = {};  // its second part
  std::size_t size() const noexcept { return bytes.size() + rest.size(); }
};

namespace tcp {

constexpr std::size_t kFrameHead = 4;
constexpr std::size_t kMostBody = 65535;
constexpr std::size_t kMostKept = 4 << 20;  // bytes that wait for the socket
constexpr std::size_t kReadBytes = 256 << 10;
constexpr std::size_t kMostShortBody = 64;  // of a connection that has proven nothing

enum class Result : std::uint8_t { ok, blocked, broken };

class Stream {
 public:
  explicit Stream(int fd) noexcept : fd_(fd) {}  // takes it over; it does not block
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  int fd() const noexcept { return fd_; }
  // The descriptor, no longer ours; -1: bytes wait in memory.
  int release() noexcept { return has_kept() || from_ != end_ ? -1 : std::exchange(fd_, -1); }
  // Until then long frames are an error, and little memory is used.
  void trust() { trusted_ = true; }

  // How many of the frames were sent or are kept; the rest did not fit. Broken: see is_broken().
  std::size_t send(std::span<const TcpFrame> frames);
  void flush() noexcept;  // the kept bytes
  bool has_kept() const noexcept { return kept_from_ < kept_.size(); }
  std::size_t kept_bytes() const noexcept { return kept_.size() - kept_from_; }

  // Reads once; blocked: there is no more. Then next() until it is false: frames refer to memory that is
  // valid until the next read().
  Result read();
  bool next(TcpFrame& frame) noexcept;
  // The other end closed or broke the connection, or sent an impossible frame.
  bool is_broken() const noexcept { return broken_; }

 private:
  static constexpr std::size_t kRow = 64;  // frames of one system call
  std::size_t write_row(std::span<const TcpFrame> row);
  void keep(const TcpFrame& frame, std::size_t sent);

  int fd_;
  bool trusted_ = false, broken_ = false;
  std::vector<std::byte> kept_;
  std::size_t kept_from_ = 0;
  std::vector<std::byte> read_;
  std::size_t from_ = 0, end_ = 0;  // of what was read and not taken
};

}  // namespace tcp
}  // namespace herald::path
