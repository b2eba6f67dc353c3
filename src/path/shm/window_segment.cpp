// SPDX-License-Identifier: BSD-3-Clause
#include "path/shm/window_segment.hpp"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/fd.hpp"
#include "path/shm/file.hpp"

namespace herald::path {
namespace {

constexpr std::uint64_t kMagic = 0x316e6977646c7268u;
constexpr int kSpins = 200, kYieldsPerCheck = 1000;

struct Header {
  std::uint64_t magic, nonce;
};

}  // namespace

bool WindowWords::try_lock(int place, bool exclusive) noexcept {
  std::uint32_t old = exclusive ? 0 : lock.load(std::memory_order_relaxed);
  if (exclusive)
    return lock.compare_exchange_strong(old, kExclusive | static_cast<std::uint32_t>(place),
                                        std::memory_order_seq_cst);
  while ((old & kExclusive) == 0)
    if (lock.compare_exchange_weak(old, old + 1, std::memory_order_seq_cst)) return true;
  return false;
}

bool WindowWords::unlock() noexcept {
  if ((lock.load(std::memory_order_relaxed) & kExclusive) != 0)
    lock.store(0, std::memory_order_seq_cst);
  else
    lock.fetch_sub(1, std::memory_order_seq_cst);
  return waiting.load(std::memory_order_seq_cst) != 0;
}

bool WindowSegment::map(int fd, int ranks, std::uint64_t data_bytes) noexcept {
  ranks_ = ranks;
  bytes_ = data_at(ranks) + data_bytes;
  void* memory = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) return false;
  memory_ = static_cast<std::byte*>(memory);
  return true;
}

bool WindowSegment::create(const std::string& path, int ranks, std::uint64_t data_bytes, std::uint64_t nonce,
                           std::string& why) noexcept {
  const NewFile made = path.empty() ? NewFile{} : make_file(path);
  fd_ = made.fd;
  if (made.named) path_ = path;
  std::uint64_t there = 0;
  const std::size_t bytes = data_at(ranks) + data_bytes;
  if (path.empty()) {
    why = "this host has no shared memory";
  } else if (fd_ < 0) {
    why = path + ": " + std::strerror(errno);
  } else if (bytes < data_bytes || reserve_file(fd_, bytes, there) != 0) {
    why = path + ": " + std::to_string(bytes) + " bytes are needed, " + std::to_string(there) + " are free";
  } else if (!map(fd_, ranks, data_bytes)) {
    why = path + ": mmap: " + std::strerror(errno);
  } else {
    *reinterpret_cast<Header*>(memory_) = {kMagic, nonce};
    if (made.named || name_file(fd_, path)) {
      path_ = path;
      return true;
    }
    why = path + ": " + std::strerror(errno);
  }
  close();
  return false;
}

bool WindowSegment::attach(const std::string& path, int ranks, std::uint64_t data_bytes,
                           std::uint64_t nonce) noexcept {
  const int fd = safe_fd(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (fd < 0) return false;
  struct stat info {};
  const bool mapped = ::fstat(fd, &info) == 0 && S_ISREG(info.st_mode) &&
                      static_cast<std::uint64_t>(info.st_size) == data_at(ranks) + data_bytes &&
                      map(fd, ranks, data_bytes);
  ::close(fd);
  if (!mapped) return false;
  const auto& header = *reinterpret_cast<const Header*>(memory_);
  if (header.magic == kMagic && header.nonce == nonce) return true;
  close();
  return false;
}

void WindowSegment::unlink() noexcept {
  if (fd_ < 0) return;
  if (!path_.empty()) ::unlink(path_.c_str());
  path_.clear();
  ::close(fd_);
  fd_ = -1;
}

void WindowSegment::close() noexcept {
  unlink();
  if (memory_ != nullptr) ::munmap(memory_, bytes_);
  memory_ = nullptr;
}

void WindowSegment::lock_guard(int of, int place) noexcept {
  std::atomic<std::uint32_t>& guard = words(of).guard;
  const auto mine = static_cast<std::uint32_t>(place) + 1;
  for (int tries = 1;; ++tries) {
    std::uint32_t holder = 0;
    if (guard.compare_exchange_weak(holder, mine, std::memory_order_acquire)) return;
    if (tries < kSpins) continue;
    ::sched_yield();
    if (tries % kYieldsPerCheck != 0 || holder == 0) continue;
    const pid_t pid = words(static_cast<int>(holder) - 1).pid;
    if (pid != 0 && ::kill(pid, 0) != 0 && errno == ESRCH &&
        guard.compare_exchange_strong(holder, mine, std::memory_order_acquire))
      return;
  }
}

}  // namespace herald::path
