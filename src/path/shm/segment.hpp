// SPDX-License-Identifier: BSD-3-Clause
// path/shm/segment.hpp: one process's inbox, and rings for the peers that send to it most, as a file in
// shared memory. The owner creates it under a random name and holds a lock (flock) on it as long as it lives,
// so that peers can detect a dead owner. A peer opens it by name and trusts nothing: magic, version, nonce,
// rank and every size are checked before use.
#pragma once
#include <sys/types.h>

#include <array>
#include <cstdint>
#include <string>

#include "path/inbox.hpp"
#include "path/pair_ring.hpp"

namespace herald::path {

constexpr std::uint64_t kSegmentMagic = 0x31646c6172656868u;  // "hherald1"
constexpr std::uint32_t kSegmentVersion = 5;
constexpr std::size_t kCpuWords = 16;     // 1024 processors
constexpr std::size_t kSideBytes = 8192;  // beside the inbox, zero at first, for the layer above
using CpuMask = std::array<std::uint64_t, kCpuWords>;

struct alignas(kCacheLine) SegmentHeader {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t header_bytes;
  std::uint64_t total_bytes;
  std::uint64_t nonce;
  std::int32_t rank;
  std::uint32_t cells;
  std::uint32_t cell_bytes;
  std::uint32_t producers;
  std::atomic<std::uint32_t> attached;  // peers that have it mapped
  std::int32_t pid;                     // of the owner, in its pid namespace
  CpuMask cpus;                         // where the owner may run
  std::uint64_t probe;                  // address of the nonce in the memory of the owner
  std::uint32_t rings, ring_lines, ring_packet_bytes;
  std::atomic<std::uint32_t> rings_given;  // to peers, in order; may count beyond `rings`
};
static_assert(sizeof(SegmentHeader) == 256);

// The dimensions of a segment and the offsets of its parts.
struct SegmentShape {
  InboxShape inbox;
  RingShape ring;
  std::uint32_t rings = 0;

  static constexpr std::uint32_t kMostRings = 1024;
  bool sane() const noexcept { return inbox.sane() && rings <= kMostRings && (rings == 0 || ring.sane()); }
  std::size_t inbox_at() const noexcept { return sizeof(SegmentHeader) + kSideBytes; }
  std::size_t ring_at(std::uint32_t index) const noexcept {
    return inbox_at() + inbox.bytes() + std::size_t{index} * ring.bytes();
  }
  std::size_t bytes() const noexcept { return ring_at(rings); }
};

// The identity of a segment, as published to the peers.
struct SegmentName {
  std::string directory;
  std::string file;
  std::uint64_t nonce = 0;
  std::int32_t rank = -1;
  bool by_descriptor = false;  // directory and file are /proc/PID/fd and a descriptor; `bell` is one too
  std::string bell;
  std::string path() const { return directory + "/" + file; }
  // The FIFO that wakes the owner. It gets its name after the segment and loses it before, so
  // that the removal of a stale segment finds it.
  std::string bell_path() const { return by_descriptor ? directory + "/" + bell : path() + "-bell"; }
};

class Segment {
 public:
  Segment() noexcept = default;
  ~Segment() { close(); }
  Segment(Segment&& other) noexcept;
  Segment& operator=(Segment&& other) noexcept;

  // Both: false with `why` on failure.
  bool create(const SegmentName& name, const SegmentShape& shape, const CpuMask& cpus, std::string& why);
  bool attach(const SegmentName& name, std::string& why);
  // Opens the FIFO of an attached segment: its owner may sleep on sockets.
  bool attach_bell(const SegmentName& name, std::string& why);
  void close() noexcept;

  bool is_open() const noexcept { return base_ != nullptr; }
  // Of our own segment and its FIFO: processes of other jobs open them through /proc.
  int descriptor() const noexcept { return fd_; }
  int bell_descriptor() const noexcept { return bell_fd_; }
  SegmentHeader& header() noexcept { return *static_cast<SegmentHeader*>(base_); }
  Inbox& inbox() noexcept { return inbox_; }
  // The rings of our own segment, to read from.
  bool has_ring(std::uint32_t index) noexcept { return index < shape_.rings; }
  RingReader ring(std::uint32_t index) noexcept { return {at(shape_.ring_at(index)), shape_.ring}; }
  // Takes a ring of an attached segment to write to. False: none is left.
  bool take_ring(RingWriter& ring, std::uint32_t& index) noexcept;
  std::byte* side() noexcept { return static_cast<std::byte*>(base_) + sizeof(SegmentHeader); }
  // False: the owner of an attached segment is certainly dead.
  bool owner_lives() const noexcept;

 private:
  std::byte* at(std::size_t offset) noexcept { return static_cast<std::byte*>(base_) + offset; }
  bool map(std::size_t bytes, std::string& why);
  bool check(const SegmentName& name, std::uint64_t file_bytes, std::string& why);
  void* base_ = nullptr;
  std::size_t bytes_ = 0;
  int fd_ = -1;
  int bell_fd_ = -1;
  SegmentShape shape_;
  Inbox inbox_;
};

// Removes files `herald-<uid>-*` in `directory` whose owner is dead. Returns how many.
int remove_stale_segments(const std::string& directory, uid_t uid);

}  // namespace herald::path
