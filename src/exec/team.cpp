// SPDX-License-Identifier: BSD-3-Clause
#include "exec/team.hpp"

#include <algorithm>
#include <bit>

#include "coll/measured_shape.hpp"
#include "exec/agreement.hpp"
#include "exec/wait.hpp"

namespace herald::exec {
namespace {

// The interfaces tell at once, and casts the truth: a switch may be slower than they are. Jobs do not know
// the interfaces of each other.
double link_byte_ns_of(engine::Engine& engine, std::span<const p2p::PeerId> peers, const Speed& speed,
                       int hosts) noexcept {
  if (speed.is_fast() || hosts < 2) return 0;
  const auto ns_of = [](std::uint64_t rate) { return rate == 0 ? 0 : 1e9 / static_cast<double>(rate); };
  const std::uint64_t interfaces =
      engine::job_hosts_of(engine).span_jobs(peers) ? 0 : engine.lanes().interface_rate();
  return std::max(ns_of(speed.link_rate()), ns_of(interfaces));
}

}  // namespace

Team::Team(engine::Engine& engine, const Knobs& knobs, const Identity& identity) noexcept
    : engine_(engine), knobs_(knobs), identity_(identity) {}

Team::~Team() {
  for (const SubLane& sub : sub_lanes_)
    if (sub.lane >= 0) engine_.lanes().close(sub.lane);
  if (lane_ >= 0) engine_.lanes().close(lane_);
}

const coll::Cluster& Team::cluster() noexcept {
  if (cluster_) return *cluster_;
  const engine::JobHosts& jobs = engine::job_hosts_of(engine_);
  const std::vector<int> numbers = jobs.numbers(identity_.peers);
  cluster_ = std::make_unique<coll::Cluster>(numbers);
  if (cluster_->hosts() < 3) return *cluster_;
  if (!jobs.span_jobs(identity_.peers)) {
    cluster_->lane = knobs_.lanes == "on";
  } else if (const auto casters = jobs.casters(identity_.peers, numbers); !casters.empty()) {
    // A job that is on all hosts: its processes lead, and use a lane of that job.
    cluster_ = std::make_unique<coll::Cluster>(numbers, casters);
    cluster_->lane = true;
  }
  if (!cluster_->lane || cluster_->place_of(rank()) != 0) return *cluster_;
  std::vector<p2p::PeerId> leaders;
  for (const int leader : cluster_->leaders()) leaders.push_back(peer(leader));
  lane_ = engine_.lanes().open(identity_.lane_name, leaders);
  return *cluster_;
}

std::int32_t Team::lane_for(const std::vector<int>& members, bool persistent, bool& own) noexcept {
  own = false;
  if (members.empty()) return lane_;
  // The runs of a persistent call are told apart by their order only: all of them go the same way.
  if (persistent) return find_sub_lane(members, true);
  own = knobs_.groups == "dynamic";
  return own ? open_sub_lane(members) : find_sub_lane(members, knobs_.groups != "auto");
}

void Team::prepare_lane(const std::vector<int>& members) noexcept {
  (void)cluster();
  if (!members.empty() && lane_ >= 0 && knobs_.groups != "dynamic") (void)find_sub_lane(members, true);
}

std::int32_t Team::open_sub_lane(const std::vector<int>& members) const noexcept {
  std::vector<p2p::PeerId> peers;
  for (const int rank : members) peers.push_back(peer(rank));
  return engine_.lanes().open_sub_lane(lane_, peers);
}

// The first time a message to each member is as cheap as the announcement of a lane. At the second time a
// third one is likely, and the lane is opened. Few sets get one: each lane takes memory at every member.
std::int32_t Team::find_sub_lane(const std::vector<int>& members, bool at_once) noexcept {
  constexpr std::size_t kMostSubLanes = 4;
  auto found = std::find_if(sub_lanes_.begin(), sub_lanes_.end(),
                            [&](const SubLane& sub) { return sub.members == members; });
  if (found == sub_lanes_.end()) {
    if (sub_lanes_.size() == kMostSubLanes) return -1;
    found = sub_lanes_.insert(sub_lanes_.end(), SubLane{members, -1, 0});
  }
  if (found->lane >= 0 || (found->runs++ == 0 && !at_once)) return found->lane;
  found->lane = open_sub_lane(members);
  return at_once ? found->lane : -1;
}

coll::Shape Team::shape_for(const coll::CollSpec& spec) noexcept {
  const coll::Cluster& all = cluster();
  coll::Shape shape = coll::with_link(coll::shape_of(size(), all.hosts(), spec.commutes),
                                      link_byte_ns_of(engine_, identity_.peers, speed, all.hosts()));
  shape.leaders_lane = all.lane;
  shape.lane = all.lane && all.hosts() == size();
  shape.largest_host = all.largest();
  shape.host_order = all.in_order();
  shape.shared_bytes = spec.shared_bytes;
  shape.reads_peers = segment.reads_peers();
  shape.streams = spec.streams;
  shape.in_order = spec.in_order;
  shape.oversubscribed = segment.oversubscribed();
  shape.fast = speed.is_fast();
  if (const model::Parameters* const known = shape.hosts > 1 ? measured() : nullptr)
    shape = coll::measured_shape(shape, *known);
  if (shape.oversubscribed) {  // the receiver of a message must be given a processor first
    shape.cost.message_ns *= size() / 2.0;
    shape.cost.byte_ns *= size() / 2.0;
  }
  return shape;
}

const model::Parameters* Team::measured() const noexcept {
  const engine::JobModel* const model = engine::model_of(engine_);
  return model == nullptr || engine::job_hosts_of(engine_).span_jobs(identity_.peers) ? nullptr
                                                                                      : &model->parameters;
}

model::Tried Team::kind_of(coll::Op op, std::uint64_t bytes) const {
  return {name_of(op), size(), cluster_->hosts(), static_cast<int>(std::bit_width(bytes)), {}};
}

const coll::Algorithm* Team::tried_before(coll::Op op, std::uint64_t bytes) const noexcept {
  const engine::JobModel* const model = engine::model_of(engine_);
  if (model == nullptr) return nullptr;
  const model::Tried kind = kind_of(op, bytes);
  for (const model::Tried& each : model->tried)
    if (each.is_like(kind)) return coll::find_algorithm(op, each.algorithm);
  return nullptr;
}

void Team::note_tried(coll::Op op, std::uint64_t bytes, const coll::Algorithm& fastest) noexcept {
  engine::JobModel* const model = engine::model_of(engine_);
  if (model == nullptr) return;
  model::Tried found = kind_of(op, bytes);
  found.algorithm = fastest.name;
  std::erase_if(model->found, [&](const model::Tried& old) { return old.is_like(found); });
  model->found.push_back(std::move(found));
}

void Team::describe_segment(coll::CollSpec& spec, bool persistent) const noexcept {
  const bool has_channel = !persistent || persistent_count < path::CollSegmentShape::kMoreChannels;
  spec.shared_bytes = has_channel ? segment.copied_bytes(persistent) : 0;
  // Streams belong to channel 0, which persistent runs do not use.
  spec.streams = segment.has_streams() && !persistent;
  spec.oversubscribed = segment.oversubscribed();
  spec.in_order = !persistent;
}

coll::CollSpec Team::place(const coll::CollSpec& spec, const coll::Shape& shape) noexcept {
  coll::CollSpec placed = spec;
  placed.fast = shape.fast;
  placed.segment_bytes = shape.segment_bytes;
  placed.incast = shape.incast;
  placed.link_byte_ns = shape.link_byte_ns;
  placed.groups = knobs_.groups == "auto"     ? coll::Groups::pick
                  : knobs_.groups == "static" ? coll::Groups::whole
                                              : coll::Groups::part;
  if (shape.hosts > 1 && shape.hosts < shape.ranks) placed.cluster = &cluster();
  return placed;
}

void Team::agree_on_segment(Callback settled, Callback last) noexcept {
  tried_ = true;
  if (cluster().largest() == 1) return last();
  agreement_ = std::make_unique<Agreement>(*this, settled, last);
  agreement_->begin();
}

void Team::call_when_agreed(Callback waiter) noexcept { agreement_->add_waiter(waiter); }

void Team::await_agreement() const noexcept {
  wait_until(engine_, [this] { return agreement_ == nullptr; });
}

}  // namespace herald::exec
