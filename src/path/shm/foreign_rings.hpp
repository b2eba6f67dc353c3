// SPDX-License-Identifier: BSD-3-Clause
// path/shm/foreign_rings.hpp: rings of one process for processes of other jobs on its host, in a file without
// a name (memfd) that they open through /proc/PID/fd. They come and go, so a ring is used again: it is free
// when its writer has left and its reader has too.
//
//   free --take()--> in use --writer's close(), on_reader_left()--> left by both --next take()--> free
//
// Other processes write here: a reader trusts its own copy of the shape only, and the file cannot shrink.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "path/pair_ring.hpp"

namespace herald::path {

class ForeignRings {
 public:
  static constexpr std::uint32_t kRings = 16;

  ForeignRings() noexcept = default;
  ~ForeignRings() { close(); }
  ForeignRings(ForeignRings&& other) noexcept { *this = static_cast<ForeignRings&&>(other); }
  ForeignRings& operator=(ForeignRings&& other) noexcept;

  // By the owner; false: the system gives none.
  bool create(const RingShape& shape, std::uint64_t nonce) noexcept;
  int descriptor() const noexcept { return fd_; }
  bool has(std::uint32_t index) const noexcept { return index < kRings && is_open(); }
  RingReader reader(std::uint32_t index) noexcept { return {ring(index), shape_}; }
  // The owner reads this ring no more.
  void on_reader_left(std::uint32_t index, bool writer_is_dead) noexcept;

  // By a peer; false: it is not the file of the process with this nonce.
  bool attach(const std::string& path, std::uint64_t nonce) noexcept;
  std::size_t packet_bytes() const noexcept { return shape_.packet_bytes; }
  // One ring at most. False: none is left.
  bool take(RingWriter& writer, std::uint32_t& index) noexcept;

  bool is_open() const noexcept { return base_ != nullptr; }
  void close() noexcept;  // a peer leaves its ring

 private:
  struct alignas(kCacheLine) Header {
    std::uint64_t magic, nonce, total_bytes;
    std::uint32_t lines, packet_bytes;
    std::atomic<std::uint32_t> taken;        // a bit for each ring
    std::atomic<std::uint32_t> writer_left;  // its last packet is written
    std::atomic<std::uint32_t> reader_left;
  };

  Header& header() noexcept { return *static_cast<Header*>(base_); }
  std::byte* ring(std::uint32_t index) noexcept {
    return static_cast<std::byte*>(base_) + sizeof(Header) + std::size_t{index} * shape_.bytes();
  }
  std::size_t total_bytes() const noexcept { return sizeof(Header) + std::size_t{kRings} * shape_.bytes(); }
  bool map(std::size_t bytes) noexcept;
  void recycle() noexcept;

  void* base_ = nullptr;
  std::size_t bytes_ = 0;
  int fd_ = -1;
  std::int32_t own_ring_ = -1;  // the one that we write to
  RingShape shape_;
};

}  // namespace herald::path
