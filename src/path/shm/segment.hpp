// SPDX-License-Identifier: BSD-3-Clause
// path/shm/segment.hpp: one process's inbox, and rings for the peers that send to it most, as a file in
// shared memory. The owner makes it under a name that nobody can guess and holds a lock (flock) on it as long
// as it lives, so that anybody can tell a dead owner. A peer opens it by name and believes nothing: magic,
// version, nonce, rank and every size are checked before anything in it is followed.
#pragma once
#include <sys/types.h>

#include <array>
#include <cstdint>
#include <string>

#include "path/inbox.hpp"
#include "path/pair_ring.hpp"

namespace herald::path {

constexpr std::uint64_t kSegmentMagic = 0x31646c6172656868u;  // "hherald1"
constexpr std::uint32_t kSegmentVersion = 4;
constexpr std::size_t kCpuWords = 16;  // 1024 processors
constexpr std::size_t kSideBytes =
    8192;  // beside the inbox, zero at first: what they are for is not known here
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
  std::int32_t pid;                     // of the owner, as it sees itself
  CpuMask cpus;                         // where the owner may run
  std::uint64_t probe;                  // address in the owner's memory where the nonce lies
  std::uint32_t rings, ring_lines, ring_packet_bytes;
  std::atomic<std::uint32_t> rings_given;  // to peers, the first ones; may count beyond `rings`
};
static_assert(sizeof(SegmentHeader) == 256);

// The measures of a segment and where its parts lie.
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

// Who a segment belongs to, as published to the peers.
struct SegmentName {
  std::string directory;
  std::string file;
  std::uint64_t nonce = 0;
  std::int32_t rank = -1;
  std::string path() const { return directory + "/" + file; }
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
  void close() noexcept;

  bool is_open() const noexcept { return base_ != nullptr; }
  SegmentHeader& header() noexcept { return *static_cast<SegmentHeader*>(base_); }
  Inbox& inbox() noexcept { return inbox_; }
  // One of our rings to read from, which peers have been given so far.
  bool has_ring(std::uint32_t index) noexcept { return index < shape_.rings; }
  RingReader ring(std::uint32_t index) noexcept { return {at(shape_.ring_at(index)), shape_.ring}; }
  // A ring of a peer's to write to, ours from now on. False: there are no more.
  bool take_ring(RingWriter& ring, std::uint32_t& index) noexcept;
  std::byte* side() noexcept { return static_cast<std::byte*>(base_) + sizeof(SegmentHeader); }
  // Whether the owner of an attached segment is alive, as far as we can tell.
  bool owner_lives() const noexcept;

 private:
  std::byte* at(std::size_t offset) noexcept { return static_cast<std::byte*>(base_) + offset; }
  bool map(std::size_t bytes, std::string& why);
  bool check(const SegmentName& name, std::uint64_t file_bytes, std::string& why);
  void* base_ = nullptr;
  std::size_t bytes_ = 0;
  int fd_ = -1;
  SegmentShape shape_;
  Inbox inbox_;
};

// Removes files `herald-<uid>-*` in `directory` whose owner is dead. Returns how many.
int remove_stale_segments(const std::string& directory, uid_t uid);

}  // namespace herald::path
