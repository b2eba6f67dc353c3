// SPDX-License-Identifier: BSD-3-Clause
#include "rel/log_writer.hpp"

#include <algorithm>
#include <cstring>

#include "base/fatal.hpp"

namespace herald::rel {
namespace {

constexpr std::size_t kLeastShare = 128;  // bytes left in a datagram that are worth sharing

}  // namespace

std::span<std::byte> LogWriter::share(const Connection& ch, std::size_t least) noexcept {
  const SendState& tx = ch.tx;
  if (tx.next_tx == tx.log.end()) return {};
  const Entry& tail = tx.log[tx.log.end() - 1];
  if (tail.borrowed != nullptr) return {};
  const bool records = (tail.flags & wire::kFlagRecords) != 0;
  const std::size_t used = tail.body_bytes + (records ? 0 : wire::kRecordHead) + wire::kRecordHead;
  const std::size_t spared = ch.rx.owes_ack() ? sizeof(wire::AckPart) : 0;
  const std::size_t most = mesh_.body_most_of(ch);
  if (used + spared + std::max(least, kLeastShare) > most) return {};
  shares_ = true;
  return {mesh_.log_pool.at(tail.slot) + kBodyRecords + used, most - spared - used};
}

std::span<std::byte> LogWriter::take_slot(Connection& ch, std::size_t least) noexcept {
  SendState& tx = ch.tx;
  if (!before(tx.log.end(), tx.limit()) || tx.log.size() >= Reorder::kMost || !tx.log.reserve()) {
    tx.refused = true;
    return {};
  }
  if (spare_ == PacketPool::kNone) spare_ = mesh_.log_pool.take();
  if (spare_ == PacketPool::kNone) {
    mesh_.starved.push(ch);
    return {};
  }
  mesh_.buffered.push(ch);
  const std::size_t ack = ch.rx.owes_ack() ? sizeof(wire::AckPart) : 0;
  const std::size_t most = mesh_.body_most_of(ch);
  return {mesh_.log_pool.at(spare_) + kBodySingle, most - (least + ack <= most ? ack : 0)};
}

std::span<std::byte> LogWriter::reserve(Connection& ch, std::size_t least) noexcept {
  HERALD_ASSERT(least <= mesh_.body_most);
  open_ = &ch;
  shares_ = false;
  std::span<std::byte> found = share(ch, least);
  if (found.empty()) found = take_slot(ch, least);
  if (found.empty()) return {};
  ch.tx.refused = false;
  open_bytes_ = found.size();
  return found;
}

void LogWriter::append_record(Entry& tail, std::size_t bytes) noexcept {
  std::byte* const body = mesh_.log_pool.at(tail.slot) + kBodyRecords;
  if ((tail.flags & wire::kFlagRecords) == 0) {
    const wire::Le<std::uint16_t> first(tail.body_bytes);
    std::memcpy(body, &first, sizeof first);
    tail.flags |= wire::kFlagRecords;
    tail.body_bytes += wire::kRecordHead;
  }
  const wire::Le<std::uint16_t> length(static_cast<std::uint16_t>(bytes));
  std::memcpy(body + tail.body_bytes, &length, sizeof length);
  tail.body_bytes = static_cast<std::uint16_t>(tail.body_bytes + wire::kRecordHead + bytes);
}

void LogWriter::commit(Connection& ch, std::size_t bytes, std::span<const std::byte> borrowed) noexcept {
  HERALD_ASSERT(open_ == &ch && bytes + borrowed.size() <= open_bytes_);
  HERALD_ASSERT(borrowed.empty() || !shares_);
  open_ = nullptr;
  if (bytes == 0) return;
  SendLog& log = ch.tx.log;
  if (shares_) {
    append_record(log[log.end() - 1], bytes);
  } else {
    Entry& entry = log.append();
    entry.slot = std::exchange(spare_, PacketPool::kNone);
    entry.body_bytes = static_cast<std::uint16_t>(bytes);
    entry.borrowed = borrowed.data();
    entry.borrowed_bytes = static_cast<std::uint16_t>(borrowed.size());
  }
  mesh_.wake(ch);
}

}  // namespace herald::rel
