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

LanePart::LanePart(Net& net, const Script& script, HostId me, std::uint64_t seed,
                   const rel::LanesConfig& config, double refuses, p2p::Core& core)
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
      ids_(script.lanes.size(), -1),
      runs_(script.collectives.size()) {
  carrier_.join(lanes_);
}

void LanePart::open(std::uint32_t lane) {
  const LaneSpec& spec = script_.lanes[lane];
  const rel::LaneId id = lanes_.open(spec.name, spec.members);
  ids_[lane] = id;
  if (script_lane_.size() <= static_cast<std::size_t>(id))
    script_lane_.resize(static_cast<std::size_t>(id) + 1);
  script_lane_[static_cast<std::size_t>(id)] = lane;
  net_.join(lane, me_, 0);
}

void LanePart::close(std::uint32_t lane) {
  core_.drop_casts(ids_[lane]);
  lanes_.close(ids_[lane]);
  net_.leave(lane, me_, 0);
  ids_[lane] = -1;
}

void LanePart::start(std::uint32_t collective, Instant now) {
  const CollSpec& spec = script_.collectives[collective];
  const std::vector<std::int32_t>& members = script_.lanes[spec.lane].members;
  const auto place =
      static_cast<std::int32_t>(std::find(members.begin(), members.end(), me_) - members.begin());
  runs_[collective] = std::make_unique<Collective>(script_, collective, place, ids_[spec.lane], seed_, core_);
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
  return good;
}

void LanePart::on_deadline(Instant now) {
  const std::optional<Instant> due = lanes_.next_deadline();
  if (due && *due <= now) lanes_.on_deadline(now);
}

bool LanePart::pump() {
  bool moved = carrier_.pump_ready();
  for (const rel::LaneId id : ids_)
    if (id >= 0 && core_.wants_to_cast(id)) moved = carrier_.pump(id) || moved;
  std::erase_if(under_way_, [&](std::uint32_t each) {
    runs_[each]->note_time(net_.now());
    return runs_[each]->done();
  });
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
        net_.multicast(me_, 0, script_lane_[static_cast<std::size_t>(rel::Lanes::lane_of(tx.to))],
                       tx.datagram);
    }
    moved = true;
  }
  return moved;
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
