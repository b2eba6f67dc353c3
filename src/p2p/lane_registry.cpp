// SPDX-License-Identifier: BSD-3-Clause
#include "p2p/lane_registry.hpp"

#include <algorithm>

namespace herald::p2p {
namespace {

constexpr Duration kHearOld = milliseconds(2000);  // how long an address is received that a lane has left
// Names of sub-lanes: no communicator's context has this bit.
constexpr std::uint64_t kPartBit = std::uint64_t{1} << 63;

}  // namespace

void LaneRegistry::use(const group::Pool& pool, LaneGroups* groups) noexcept {
  pool_ = pool;
  groups_ = groups;
  // The shared group comes first: joining it must not fail for too many groups.
  shares_ = groups_ != nullptr && groups_->join(group::address_of(pool_, 0, group::kSharedAddressIndex));
}

std::size_t LaneRegistry::joins() const noexcept {
  const auto lanes = std::count_if(spots_.begin(), spots_.end(), [](const Spot& one) { return one.joined; });
  return static_cast<std::size_t>(lanes) + leaving_.size() + (shares_ ? 1 : 0);
}

rel::LaneId LaneRegistry::open(std::uint64_t name, std::span<const PeerId> members) noexcept {
  const rel::LaneId lane = lanes_.open(name, members);
  if (lane < 0) return -1;
  if (spots_.size() <= static_cast<std::size_t>(lane)) spots_.resize(static_cast<std::size_t>(lane) + 1);
  Spot& own = spot(lane);
  own = {.group = group::address_of(pool_, name, 0), .name = name};
  if (groups_ == nullptr) return lane;
  own.joined = groups_->join(own.group);
  if (own.joined) return lane;
  groups_->on_shared();
  lanes_.set_address_index(lane, group::kSharedAddressIndex);
  follow_moves(Instant{});
  return lane;
}

void LaneRegistry::close(rel::LaneId lane) noexcept {
  core_.casts().drop(lane);
  shut(lane);
  std::erase_if(invited_, [&](const Invited& one) {
    if (one.whole != lane) return false;
    shut(one.lane);
    return true;
  });
}

void LaneRegistry::shut(rel::LaneId lane) noexcept {
  lanes_.close(lane);
  carrier_.forget(lane);
  if (groups_ != nullptr && std::exchange(spot(lane).joined, false)) groups_->leave(spot(lane).group);
}

// A lane that we, or another member, moved to another address. Datagrams to the old one are received for a
// while: some members may not have followed yet.
void LaneRegistry::follow_moves(Instant now) noexcept {
  if (!carrier_.has_moves()) return;
  for (const LaneCarrier::Move& move : carrier_.take_moves()) {
    Spot& own = spot(move.lane);
    const group::Address group = group::address_of(pool_, own.name, move.move);
    if (groups_ == nullptr || group == own.group) continue;
    const bool joined = groups_->join(group);
    if (own.joined) leaving_.push_back({now + kHearOld, own.group});
    own.group = group;
    own.joined = joined;
    if (!joined) lanes_.set_address_index(move.lane, group::kSharedAddressIndex);  // follows in the next turn
    stirred_ = true;
    groups_->on_moved(move.move);
  }
}

void LaneRegistry::leave_old(Instant now) noexcept {
  if (leaving_.empty()) return;
  std::erase_if(leaving_, [&](const Left& old) {
    if (now < old.at) return false;
    groups_->leave(old.group);
    return true;
  });
}

void LaneRegistry::on_foreign(Instant now, const group::Address& group) noexcept {
  if (!foreign_.on_foreign(now, group)) return;
  groups_->on_strangers();
  for (std::size_t i = 0; i < spots_.size(); ++i)
    if (spots_[i].joined && spots_[i].group == group) lanes_.use_next_address(static_cast<rel::LaneId>(i));
}

rel::LaneId LaneRegistry::open_sub_lane(rel::LaneId whole, std::span<const PeerId> members) noexcept {
  const std::uint64_t name = kPartBit | static_cast<std::uint64_t>(me_) << 32 | next_part_;
  if (!carrier_.invite(whole, name, members)) return -1;
  ++next_part_;
  stirred_ = true;
  const rel::LaneId lane = open(name, members);
  if (lane < 0) return -1;
  spot(lane).part = true;
  return lane;
}

void LaneRegistry::close_sub_lane(rel::LaneId lane) noexcept {
  core_.casts().drop(lane);
  ending_.push_back(lane);
  dismiss_invited();
}

// A sub-lane is closed when its last packet has found room.
void LaneRegistry::dismiss_invited() noexcept {
  if (ending_.empty()) return;
  std::erase_if(ending_, [&](rel::LaneId lane) {
    if (!carrier_.dismiss(lane)) return false;
    stirred_ = true;
    shut(lane);
    return true;
  });
}

// The sender gave the name and is among the members, as we are; all members differ.
bool LaneRegistry::is_good(const LaneCarrier::Call& call) const noexcept {
  if (call.name >> 32 != (kPartBit >> 32 | static_cast<std::uint64_t>(call.source))) return false;
  if (std::any_of(invited_.begin(), invited_.end(),
                  [&](const Invited& one) { return one.name == call.name; }))
    return false;
  std::vector<PeerId> sorted = call.members;
  std::sort(sorted.begin(), sorted.end());
  return std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end() && !sorted.empty() &&
         sorted.front() >= 0 && sorted.back() < peers_ &&
         std::binary_search(sorted.begin(), sorted.end(), call.source) && call.source != me_;
}

void LaneRegistry::answer_calls() noexcept {
  if (!carrier_.has_calls()) return;
  stirred_ = true;
  for (const LaneCarrier::Call& call : carrier_.take_calls()) {
    if (call.opens) {
      const bool ours = std::find(call.members.begin(), call.members.end(), me_) != call.members.end();
      if (!ours || !is_good(call)) continue;
      const rel::LaneId lane = open(call.name, call.members);
      if (lane >= 0) invited_.push_back({call.name, call.source, call.lane, lane});
      continue;
    }
    std::erase_if(invited_, [&](const Invited& one) {
      if (one.lane != call.lane || one.host != call.source) return false;
      shut(one.lane);
      return true;
    });
  }
}

void LaneRegistry::turn(Instant now) noexcept {
  follow_moves(now);
  dismiss_invited();
}

void LaneRegistry::forget(PeerId peer) noexcept {
  lanes_.forget_peer(peer);
  std::erase_if(invited_, [&](const Invited& one) {
    if (one.host != peer) return false;
    shut(one.lane);
    return true;
  });
}

}  // namespace herald::p2p
