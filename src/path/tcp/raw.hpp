// SPDX-License-Identifier: BSD-3-Clause
// path/tcp/raw.hpp: TCP connections that were proven elsewhere (TcpPath::release()) and carry plain bytes,
// straight from and to the caller's memory.
// In:  descriptors; memory to fill or to write. Out: how many bytes moved; which connections may move more.
// Invariants: no call blocks; each change of readiness is told once (edge-triggered).
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>

namespace herald::path {

class TcpRaw {
 public:
  TcpRaw();
  ~TcpRaw();
  TcpRaw(const TcpRaw&) = delete;
  TcpRaw& operator=(const TcpRaw&) = delete;

  // Takes the descriptor over; -1: it cannot be watched, and is closed. The result names it until close().
  int add(int fd);
  void close(int id);

  static constexpr std::ptrdiff_t kBroken = -1;
  // Bytes that moved; 0: the socket has none, or takes none, until readiness is told; kBroken.
  std::ptrdiff_t read(int id, std::span<const std::span<std::byte>> parts) noexcept;
  // `more`: the next write follows soon, so the system need not send the last part of a segment.
  std::ptrdiff_t write(int id, std::span<const std::span<const std::byte>> parts, bool more) noexcept;

  // Asks the system which connections became ready. Then:
  void look() noexcept;
  bool may_read(int id) const noexcept { return has(id, kRead); }
  bool may_write(int id) const noexcept { return has(id, kWrite); }
  bool is_empty() const noexcept { return ready_.empty(); }
  int descriptor() const noexcept { return epoll_; }  // readable: look() has news

 private:
  static constexpr std::uint8_t kRead = 1, kWrite = 2;
  bool has(int id, std::uint8_t what) const noexcept {
    const auto at = ready_.find(id);
    return at != ready_.end() && (at->second & what) != 0;
  }
  std::ptrdiff_t moved(int id, std::uint8_t what, std::ptrdiff_t result, bool all) noexcept;

  int epoll_ = -1;
  std::map<int, std::uint8_t> ready_;
};

}  // namespace herald::path
