// SPDX-License-Identifier: BSD-3-Clause
// sim/job/lane_script.cpp: see lane_script.hpp.
#include "sim/job/lane_script.hpp"

#include <algorithm>

#include "coll/make/cast.hpp"
#include "rel/lanes.hpp"
#include "sim/job/collective.hpp"
#include "sim/net/chance.hpp"

namespace herald::sim {
namespace {

class Writer {
 public:
  Writer(const LaneLimits& limits, Prng& chance)
      : limits_(limits), chance_(chance), left_(limits.total_bytes) {
    script.name = "lanes";
    script.steps.resize(static_cast<std::size_t>(limits.processes));
  }
  void write();

  Script script;

 private:
  std::size_t below(std::size_t bound) { return static_cast<std::size_t>(chance_.below(bound)); }
  std::vector<Step>& of(std::int32_t process) { return script.steps[static_cast<std::size_t>(process)]; }
  void add_lane(bool world);
  void add_collective();
  const coll::Algorithm* some_algorithm(int ranks);
  std::int64_t some_count(coll::Op op, std::size_t members);
  void call(std::uint32_t index);
  void pause(std::int32_t process);
  void close_lanes();

  const LaneLimits limits_;
  Prng& chance_;
  std::uint64_t left_;
  std::vector<std::uint32_t> numbers_;                 // collectives of each lane
  std::vector<std::vector<bool>> opened_;              // by lane, by place
  std::vector<std::vector<std::uint32_t>> under_way_;  // of each process
};

void Writer::add_lane(bool world) {
  LaneSpec lane;
  for (std::int32_t i = 0; i < limits_.processes; ++i)
    if (world || chance_.below(2) == 0) lane.members.push_back(i);
  while (lane.members.size() < std::min<std::size_t>(3, static_cast<std::size_t>(limits_.processes))) {
    const auto more = static_cast<std::int32_t>(below(static_cast<std::size_t>(limits_.processes)));
    if (std::find(lane.members.begin(), lane.members.end(), more) == lane.members.end())
      lane.members.push_back(more);
  }
  if (!world)
    for (std::size_t i = lane.members.size(); i > 1; --i)
      std::swap(lane.members[i - 1], lane.members[below(i)]);
  lane.name = chance_.next();
  lane.context = 100 + script.lanes.size();
  script.lanes.push_back(std::move(lane));
}

// Mostly those that need a lane; others besides, so that both ways are used at once.
const coll::Algorithm* Writer::some_algorithm(int ranks) {
  coll::Shape shape;
  shape.ranks = shape.hosts = ranks;
  shape.cost = coll::kNetworkCost;
  const bool plain = ranks < 3 || chance_.below(6) == 0;
  std::vector<const coll::Algorithm*> fitting;
  for (const coll::Algorithm* each : coll::algorithms()) {
    shape.lane = false;
    const bool without = each->fits(shape);
    shape.lane = true;
    if (is_deal(*each) && !(limits_.deals && !plain)) continue;
    if (limits_.deals && !limits_.rare && !plain && !is_deal(*each) && chance_.below(4) != 0) continue;
    if (is_rare(each->op) != limits_.rare) continue;
    if (is_fused(*each) && !limits_.fused_count) continue;
    if (limits_.fused_count && ranks <= int{wire::kMaxFusedMembers} && !plain && !is_fused(*each) &&
        chance_.below(8) != 0)
      continue;
    // Some of the rare ones have no plan with a lane.
    const bool with = each->fits(shape) && (!without || limits_.rare);
    if (plain ? without : with) fitting.push_back(each);
  }
  return fitting[below(fitting.size())];
}

std::int64_t Writer::some_count(coll::Op op, std::size_t members) {
  std::uint64_t bytes = 0;
  switch (chance_.below(6)) {
    case 0: bytes = chance_.below(3) * 4; break;
    case 1: bytes = chance_.below(64); break;
    case 2: bytes = 1200 + chance_.below(400); break;
    case 3: bytes = chance_.below(20'000); break;
    case 4: bytes = chance_.below(limits_.largest / 4 + 1); break;
    case 5: bytes = chance_.below(limits_.largest + 1); break;
  }
  const bool each = op != coll::Op::bcast && op != coll::Op::reduce && op != coll::Op::allreduce &&
                    op != coll::Op::scan && op != coll::Op::exscan;
  const std::uint64_t times = each ? members : 1;
  bytes = std::min(bytes, limits_.largest) / times;
  bytes = std::min(bytes, left_ / (times * members));
  left_ -= bytes * times * members;
  return static_cast<std::int64_t>(bytes / 4);
}

void Writer::add_collective() {
  CollSpec spec;
  spec.lane = static_cast<std::uint32_t>(below(script.lanes.size()));
  const std::size_t members = script.lanes[spec.lane].members.size();
  spec.algorithm = some_algorithm(static_cast<int>(members));
  spec.op = spec.algorithm->op;
  spec.root = static_cast<std::int32_t>(below(members));
  spec.count = spec.op == coll::Op::barrier ? 0 : some_count(spec.op, members);
  if (is_fused(*spec.algorithm)) {  // short ones only; the library chooses another way for others
    const std::size_t most = spec.op == coll::Op::allgather ? wire::kMaxResult / members : 256;
    spec.count = std::min(spec.count, static_cast<std::int64_t>(std::min(most, wire::kMaxContribution) / 4));
  }
  spec.number = numbers_[spec.lane]++;
  if (limits_.parts && is_deal(*spec.algorithm) && chance_.below(5) != 0) {
    spec.groups = coll::Groups::part;
    spec.own_lane = chance_.below(2) == 0;
  }
  script.collectives.push_back(spec);
  call(static_cast<std::uint32_t>(script.collectives.size() - 1));
}

void Writer::pause(std::int32_t process) {
  const bool compute = limits_.computes && chance_.below(2) == 0;
  of(process).push_back({compute ? Do::compute : Do::rest, 0, up_to(chance_, limits_.longest_pause)});
}

void Writer::call(std::uint32_t index) {
  const std::uint32_t lane = script.collectives[index].lane;
  const std::vector<std::int32_t>& members = script.lanes[lane].members;
  for (std::size_t place = 0; place < members.size(); ++place) {
    const std::int32_t member = members[place];
    if (chance_.below(4) == 0) pause(member);
    if (!opened_[lane][place]) {
      if (limits_.latest.ns > 0 && chance_.below(4) == 0)
        of(member).push_back({Do::rest, 0, up_to(chance_, limits_.latest)});
      opened_[lane][place] = true;
      of(member).push_back({Do::open_lane, lane});
    }
    of(member).push_back({Do::collect, index});
    auto& under_way = under_way_[static_cast<std::size_t>(member)];
    under_way.push_back(index);
    const std::uint64_t most = chance_.below(limits_.under_way) + 1;
    while (under_way.size() >= most) {  // any of them first
      const std::size_t which = below(under_way.size());
      of(member).push_back({Do::wait_collect, under_way[which]});
      under_way.erase(under_way.begin() + static_cast<std::ptrdiff_t>(which));
    }
  }
}

// Each process closes some of its lanes where its last collective on them is over.
void Writer::close_lanes() {
  for (std::uint32_t lane = 0; lane < script.lanes.size(); ++lane) {
    if (chance_.below(2) == 0) continue;
    for (const std::int32_t member : script.lanes[lane].members) {
      auto& steps = of(member);
      std::size_t last = 0;
      for (std::size_t i = 0; i < steps.size(); ++i) {
        const bool of_lane = (steps[i].what == Do::wait_collect || steps[i].what == Do::collect) &&
                             script.collectives[steps[i].index].lane == lane;
        if (of_lane || (steps[i].what == Do::open_lane && steps[i].index == lane)) last = i + 1;
      }
      if (last != 0) steps.insert(steps.begin() + static_cast<std::ptrdiff_t>(last), {Do::close_lane, lane});
    }
  }
}

void Writer::write() {
  for (std::uint32_t i = 0; i < limits_.lanes; ++i) add_lane(i == 0);
  numbers_.resize(script.lanes.size());
  under_way_.resize(script.steps.size());
  for (const LaneSpec& lane : script.lanes) opened_.emplace_back(lane.members.size(), false);
  for (std::uint32_t i = 0; i < limits_.collectives; ++i) add_collective();
  for (std::size_t i = 0; i < script.steps.size(); ++i)
    for (const std::uint32_t index : under_way_[i]) script.steps[i].push_back({Do::wait_collect, index});
  if (limits_.closes) close_lanes();
  for (auto& steps : script.steps) steps.push_back({Do::wait_all});
}

}  // namespace

Script write_lane_script(const LaneLimits& limits, Prng& chance) {
  Writer writer(limits, chance);
  writer.write();
  return std::move(writer.script);
}

}  // namespace herald::sim
