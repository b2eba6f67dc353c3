// SPDX-License-Identifier: BSD-3-Clause
#include "path/shm/coll_segment.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/fd.hpp"
#include "path/shm/file.hpp"

namespace herald::path {
namespace {

constexpr std::uint64_t kCollSegmentMagic = 0x31647261626c7268u;

struct alignas(kCacheLine) CollSegmentHeader {
  std::uint64_t magic;
  std::uint64_t nonce;
  std::uint64_t total_bytes;
  std::uint32_t ranks;
  std::uint32_t place_bytes;
  std::uint32_t slots;
};
static_assert(sizeof(CollSegmentHeader) == kCacheLine);

constexpr std::size_t owners_bytes(std::uint32_t ranks) noexcept {
  return (ranks * sizeof(CollSegment::Owner) + kCacheLine - 1) / kCacheLine * kCacheLine;
}

}  // namespace

// As atomic_thread_fence, which the compiler rejects under ThreadSanitizer.
void Channel::before_ring() noexcept {
#if defined(__x86_64__)
  asm volatile("lock orl $0, (%%rsp)" ::: "memory", "cc");
#else
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

int Channel::publish_low(std::uint64_t low) noexcept {
  shown_ = low;
  low_of(rank_).store(low, std::memory_order_seq_cst);
  return waiting().load(std::memory_order_seq_cst) == 0 ? kRingNone : notify_waiting();
}

bool Channel::update_low(std::uint64_t below) noexcept {
  std::uint64_t least = low_of(0).load(std::memory_order_seq_cst);
  for (std::uint32_t rank = 1; rank < shape_.ranks && least > below; ++rank)
    least = std::min(least, low_of(rank).load(std::memory_order_seq_cst));
  if (least <= below) return false;  // not all ranks were checked
  all_low_ = least;
  return true;
}

void Channel::request_slot(std::uint64_t number) noexcept {
  const std::uint64_t mine = (number - shape_.slots + 1) << 16 | (rank_ + 1);
  std::uint64_t old = waiting().load(std::memory_order_seq_cst), next = 0;
  do {
    next = old == 0 || old == mine ? mine : std::min(old >> 16, mine >> 16) << 16 | kSeveral;
  } while (!waiting().compare_exchange_weak(old, next, std::memory_order_seq_cst));
}

// The last rank that completes the requested operation sees that all have.
int Channel::notify_waiting() noexcept {
  const std::uint64_t seen = waiting().load(std::memory_order_seq_cst);
  if (seen == 0 || !update_low((seen >> 16) - 1)) return kRingNone;
  const std::uint64_t rank = waiting().exchange(0, std::memory_order_seq_cst) & 0xffff;
  return rank == 0 ? kRingNone : rank > shape_.ranks ? kRingAll : static_cast<int>(rank) - 1;
}

bool Channel::arrive(std::uint64_t number, int barrier_word) noexcept {
  std::atomic<std::uint64_t>& word = count(number, barrier_word);
  std::uint64_t old = word.load(std::memory_order_relaxed), next = 0;
  do {
    next = old >> 16 == stamp(number) >> 16 ? old + 1 : stamp(number) | 1;
  } while (!word.compare_exchange_weak(old, next, std::memory_order_seq_cst));
  return next == (stamp(number) | shape_.ranks);
}

CollSegmentShape CollSegmentShape::make(int ranks, std::uint64_t most_bytes, std::uint64_t stream_bytes,
                                        std::uint32_t sets) noexcept {
  // Slots let ranks run ahead of each other, places let data be copied; small places are the first to go.
  static constexpr struct {
    std::uint32_t slots, place;
  } kSizes[] = {{32, 4096}, {32, 2048}, {16, 2048}, {16, 1024}, {8, 1024}, {8, 512}, {4, 512}, {4, 256}};
  CollSegmentShape shape;
  shape.ranks = static_cast<std::uint32_t>(ranks);
  shape.sets = sets;
  if (shape.ranks > kMostRanks) return shape;
  for (const auto& size : kSizes) {
    shape.slots = size.slots;
    shape.place_bytes = size.place;
    if (shape.bytes() > most_bytes) continue;
    shape.chunks = StreamShape::make(shape.ranks, stream_bytes).chunks;
    return shape;
  }
  shape.place_bytes = 0;
  return shape;
}

std::size_t CollSegmentShape::channel_at(std::uint32_t which) const noexcept {
  std::size_t at = sizeof(CollSegmentHeader) + owners_bytes(ranks);
  for (std::uint32_t i = 0; i < which; ++i) at += channel(i).bytes();
  return at;
}

bool CollSegment::map(int fd) noexcept {
  void* memory = ::mmap(nullptr, shape_.bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) return false;
  memory_ = static_cast<std::byte*>(memory);
  return true;
}

bool CollSegment::create(const std::string& path, const CollSegmentShape& shape,
                         std::uint64_t nonce) noexcept {
  shape_ = shape;
  const NewFile made = make_file(path);
  fd_ = made.fd;
  if (fd_ < 0) return false;
  if (made.named) path_ = path;
  std::uint64_t there = 0;
  if (reserve_file(fd_, shape_.bytes(), there) != 0 || !map(fd_)) {
    close();
    return false;
  }
  *reinterpret_cast<CollSegmentHeader*>(memory_) = {.magic = kCollSegmentMagic,
                                                    .nonce = nonce,
                                                    .total_bytes = shape_.bytes(),
                                                    .ranks = shape_.ranks,
                                                    .place_bytes = shape_.place_bytes,
                                                    .slots = shape_.slots};
  const bool named = made.named || name_file(fd_, path);
  if (named)
    path_ = path;
  else
    close();
  return named;
}

bool CollSegment::attach(const std::string& path, const CollSegmentShape& shape,
                         std::uint64_t nonce) noexcept {
  shape_ = shape;
  const int fd = safe_fd(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (fd < 0) return false;
  struct stat info {};
  const bool good = ::fstat(fd, &info) == 0 && S_ISREG(info.st_mode) &&
                    static_cast<std::size_t>(info.st_size) == shape_.bytes() && map(fd);
  ::close(fd);
  if (!good) return false;
  const auto& header = *reinterpret_cast<const CollSegmentHeader*>(memory_);
  if (header.magic == kCollSegmentMagic && header.nonce == nonce && header.total_bytes == shape_.bytes() &&
      header.ranks == shape_.ranks && header.place_bytes == shape_.place_bytes &&
      header.slots == shape_.slots)
    return true;
  close();
  return false;
}

void CollSegment::unlink() noexcept {
  if (fd_ < 0) return;
  if (!path_.empty()) ::unlink(path_.c_str());
  ::close(fd_);
  fd_ = -1;
}

void CollSegment::close() noexcept {
  unlink();
  if (memory_ != nullptr) ::munmap(memory_, shape_.bytes());
  memory_ = nullptr;
}

CollSegment::Owner& CollSegment::owner(int rank) noexcept {
  return reinterpret_cast<Owner*>(memory_ + sizeof(CollSegmentHeader))[rank];
}

}  // namespace herald::path
