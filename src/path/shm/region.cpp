// SPDX-License-Identifier: BSD-3-Clause
#include "path/shm/region.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

#include "base/fd.hpp"

namespace herald::path {
namespace {

bool is_listed(std::uint32_t generation) noexcept { return generation % 2 == 1; }

}  // namespace

Regions::~Regions() {
  for (std::uint32_t i = 0; i < kRegions; ++i)
    if (own_[i].memory != nullptr) drop(i);
}

void* Regions::take(std::size_t bytes) noexcept {
  std::uint32_t index = 0;
  while (index < kRegions && own_[index].memory != nullptr) ++index;
  if (table_ == nullptr || index == kRegions || bytes == 0) return nullptr;
  const int fd = safe_fd(::memfd_create("herald-messages", MFD_CLOEXEC));
  if (fd < 0) return nullptr;
  struct stat info {};
  void* memory = MAP_FAILED;
  if (::ftruncate(fd, static_cast<off_t>(bytes)) == 0 && ::fstat(fd, &info) == 0)
    memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) {
    ::close(fd);
    return nullptr;
  }
  (void)::madvise(memory, bytes, MADV_HUGEPAGE);  // where the system allows it
  own_[index] = {memory, bytes, fd};
  RegionEntry& entry = table_->entries[index];
  entry.fd = fd;
  entry.address = reinterpret_cast<std::uintptr_t>(memory);
  entry.bytes = bytes;
  entry.file = info.st_ino;
  entry.generation.fetch_add(1, std::memory_order_release);
  if (table_->used.load(std::memory_order_relaxed) <= index)
    table_->used.store(index + 1, std::memory_order_release);
  return memory;
}

bool Regions::give_back(void* memory) noexcept {
  std::uint32_t index = 0;
  while (index < kRegions && (own_[index].memory != memory || memory == nullptr)) ++index;
  if (index == kRegions) return false;
  drop(index);
  return true;
}

// Peers may keep it mapped for a while; the hole returns the memory to the system immediately.
void Regions::drop(std::uint32_t index) noexcept {
  Own& own = own_[index];
  if (table_ != nullptr) table_->entries[index].generation.fetch_add(1, std::memory_order_acq_rel);
  (void)::fallocate(own.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(own.bytes));
  ::munmap(own.memory, own.bytes);
  ::close(own.fd);
  own = {};
}

PeerRegions::~PeerRegions() {
  for (View& view : views_) unmap(view);
}

void PeerRegions::unmap(View& view) noexcept {
  if (view.base != nullptr) ::munmap(view.base, view.bytes);
  view = {};
}

void PeerRegions::map(View& view, const RegionEntry& entry, std::uint32_t generation) noexcept {
  unmap(view);
  view.generation = generation;
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/fd/%d", static_cast<int>(pid_), entry.fd);
  const int fd = safe_fd(::open(path, O_RDWR | O_CLOEXEC));
  if (fd < 0) return;
  struct stat info {};
  const std::size_t bytes = entry.bytes;
  if (::fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_ino == entry.file &&
      static_cast<std::uint64_t>(info.st_size) == bytes) {
    void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory != MAP_FAILED) {
      view.base = static_cast<std::byte*>(memory);
      view.bytes = bytes;
    }
  }
  ::close(fd);
}

std::byte* PeerRegions::find(std::uint64_t address, std::size_t bytes) noexcept {
  const std::uint32_t used = table_.used.load(std::memory_order_acquire);
  if (used == 0 || used > kRegions) return nullptr;
  if (last_ >= used) last_ = 0;
  for (std::uint32_t i = 0; i < used; ++i) {
    const std::uint32_t at = last_ + i < used ? last_ + i : last_ + i - used;
    const RegionEntry& entry = table_.entries[at];
    View& view = views_[at];
    const std::uint32_t generation = entry.generation.load(std::memory_order_acquire);
    if (view.generation != generation && view.base != nullptr) unmap(view);
    const std::uint64_t offset = address - entry.address, length = entry.bytes;
    if (!is_listed(generation) || offset > length || length - offset < bytes) continue;
    if (view.generation != generation) map(view, entry, generation);
    if (view.base == nullptr || offset > view.bytes || view.bytes - offset < bytes) return nullptr;
    last_ = at;
    return view.base + offset;
  }
  return nullptr;
}

}  // namespace herald::path
