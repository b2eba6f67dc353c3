// SPDX-License-Identifier: BSD-3-Clause
// rel/send_log.hpp: packets that were sent, or are about to be, kept until every receiver has them: a ring by
// sequence number that grows on demand (paper 000: BUF and HMS). An entry is freed when the last cursor has
// passed it; a unicast connection is a log with one cursor.
#pragma once
#include <cstdint>
#include <memory>

#include "base/instant.hpp"
#include "rel/packet_pool.hpp"
#include "rel/seq.hpp"

namespace herald::rel {

// queued -> in_flight -> acked
//               |  ^
//               v  |
//              lost
enum class EntryState : std::uint8_t { queued, in_flight, lost, acked };

struct Entry {
  Instant sent_at;                      // last transmission
  const std::byte* borrowed = nullptr;  // where the body continues: memory of the caller
  PacketPool::Slot slot = PacketPool::kNone;
  std::uint32_t body_crc = 0;
  std::uint32_t order = 0;       // of the last transmission among those by its link
  std::uint16_t body_bytes = 0;  // in the slot
  std::uint16_t borrowed_bytes = 0;
  std::uint16_t readers = 0;  // cursors that have not passed it
  std::uint8_t link = 0;
  std::uint8_t transmissions = 0;  // stops at 255
  EntryState state = EntryState::queued;
  bool overtaken = false;  // was last found lost because later packets had arrived
  std::uint8_t flags = 0;  // kFlagRecords, kFlagBacklog as first sent
};
static_assert(sizeof(Entry) == 40);

class SendLog {
 public:
  static constexpr std::uint32_t kMost = 2048;  // entries

  void start_at(Seq seq) noexcept { first_ = end_ = seq; }
  void set_cursors(std::uint16_t n) noexcept { cursors_ = n; }  // for entries to come

  bool empty() const noexcept { return first_ == end_; }
  Seq first() const noexcept { return first_; }
  Seq end() const noexcept { return end_; }
  std::uint32_t size() const noexcept { return end_ - first_; }
  Entry& operator[](Seq seq) noexcept { return ring_[seq & (capacity_ - 1)]; }
  const Entry& operator[](Seq seq) const noexcept { return ring_[seq & (capacity_ - 1)]; }

  bool reserve() noexcept {  // space for one more; false: full
    return size() < capacity_ || grow();
  }
  Entry& append() noexcept;  // after reserve()
  // One cursor has passed `seq`. Entries that all cursors have passed are freed, oldest first, with their
  // slots. Returns how many of them had borrowed memory.
  std::uint32_t pass(Seq seq, PacketPool& pool) noexcept;
  void clear(PacketPool& pool) noexcept;  // frees all entries, acknowledged or not
  bool holds_memory() const noexcept { return capacity_ != 0; }
  void shrink() noexcept;  // frees the ring if it is empty

 private:
  static constexpr std::uint32_t kFirst = 16;
  bool grow() noexcept;

  std::unique_ptr<Entry[]> ring_;
  std::uint32_t capacity_ = 0;  // a power of two, or 0
  Seq first_ = 0;
  Seq end_ = 0;
  std::uint16_t cursors_ = 1;
};

}  // namespace herald::rel
