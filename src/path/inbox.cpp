// SPDX-License-Identifier: BSD-3-Clause
#include "path/inbox.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <climits>
#include <ctime>
#include <new>

namespace herald::path {
namespace {

// Not FUTEX_PRIVATE: the word may lie in memory shared between processes.
long futex(std::atomic<std::uint32_t>& word, int what, std::uint32_t value,
           const timespec* timeout) noexcept {
  return ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), what, value, timeout, nullptr, 0);
}

}  // namespace

void Doorbell::sleep(std::uint32_t seen, std::int64_t timeout_ns) noexcept {
  const timespec timeout{.tv_sec = static_cast<time_t>(timeout_ns / 1'000'000'000),
                         .tv_nsec = static_cast<long>(timeout_ns % 1'000'000'000)};
  futex(rings, FUTEX_WAIT, seen, &timeout);
}

// Who takes the flag rings; those who publish until the sleeper is up need not.
void Doorbell::ring() noexcept {
  if (sleeping.exchange(0, std::memory_order_seq_cst) == 0) return;
  rings.fetch_add(1, std::memory_order_seq_cst);
  futex(rings, FUTEX_WAKE, INT_MAX, nullptr);
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
  for (std::uint64_t i = 0; i < shape_.cells; ++i) at(i).turn.store(i, std::memory_order_relaxed);
}

Cell* Inbox::claim(std::uint64_t& position) noexcept {
  std::uint64_t at_position = head_->claimed.load(std::memory_order_relaxed);
  for (;;) {
    Cell& cell = at(at_position);
    const std::uint64_t turn = cell.turn.load(std::memory_order_acquire);
    const auto ahead = static_cast<std::int64_t>(turn - at_position);
    if (ahead < 0) return nullptr;  // not given back since the last round
    if (ahead > 0) {                // another producer has it already
      at_position = head_->claimed.load(std::memory_order_relaxed);
      continue;
    }
    if (head_->claimed.compare_exchange_weak(at_position, at_position + 1, std::memory_order_relaxed)) {
      position = at_position;
      return &cell;
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
