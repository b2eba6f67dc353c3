// SPDX-License-Identifier: BSD-3-Clause
#include "path/inbox.hpp"

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <climits>
#include <cstddef>
#include <cstdio>
#include <ctime>
#include <new>

#include "path/pair_ring.hpp"

namespace herald::path {
namespace {

// Not FUTEX_PRIVATE: the word may lie in memory shared between processes.
long futex(std::atomic<std::uint32_t>& word, int what, std::uint32_t value,
           const timespec* timeout) noexcept {
  return ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), what, value, timeout, nullptr, 0);
}

constexpr std::uint64_t kCellsAhead = 4;

class BellAddress {
 public:
  explicit BellAddress(std::uint64_t name) noexcept {
    address_.sun_family = AF_UNIX;
    const int length = std::snprintf(address_.sun_path + 1, sizeof address_.sun_path - 1,
                                     "herald-bell-%016llx", static_cast<unsigned long long>(name));
    bytes_ = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + static_cast<std::size_t>(length));
  }
  const sockaddr* any() const noexcept { return reinterpret_cast<const sockaddr*>(&address_); }
  socklen_t bytes() const noexcept { return bytes_; }

 private:
  sockaddr_un address_{};
  socklen_t bytes_ = 0;
};

// A full socket is as good as a rung one.
void ring_socket(std::uint64_t name) noexcept {
  static const int fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const BellAddress address(name);
  const char byte = 0;
  (void)::sendto(fd, &byte, sizeof byte, MSG_DONTWAIT | MSG_NOSIGNAL, address.any(), address.bytes());
}

}  // namespace

const bool can_be_quick = ::syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0;

void Doorbell::barrier_for_all() noexcept {
  (void)::syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0);
}

void Doorbell::be_quick() noexcept {
  if (can_be_quick) quick.store(1, std::memory_order_seq_cst);
}

void Doorbell::be_careful() noexcept {
  if (quick.exchange(0, std::memory_order_seq_cst) != 0) barrier_for_all();
}

void Doorbell::sleep(std::uint32_t seen, std::int64_t timeout_ns) noexcept {
  const timespec timeout{.tv_sec = static_cast<time_t>(timeout_ns / 1'000'000'000),
                         .tv_nsec = static_cast<long>(timeout_ns % 1'000'000'000)};
  futex(rings, FUTEX_WAIT, seen, &timeout);
}

// Who takes the flag rings; those who publish until the sleeper is up need not.
void Doorbell::ring() noexcept {
  const std::uint32_t where = sleeping.exchange(0, std::memory_order_seq_cst);
  if (where == 0) return;
  rings.fetch_add(1, std::memory_order_seq_cst);
  if (where == kOnSocket)
    ring_socket(name);
  else
    futex(rings, FUTEX_WAKE, INT_MAX, nullptr);
}

bool BellSocket::open(Doorbell& bell, std::uint64_t name) noexcept {
  close();
  fd_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd_ < 0) return false;
  const BellAddress address(name);
  if (::bind(fd_, address.any(), address.bytes()) != 0) {
    close();
    return false;
  }
  bell.name = name;
  return true;
}

void BellSocket::close() noexcept {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

void BellSocket::drain() noexcept {
  char byte = 0;
  while (::recv(fd_, &byte, sizeof byte, MSG_DONTWAIT) >= 0) {
  }
}

InboxShape InboxShape::make(std::uint64_t cells, std::uint64_t packet_bytes,
                            std::uint32_t producers) noexcept {
  const std::uint64_t most_packet = kMostCellBytes - sizeof(Cell);
  const std::uint64_t bytes = sizeof(Cell) + std::min(packet_bytes, most_packet);
  InboxShape shape;
  shape.cells = static_cast<std::uint32_t>(std::bit_ceil(std::clamp<std::uint64_t>(cells, 2, kMostCells)));
  shape.cell_bytes = static_cast<std::uint32_t>((bytes + kCacheLine - 1) / kCacheLine * kCacheLine);
  shape.producers = producers;
  return shape;
}

bool InboxShape::sane() const noexcept {
  return cells >= 2 && cells <= kMostCells && std::has_single_bit(cells) && cell_bytes >= kCacheLine &&
         cell_bytes <= kMostCellBytes && cell_bytes % kCacheLine == 0 && producers >= 1 &&
         producers <= INT32_MAX;
}

Inbox::Inbox(void* memory, const InboxShape& shape) noexcept
    : head_(static_cast<InboxHead*>(memory)),
      cells_(static_cast<std::byte*>(memory) + shape.cells_at()),
      shape_(shape) {}

void Inbox::create() noexcept {
  new (head_) InboxHead{};
  for (std::uint64_t i = 0; i < shape_.cells; ++i) at(i).turn.store(0, std::memory_order_relaxed);
}

Cell* Inbox::claim(std::uint64_t& position) noexcept {
  const auto ahead = [this](std::uint64_t at_position) {  // of what the consumer had taken
    return static_cast<std::int64_t>(at_position - seen_);
  };
  std::uint64_t at_position = head_->claimed.load(std::memory_order_relaxed);
  for (;;) {
    if (ahead(at_position) >= static_cast<std::int64_t>(shape_.cells)) {
      seen_ = head_->taken.load(std::memory_order_acquire);
      if (ahead(at_position) >= static_cast<std::int64_t>(shape_.cells)) return nullptr;
    }
    if (head_->claimed.compare_exchange_weak(at_position, at_position + 1, std::memory_order_relaxed)) {
      position = at_position;
      // The exchange above waits for our earlier stores: have the lines of later cells before they are
      // written.
      own_line(&at(at_position + kCellsAhead));
      return &at(at_position);
    }
  }
}

// The bit, then the flag; the consumer takes the flag, then the bits. Whichever of the two exchanges of the
// flag comes second sees what the other side did before its own.
void Inbox::starve(std::uint32_t producer) noexcept {
  starved()[producer / 64].fetch_or(std::uint64_t{1} << (producer % 64), std::memory_order_acq_rel);
  head_->starving.exchange(1, std::memory_order_acq_rel);
}

}  // namespace herald::path
