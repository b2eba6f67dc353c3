// SPDX-License-Identifier: BSD-3-Clause
// sim/job/lane_part.cpp: see lane_part.hpp.
#include "sim/job/lane_part.hpp"

#include <algorithm>
#include <cstdio>

#include "sim/job/pattern.hpp"
#include "sim/net/chance.hpp"

namespace herald::sim {
namespace {

constexpr int kBatches = 16;  // sent in one go

rel::LanesConfig lanes_config(rel::LanesConfig config, HostId me, std::size_t peers) {
  config.me = me;
  config.peers = static_cast<std::int32_t>(peers);
  if (config.window_packets > config.first_packets)  // some hold less than others
    config.held_packets = me % 3 == 0 ? config.window_packets : me % 3 == 1 ? 144 : 24;
  return config;
}

}  // namespace

Status MoodyEar::heard(rel::LaneId lane, rel::PeerId source, std::span<const std::byte> packet) noexcept {
  refused_ = happens(chance_, refuses_);
  if (refused_) return Status::again;
  const Status status = next_.heard(lane, source, packet);
  if (status == Status::ok) ++taken_;
  return status;
}

GroupId group_number(const group::Address& address) noexcept {
  return static_cast<GroupId>((address[2] & 0xf) << 8 | address[3]);
}

bool NetGroups::join(const group::Address& group) noexcept {
  const GroupId number = group_number(group);
  if (joined_.size() >= most_ && joined_.count(number) == 0) return false;
  if (joined_[number]++ == 0) net_.join(number, me_, 0);
  ++joins_;
  return true;
}

void NetGroups::leave(const group::Address& group) noexcept {
  const auto found = joined_.find(group_number(group));
  if (found == joined_.end()) return;
  --joins_;
  if (--found->second != 0) return;
  net_.leave(found->first, me_, 0);
  joined_.erase(found);
}

LanePart::LanePart(Net& net, const Script& script, HostId me, std::uint64_t seed,
                   const rel::LanesConfig& config, const LaneAddresses& addresses, double refuses,
                   p2p::Core& core)
    : net_(net),
      script_(script),
      me_(me),
      seed_(seed),
      core_(core),
      chance_(pattern_seed(seed, 3'000'000 + static_cast<std::uint64_t>(me))),
      lanes_chance_(pattern_seed(seed, 4'000'000 + static_cast<std::uint64_t>(me))),
      carrier_(core),
      ear_(carrier_, chance_, refuses),
      lanes_(lanes_config(config, me, script.steps.size()), lanes_chance_, ear_),
      addresses_(addresses),
      groups_(net, me, addresses.poor < 0 || addresses.poor == me ? addresses.most_groups : 64),
      registry_(me, static_cast<std::int32_t>(script.steps.size()), core, carrier_, lanes_),
      fused_ops_(core, lanes_),
      fused_counts_(script.lanes.size()),
      ids_(script.lanes.size(), -1),
      runs_(script.collectives.size()) {
  carrier_.join(lanes_);
  if (addresses_.used) registry_.use(addresses_.pool, &groups_);
}

void LanePart::open(std::uint32_t lane) {
  const LaneSpec& spec = script_.lanes[lane];
  const rel::LaneId id = registry_.open(spec.name, spec.members);
  ids_[lane] = id;
  if (script_lane_.size() <= static_cast<std::size_t>(id))
    script_lane_.resize(static_cast<std::size_t>(id) + 1);
  script_lane_[static_cast<std::size_t>(id)] = lane;
  if (!addresses_.used) net_.join(lane, me_, 0);
}

void LanePart::close(std::uint32_t lane) {
  settle();
  std::erase_if(kept_, [&](const Kept& part) {
    if (part.whole != lane) return false;
    registry_.close(part.lane);
    return true;
  });
  fused_ops_.drop(ids_[lane]);
  registry_.close(ids_[lane]);
  if (!addresses_.used) net_.leave(lane, me_, 0);
  ids_[lane] = -1;
}

// As the library does: a lane for this call, or one that calls to the same members share.
void LanePart::choose_lane(std::uint32_t collective, Collective& run) {
  constexpr std::size_t kMostKept = 4;
  const CollSpec& spec = script_.collectives[collective];
  std::vector<p2p::PeerId> members;
  for (const int place : run.concerned())
    members.push_back(script_.lanes[spec.lane].members[static_cast<std::size_t>(place)]);
  rel::LaneId lane = -1;
  if (spec.own_lane) {
    lane = registry_.open_part(ids_[spec.lane], members);
    if (lane >= 0) own_[collective] = lane;
  } else {
    const auto found = std::find_if(kept_.begin(), kept_.end(), [&](const Kept& part) {
      return part.whole == spec.lane && part.members == members;
    });
    if (found != kept_.end()) {
      lane = found->lane;
    } else if (kept_.size() < kMostKept) {
      lane = registry_.open_part(ids_[spec.lane], members);
      if (lane >= 0) kept_.push_back({spec.lane, std::move(members), lane});
    }
  }
  if (lane >= 0) ++parts_;
  run.deal_by(lane);
}

void LanePart::start(std::uint32_t collective, Instant now) {
  const CollSpec& spec = script_.collectives[collective];
  const std::vector<std::int32_t>& members = script_.lanes[spec.lane].members;
  const auto place =
      static_cast<std::int32_t>(std::find(members.begin(), members.end(), me_) - members.begin());
  runs_[collective] =
      std::make_unique<Collective>(script_, collective, place, ids_[spec.lane], seed_, core_,
                                   [this](p2p::FusedOp& op) { fused_ops_.start(net_.now(), op); });
  if (runs_[collective]->fused_count()) runs_[collective]->number_fused(fused_counts_[spec.lane]++);
  if (!runs_[collective]->concerned().empty()) choose_lane(collective, *runs_[collective]);
  runs_[collective]->start(now);
  under_way_.push_back(collective);
}

bool LanePart::all_done() const {
  return std::all_of(runs_.begin(), runs_.end(),
                     [](const auto& run) { return run == nullptr || run->done(); });
}

bool LanePart::on_datagram(Instant now, const Arrival& arrival) {
  const rel::LaneCounters& counters = lanes_.counters();
  const std::uint64_t before = counters.malformed + counters.forged;
  const bool good = lanes_.on_datagram(now, arrival.multicast, arrival.bytes);
  if (!good && counters.malformed + counters.forged == before) ++refused_;
  if (!good && arrival.multicast && addresses_.used)
    registry_.on_foreign(now, {0xef, 0xc0, static_cast<std::uint8_t>(arrival.group >> 8),
                               static_cast<std::uint8_t>(arrival.group & 0xff)});
  return good;
}

// As engine/lanes.cpp does after it has received.
void LanePart::on_deadline(Instant now) {
  registry_.answer_calls();
  const std::optional<Instant> due = lanes_.next_deadline();
  if (due && *due <= now) lanes_.on_deadline(now);
  registry_.leave_old(now);
  registry_.turn(now);
}

bool LanePart::settle() {
  bool some = false;
  std::erase_if(under_way_, [&](std::uint32_t each) {
    runs_[each]->note_time(net_.now());
    if (!runs_[each]->done()) return false;
    const auto own = own_.find(each);
    if (own != own_.end()) {
      registry_.close_part(own->second);
      own_.erase(own);
      some = true;
    }
    return true;
  });
  return some;
}

bool LanePart::pump() {
  bool moved = fused_ops_.waits() && fused_ops_.look();
  moved = carrier_.pump_ready() || moved;
  for (const rel::LaneId id : ids_)
    if (id >= 0 && core_.wants_to_cast(id)) moved = carrier_.pump(id) || moved;
  for (const Kept& part : kept_)
    if (core_.wants_to_cast(part.lane)) moved = carrier_.pump(part.lane) || moved;
  for (const auto& [collective, id] : own_)
    if (core_.wants_to_cast(id)) moved = carrier_.pump(id) || moved;
  moved = settle() || moved;
  most_buffered_ = std::max(most_buffered_, lanes_.buffered_bytes());
  return moved;
}

bool LanePart::transmit(Instant now) {
  bool moved = false;
  for (int i = 0; i < kBatches && net_.may_send(me_); ++i) {
    if (lanes_.poll_transmit(now, batch_) == 0) break;
    for (std::size_t k = 0; k < batch_.count; ++k) {
      const rel::Tx& tx = batch_.entries[k];
      if (tx.to >= 0)
        net_.send(me_, 0, tx.to, tx.datagram);
      else
        net_.multicast(me_, 0, group_of(rel::Lanes::lane_of(tx.to)), tx.datagram);
    }
    moved = true;
  }
  return moved;
}

GroupId LanePart::group_of(rel::LaneId lane) const {
  return addresses_.used ? group_number(registry_.group_of(lane))
                         : script_lane_[static_cast<std::size_t>(lane)];
}

std::string LanePart::leaks() const {
  const bool all_closed = std::all_of(ids_.begin(), ids_.end(), [](rel::LaneId id) { return id < 0; });
  if (all_closed && registry_.invited() != 0)
    return std::to_string(registry_.invited()) +
           " lanes of parts are open, and what they are parts of is not";
  if (registry_.is_ending()) return "a lane of a part is not closed";
  const std::uint64_t wanted = registry_.joins();
  if (addresses_.used && groups_.joins() != wanted)
    return std::to_string(groups_.joins()) + " joins, " + std::to_string(wanted) + " wanted";
  return {};
}

std::string LanePart::state() const {
  char text[200];
  std::snprintf(text, sizeof text, "  lanes %s, %llu bytes buffered\n",
                lanes_.is_flushed() ? "flushed" : "not flushed",
                static_cast<unsigned long long>(lanes_.buffered_bytes()));
  std::string out = text;
  for (const std::uint32_t each : under_way_) {
    const CollSpec& spec = script_.collectives[each];
    std::snprintf(text, sizeof text, "  collective %u under way: %s/%s on lane %u, root %d, %lld items\n",
                  each, coll::name_of(spec.op), spec.algorithm->name, spec.lane, spec.root,
                  static_cast<long long>(spec.count));
    out += text + ("   " + runs_[each]->awaited()) + "\n";
  }
  return out;
}

}  // namespace herald::sim
