// SPDX-License-Identifier: BSD-3-Clause
#include "p2p/bulk_choice.hpp"

#include <algorithm>

namespace herald::p2p {

bool BulkChoice::is_fast(const From& from) const noexcept {
  constexpr std::uint64_t kSlowest = (std::uint64_t{1} << 20) * 1'000'000'000 / kFastBytesPerSecond;
  const Way& datagrams = from.ways[0];
  return datagrams.count >= kFirstTimed && datagrams.ns_per_mib < kSlowest;
}

bool BulkChoice::picks_bulk(Instant now, PeerId id) {
  if (!enabled_) return false;
  From& from = peers_[id];
  if (from.state == State::none && (always_ || is_fast(from)) && connections_ < kMostConnections &&
      from.retry_at <= now) {
    from.state = State::wanted;
    ++connections_;
    wanted_.push_back(id);
  }
  if (from.state != State::open) return false;
  if (always_ || from.ways[1].count < kFirstTimed) return true;
  const bool bulk = from.ways[1].ns_per_mib <= from.ways[0].ns_per_mib;
  if (++from.pulls < kTryOther) return bulk;
  from.pulls = 0;
  return !bulk;
}

void BulkChoice::on_timed(PeerId id, bool by_bulk, std::uint64_t bytes, Duration took) {
  if (bytes < kLeastTimed || took.ns <= 0) return;
  Way& way = peers_[id].ways[by_bulk ? 1 : 0];
  const auto one =
      static_cast<std::uint64_t>(static_cast<double>(took.ns) * (1 << 20) / static_cast<double>(bytes));
  if (way.count == 0 || one < way.ns_per_mib)
    way.ns_per_mib = one;
  else
    way.ns_per_mib += (one - way.ns_per_mib) / 16;
  ++way.count;
}

PeerId BulkChoice::take_wanted() noexcept {
  if (wanted_.empty()) return -1;
  const PeerId id = wanted_.back();
  wanted_.pop_back();
  if (From& from = peers_[id]; from.state == State::wanted) from.state = State::connecting;
  return id;
}

void BulkChoice::on_connected(PeerId id) {
  From& from = peers_[id];
  if (from.state == State::none) ++connections_;
  from.state = State::open;
}

void BulkChoice::on_closed(Instant now, PeerId id) {
  From& from = peers_[id];
  if (from.state == State::none) return;
  from.state = State::none;
  --connections_;
  std::erase(wanted_, id);
  const std::int64_t ns = kFirstRetry.ns << std::min(from.failures++, 10u);
  from.retry_at = now + std::min(Duration{ns}, kMostRetry);
}

}  // namespace herald::p2p
