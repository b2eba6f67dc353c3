// SPDX-License-Identifier: BSD-3-Clause
#include "path/shm/foreign_rings.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cstring>
#include <new>
#include <utility>

#include "base/fd.hpp"
#include "path/shm/file.hpp"

namespace herald::path {
namespace {

constexpr std::uint64_t kRingsMagic = 0x31676e6972656868u;  // "hhering1"
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
constexpr std::uint32_t kAllRings = (1u << ForeignRings::kRings) - 1;

}  // namespace

ForeignRings& ForeignRings::operator=(ForeignRings&& other) noexcept {
  std::swap(base_, other.base_);
  std::swap(bytes_, other.bytes_);
  std::swap(fd_, other.fd_);
  std::swap(own_ring_, other.own_ring_);
  std::swap(shape_, other.shape_);
  return *this;
}

bool ForeignRings::map(std::size_t bytes) noexcept {
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
  if (memory == MAP_FAILED) return false;
  base_ = memory;
  bytes_ = bytes;
  return true;
}

bool ForeignRings::create(const RingShape& shape, std::uint64_t nonce) noexcept {
  shape_ = shape;
  fd_ = safe_fd(::memfd_create("herald-rings", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (fd_ < 0 || ::ftruncate(fd_, static_cast<off_t>(total_bytes())) != 0 ||
      ::fcntl(fd_, F_ADD_SEALS, kSeals) != 0 || !map(total_bytes())) {
    close();
    return false;
  }
  auto* const head = new (base_) Header{};
  head->nonce = nonce;
  head->total_bytes = bytes_;
  head->lines = shape.lines;
  head->packet_bytes = shape.packet_bytes;
  head->magic = kRingsMagic;
  return true;
}

bool ForeignRings::attach(const std::string& path, std::uint64_t nonce) noexcept {
  fd_ = safe_fd(::open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
  struct stat info {};
  bool good = fd_ >= 0 && ::fstat(fd_, &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == ::geteuid() &&
              (::fcntl(fd_, F_GET_SEALS) & F_SEAL_SHRINK) != 0 &&
              static_cast<std::size_t>(info.st_size) > sizeof(Header) &&
              map(static_cast<std::size_t>(info.st_size));
  if (good) {
    const Header& head = header();
    shape_ = {.lines = head.lines, .packet_bytes = head.packet_bytes};
    good = head.magic == kRingsMagic && head.nonce == nonce && shape_.sane() && head.total_bytes == bytes_ &&
           total_bytes() == bytes_;
  }
  if (!good) {
    close();
    return false;
  }
  ::close(fd_);
  fd_ = -1;
  return true;
}

// Each bit is set by one process and cleared by the one that recycles, which has claimed the ring before.
void ForeignRings::recycle() noexcept {
  std::uint32_t left = header().reader_left.load(std::memory_order_acquire) &
                       header().writer_left.load(std::memory_order_acquire) & kAllRings;
  for (; left != 0; left &= left - 1) {
    const std::uint32_t bit = left & (~left + 1);
    if ((header().reader_left.fetch_and(~bit, std::memory_order_acq_rel) & bit) == 0)
      continue;  // another one does
    std::memset(ring(static_cast<std::uint32_t>(std::countr_zero(bit))), 0, shape_.bytes());
    header().writer_left.fetch_and(~bit, std::memory_order_relaxed);
    header().taken.fetch_and(~bit, std::memory_order_release);
  }
}

bool ForeignRings::take(RingWriter& writer, std::uint32_t& index) noexcept {
  if (!is_open() || own_ring_ >= 0) return false;
  recycle();
  std::uint32_t taken = header().taken.load(std::memory_order_acquire);
  do {
    if ((~taken & kAllRings) == 0) return false;
    index = static_cast<std::uint32_t>(std::countr_one(taken));
  } while (!header().taken.compare_exchange_weak(taken, taken | 1u << index, std::memory_order_acq_rel));
  own_ring_ = static_cast<std::int32_t>(index);
  populate(ring(index), shape_.bytes());
  writer = RingWriter(ring(index), shape_);
  return true;
}

void ForeignRings::on_reader_left(std::uint32_t index, bool writer_is_dead) noexcept {
  if (!has(index)) return;
  if (writer_is_dead) header().writer_left.fetch_or(1u << index, std::memory_order_acq_rel);
  header().reader_left.fetch_or(1u << index, std::memory_order_acq_rel);
}

void ForeignRings::close() noexcept {
  if (base_ != nullptr) {
    if (own_ring_ >= 0) header().writer_left.fetch_or(1u << own_ring_, std::memory_order_acq_rel);
    ::munmap(base_, bytes_);
  }
  if (fd_ >= 0) ::close(fd_);
  base_ = nullptr;
  bytes_ = 0;
  fd_ = own_ring_ = -1;
  shape_ = {};
}

}  // namespace herald::path
