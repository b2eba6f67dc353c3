// SPDX-License-Identifier: BSD-3-Clause
#include "path/inbox.hpp"

#include <algorithm>
#include <bit>
#include <new>

#include "path/pair_ring.hpp"

namespace herald::path {
namespace {

constexpr std::uint64_t kCellsAhead = 4;

}  // namespace

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
      shape_(shape),
      bell_(head_->bell) {}

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
      // The exchange above waits for our earlier stores: prefetch the lines of later cells before they are
      // written.
      own_line(&at(at_position + kCellsAhead));
      return &at(at_position);
    }
  }
}

Cell* Inbox::refuse(const Cell& cell) noexcept {
  damage_ = static_cast<std::uint32_t>(cell.from) >= shape_.producers
                ? "a cell names a rank that does not exist"
                : "a packet is longer than its cell";
  return nullptr;
}

// The bit, then the flag; the consumer takes the flag, then the bits. The later of the two exchanges of the
// flag sees what the other side did before its own.
void Inbox::request_space(std::uint32_t producer) noexcept {
  waiting_bits()[producer / 64].fetch_or(std::uint64_t{1} << (producer % 64), std::memory_order_acq_rel);
  head_->waiting.exchange(1, std::memory_order_acq_rel);
}

}  // namespace herald::path
