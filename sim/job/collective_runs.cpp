// SPDX-License-Identifier: BSD-3-Clause
#include "sim/job/collective_runs.hpp"

#include <algorithm>
#include <cstdio>

#include "sim/job/pattern.hpp"
#include "sim/net/chance.hpp"

namespace herald::sim {
namespace {

// A group is joined by all interfaces: its sources choose one each.
void join_all(Net& net, GroupId group, HostId host) {
  for (std::uint8_t link = 0; link < net.config().links; ++link) net.fabric().join(group, host, link);
}
void leave_all(Net& net, GroupId group, HostId host) {
  for (std::uint8_t link = 0; link < net.config().links; ++link) net.fabric().leave(group, host, link);
}

}  // namespace

GroupId group_number(const group::Address& address) noexcept {
  return static_cast<GroupId>((address[2] & 0xf) << 8 | address[3]);
}

bool NetGroups::join(const group::Address& group) noexcept {
  const GroupId number = group_number(group);
  if (joined_.size() >= most_ && joined_.count(number) == 0) return false;
  if (joined_[number]++ == 0) join_all(net_, number, me_);
  ++joins_;
  return true;
}

void NetGroups::leave(const group::Address& group) noexcept {
  const auto found = joined_.find(group_number(group));
  if (found == joined_.end()) return;
  --joins_;
  if (--found->second != 0) return;
  leave_all(net_, found->first, me_);
  joined_.erase(found);
}

CollectiveRuns::CollectiveRuns(Net& net, const Script& script, HostId me, std::uint64_t seed,
                               const LaneAddresses& addresses, node::Node& node)
    : net_(net),
      script_(script),
      me_(me),
      seed_(seed),
      node_(node),
      addresses_(addresses),
      groups_(net, me, addresses.poor < 0 || addresses.poor == me ? addresses.most_groups : 64),
      fused_(script.lanes.size()),
      ids_(script.lanes.size(), -1),
      runs_(script.collectives.size()) {
  if (addresses_.used) node_.lanes().use_groups(groups_);
}

void CollectiveRuns::open(std::uint32_t lane) {
  const LaneSpec& spec = script_.lanes[lane];
  const rel::LaneId id = node_.lanes().open(spec.name, spec.members);
  ids_[lane] = id;
  if (script_lane_.size() <= static_cast<std::size_t>(id))
    script_lane_.resize(static_cast<std::size_t>(id) + 1);
  script_lane_[static_cast<std::size_t>(id)] = lane;
  if (!addresses_.used) join_all(net_, lane, me_);
}

void CollectiveRuns::close(std::uint32_t lane) {
  end_done();
  std::erase_if(kept_, [&](const Kept& part) {
    if (part.whole != lane) return false;
    node_.lanes().close(part.lane);
    return true;
  });
  node_.lanes().close(ids_[lane]);
  if (!addresses_.used) leave_all(net_, lane, me_);
  ids_[lane] = -1;
}

// As the library does: a lane for this call, or one that calls to the same members share.
void CollectiveRuns::choose_lane(std::uint32_t collective, Collective& run) {
  constexpr std::size_t kMostKept = 4;
  const CollSpec& spec = script_.collectives[collective];
  std::vector<p2p::PeerId> members;
  for (const int place : run.concerned())
    members.push_back(script_.lanes[spec.lane].members[static_cast<std::size_t>(place)]);
  rel::LaneId lane = -1;
  if (spec.own_lane) {
    lane = node_.lanes().open_sub_lane(ids_[spec.lane], members);
    if (lane >= 0) own_[collective] = lane;
  } else {
    const auto found = std::find_if(kept_.begin(), kept_.end(), [&](const Kept& part) {
      return part.whole == spec.lane && part.members == members;
    });
    if (found != kept_.end()) {
      lane = found->lane;
    } else if (kept_.size() < kMostKept) {
      lane = node_.lanes().open_sub_lane(ids_[spec.lane], members);
      if (lane >= 0) kept_.push_back({spec.lane, std::move(members), lane});
    }
  }
  if (lane >= 0) ++sub_lane_calls_;
  run.deal_by(lane);
}

void CollectiveRuns::start(std::uint32_t collective, Instant now) {
  const CollSpec& spec = script_.collectives[collective];
  const std::vector<std::int32_t>& members = script_.lanes[spec.lane].members;
  const auto place =
      static_cast<std::int32_t>(std::find(members.begin(), members.end(), me_) - members.begin());
  runs_[collective] =
      std::make_unique<Collective>(script_, collective, place, ids_[spec.lane], seed_, node_.core(),
                                   [this](p2p::FusedOp& op) { node_.start(net_.now(), op); });
  if (runs_[collective]->fused_count()) runs_[collective]->number_fused(fused_[spec.lane]++);
  if (!runs_[collective]->concerned().empty()) choose_lane(collective, *runs_[collective]);
  runs_[collective]->start(now);
  under_way_.push_back(collective);
}

bool CollectiveRuns::all_done() const {
  return std::all_of(runs_.begin(), runs_.end(),
                     [](const auto& run) { return run == nullptr || run->done(); });
}

void CollectiveRuns::on_foreign(Instant now, GroupId group) {
  if (addresses_.used)
    node_.lanes().on_foreign(
        now, {0xef, 0xc0, static_cast<std::uint8_t>(group >> 8), static_cast<std::uint8_t>(group & 0xff)});
}

bool CollectiveRuns::end_done() {
  bool some = false;
  std::erase_if(under_way_, [&](std::uint32_t each) {
    runs_[each]->note_time(net_.now());
    if (!runs_[each]->done()) return false;
    const auto own = own_.find(each);
    if (own != own_.end()) {
      node_.lanes().close_sub_lane(own->second);
      own_.erase(own);
      some = true;
    }
    return true;
  });
  return some;
}

bool CollectiveRuns::pump(Instant now) {
  bool moved = false;
  const auto pump_one = [&](rel::LaneId id) {
    if (id >= 0 && node_.core().casts().wants_to_send(id)) moved = node_.pump_lane(now, id) || moved;
  };
  for (const rel::LaneId id : ids_) pump_one(id);
  for (const Kept& part : kept_) pump_one(part.lane);
  for (const auto& [collective, id] : own_) pump_one(id);
  moved = end_done() || moved;
  most_buffered_ = std::max(most_buffered_, node_.lanes().lanes().buffered_bytes());
  return moved;
}

GroupId CollectiveRuns::group_of(rel::LaneId lane) const {
  return addresses_.used ? group_number(node_.lanes().group_of(lane))
                         : script_lane_[static_cast<std::size_t>(lane)];
}

std::string CollectiveRuns::leaks() const {
  const p2p::LaneRegistry& registry = node_.lanes().registry();
  const bool all_closed = std::all_of(ids_.begin(), ids_.end(), [](rel::LaneId id) { return id < 0; });
  if (all_closed && registry.invited() != 0)
    return std::to_string(registry.invited()) + " lanes of parts are open, and what they are parts of is not";
  if (registry.is_ending()) return "a lane of a part is not closed";
  const std::uint64_t wanted = registry.joins();
  if (addresses_.used && groups_.joins() != wanted)
    return std::to_string(groups_.joins()) + " joins, " + std::to_string(wanted) + " wanted";
  return {};
}

std::string CollectiveRuns::state() const {
  char text[200];
  std::snprintf(text, sizeof text, "  lanes %s, %llu bytes buffered\n",
                node_.lanes().lanes().is_flushed() ? "flushed" : "not flushed",
                static_cast<unsigned long long>(node_.lanes().lanes().buffered_bytes()));
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
