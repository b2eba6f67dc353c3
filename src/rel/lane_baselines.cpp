// SPDX-License-Identifier: BSD-3-Clause
#include "rel/lane_baselines.hpp"

namespace herald::rel {
namespace {

constexpr std::uint32_t kPushPackets = 1;  // the paper pushes 860 bytes

}  // namespace

std::uint32_t designated_member(const LaneInfo& info, const Audience& audience,
                                std::uint32_t source) noexcept {
  const std::uint32_t count = audience.size();
  for (std::uint32_t i = 1; i < count; ++i) {
    const std::uint32_t place = (source + i) % count;
    if (place == info.me || !audience[place].is_gone()) return place;
  }
  return source;
}

void GoBackN::go_back(Instant now, LaneMember& member) noexcept {
  if (member.is_gone() || member.cursor.next == stream_.next_tx) return;
  if (member.going_back && member.unicast_next != member.cursor.next &&
      now - stream_.log[member.cursor.next].sent_at < audience_.timing().timeout)
    return;
  member.unicast_next = member.cursor.next;
  ++context_.counters.go_backs;
  if (!member.going_back) ++behind_;
  member.going_back = true;
  member.go_back_to = static_cast<std::uint8_t>(stream_.next_tx);
}

void GoBackN::on_progress(LaneMember& member) noexcept {
  if (!member.going_back || (!member.is_gone() && before(member.cursor.next, member.go_back_end()))) return;
  member.going_back = false;
  --behind_;
}

bool GoBackN::may_cast() noexcept {
  if (context_.config.mode != LaneMode::push_pull) return true;
  // A burst begins when all of the last one is out, and acknowledged.
  if (!pushed_ && !stream_.is_outstanding() && !before(stream_.next_tx, push_end_)) {
    push_end_ = stream_.next_tx + kPushPackets;
    pushed_ = true;
  }
  const std::uint32_t member = designated_member(info_, audience_, info_.me);
  if (pushed_ && (member == info_.me || !before(audience_[member].cursor.next, push_end_))) {
    pushed_ = false;
    push_end_ = stream_.log.end();  // the rest goes without another pause
  }
  const bool suspended = (pushed_ && !before(stream_.next_tx, push_end_)) || is_active();
  if (suspended && !suspended_) ++context_.counters.suspended;
  suspended_ = suspended;
  return !suspended;
}

}  // namespace herald::rel
