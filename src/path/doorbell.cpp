// SPDX-License-Identifier: BSD-3-Clause
#include "path/doorbell.hpp"

#include <fcntl.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <ctime>

#include "base/fd.hpp"

namespace herald::path {
namespace {

// Not FUTEX_PRIVATE: the word may lie in memory shared between processes.
long futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value,
           const timespec* timeout) noexcept {
  return ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), operation, value, timeout, nullptr, 0);
}

}  // namespace

const bool has_membarrier = ::syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0;

void Doorbell::run_membarrier() noexcept {
  (void)::syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0);
}

void Doorbell::use_membarrier() noexcept {
  if (has_membarrier) words_->membarrier.store(1, std::memory_order_seq_cst);
}

void Doorbell::use_fences() noexcept {
  if (words_->membarrier.exchange(0, std::memory_order_seq_cst) != 0) run_membarrier();
}

void Doorbell::sleep(std::uint32_t seen, std::int64_t timeout_ns) noexcept {
  const timespec timeout{.tv_sec = static_cast<time_t>(timeout_ns / 1'000'000'000),
                         .tv_nsec = static_cast<long>(timeout_ns % 1'000'000'000)};
  futex(words_->rings, FUTEX_WAIT, seen, &timeout);
}

// The producer that clears the flag rings; producers that publish before the consumer is awake need not.
void Doorbell::ring() noexcept {
  const std::uint32_t where = words_->sleeping.exchange(0, std::memory_order_seq_cst);
  if (where == 0) return;
  words_->rings.fetch_add(1, std::memory_order_seq_cst);
  if (where == kOnDescriptor && (fd_ >= 0 || find_descriptor()) && write_descriptor()) return;
  futex(words_->rings, FUTEX_WAKE, INT_MAX, nullptr);
  if (where != kOnDescriptor) return;
  // The futex does not wake a consumer that polls its descriptor: the next producer tries again.
  words_->missed.store(1, std::memory_order_relaxed);
  std::uint32_t none = 0;
  words_->sleeping.compare_exchange_strong(none, where);
}

void Doorbell::publish_descriptor(int fd) noexcept {
  fd_ = fd;
  struct stat info {};
  if (fd < 0 || ::fstat(fd, &info) != 0) return;
  words_->descriptor = fd;
  words_->device = info.st_dev;
  words_->inode = info.st_ino;
  words_->process = ::getpid();
}

// The file must be the consumer's: in another pid namespace its number names some other process.
bool Doorbell::find_descriptor() noexcept {
  if (words_->process == 0) return false;
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/fd/%d", words_->process, words_->descriptor);
  struct stat info {};
  if (::stat(path, &info) != 0 || info.st_dev != words_->device || info.st_ino != words_->inode) return false;
  const int fd = safe_fd(::open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC));
  if (fd < 0) return false;
  if (::fstat(fd, &info) == 0 && info.st_dev == words_->device && info.st_ino == words_->inode)
    fd_ = fd;
  else
    ::close(fd);
  return fd_ >= 0;
}

// A full FIFO is readable, which is all that a ring wants. Eight bytes: what an eventfd accepts.
bool Doorbell::write_descriptor() noexcept {
  const std::uint64_t one = 1;
  ssize_t written = -1;
  do {
    written = fd_ < 0 ? -1 : ::write(fd_, &one, sizeof one);
  } while (fd_ >= 0 && written < 0 && errno == EINTR);
  return written > 0 || (fd_ >= 0 && errno == EAGAIN);
}

void Doorbell::drain() noexcept {
  char bytes[512];
  while (fd_ >= 0 && ::read(fd_, bytes, sizeof bytes) == sizeof bytes) {
  }
}

BellEvent::~BellEvent() {
  if (fd_ >= 0) ::close(fd_);
}

bool BellEvent::open(Doorbell& bell) noexcept {
  if (fd_ < 0) fd_ = safe_fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  bell.set_descriptor(fd_);
  return fd_ >= 0;
}

}  // namespace herald::path
