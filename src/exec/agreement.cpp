// SPDX-License-Identifier: BSD-3-Clause
#include "exec/agreement.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "coll/table.hpp"
#include "path/random.hpp"
#include "path/shm/coll_segment.hpp"
#include "type/basic.hpp"

namespace herald::exec {
namespace {

const std::uint64_t probe_word = path::CollSegment::kProbe;

int ranks_on_this_host(const engine::Engine& engine) noexcept {
  int count = 0;
  for (p2p::PeerId peer = 0; peer < engine.peers().size(); ++peer)
    if (engine.peers().host_number(peer) == engine.peers().host_number(engine.peers().rank())) ++count;
  return count;
}

// Streams get the last bytes of a team's share, so that a small share still has posts and channels.
Segment::Sizes usual_sizes(const Knobs& knobs) noexcept {
  const auto most = static_cast<std::uint64_t>(knobs.coll_segment_bytes);
  const std::uint64_t usual =
      static_cast<std::uint64_t>(Knobs{}.coll_segment_bytes) - knobs.tuning.coll_stream_bytes;
  const std::uint64_t stream = std::min(most - std::min(most, usual), knobs.tuning.coll_stream_bytes);
  return {most - stream, stream};
}

coll::Blocks bytes_in(coll::Buffer buffer, std::size_t bytes) noexcept {
  return {buffer, &type::basic_layout(type::Basic::byte), static_cast<std::int64_t>(bytes)};
}

}  // namespace

Agreement::~Agreement() {
  if (round_ != nullptr && round_->is_done()) Runner::recycle(round_);
}

void Agreement::begin() noexcept {
  team_.engine().hooks().add(on_turn, this);
  advertise();
  (void)advance();
}

bool Agreement::on_turn(void* self) noexcept { return static_cast<Agreement*>(self)->advance(); }

// True if it advanced; this object may then be gone.
bool Agreement::advance() noexcept {
  bool moved = false;
  while (round_ == nullptr || round_->is_done()) {
    moved = true;
    const bool good = round_ != nullptr && round_->status() == Status::ok;
    if (round_ != nullptr) Runner::recycle(std::exchange(round_, nullptr));
    switch (stage_) {
      case Stage::advertise: ask_all(Stage::attach, good && attach()); break;
      case Stage::attach:
        team_.segment.unlink();
        if (!good || !all_said_yes()) return end(false), true;
        ask_all(Stage::probe, probe());
        break;
      case Stage::probe: team_.cluster_->reads_peers = good && all_said_yes(); return end(true), true;
    }
  }
  return moved;
}

// Where there is one host only, its first rank also decides how large the segment is: teams that are many get
// small ones, and in the end none.
void Agreement::create_segment(const std::vector<int>& ranks) noexcept {
  const coll::Cluster& cluster = team_.cluster();
  // The other ranks of this host may lead as many teams like this one.
  const auto similar = static_cast<std::uint64_t>(
      std::max<std::size_t>(1, static_cast<std::size_t>(ranks_on_this_host(team_.engine())) / ranks.size()));
  const SegmentBudget left = SegmentBudget::left(team_.knobs(), similar);
  if (cluster.hosts() == 1) {
    ad_.sizes.post_bytes = std::min(ad_.sizes.post_bytes, left.post_bytes);
    ad_.sizes.stream_bytes = std::min(ad_.sizes.stream_bytes, left.stream_bytes);
  }
  const path::CollSegmentShape shape = Segment::shape_of(cluster, cluster.host_of(team_.rank()), ad_.sizes);
  ad_.nonce = path::random_number();
  const std::string path = team_.engine().memory().new_shm_path();
  if (shape.place_bytes != 0 && shape.bytes() <= left.all_bytes && !path.empty() &&
      path.size() < sizeof ad_.path && team_.segment.create(path, shape, ad_.nonce, similar))
    std::memcpy(ad_.path, path.c_str(), path.size() + 1);
}

void Agreement::advertise() noexcept {
  const coll::Cluster& cluster = team_.cluster();
  const std::vector<int>& ranks = cluster.on_host(cluster.host_of(team_.rank()));
  const int place = cluster.place_of(team_.rank());
  ad_.sizes = usual_sizes(team_.knobs());
  if (place == 0 && ranks.size() > 1) create_segment(ranks);
  coll::CollSpec spec;
  spec.op = coll::Op::bcast;
  spec.rank = place;
  spec.size = static_cast<int>(ranks.size());
  spec.bytes = sizeof ad_;
  spec.recv = bytes_in(coll::Buffer::recv, sizeof ad_);
  coll::Builder builder;
  builder.map_ranks(ranks);
  const coll::Algorithm& binomial = *coll::find_algorithm(spec.op, "binomial");
  binomial.make(spec, builder);
  coll::Plan plan = builder.finish(binomial.name);
  plan.operation = name_of(spec.op);
  start_round(Stage::advertise, std::move(plan), nullptr, &ad_);
}

void Agreement::start_round(Stage stage, coll::Plan plan, const void* send, void* recv) noexcept {
  stage_ = stage;
  auto* cached = new coll::CachedPlan;
  cached->plan = std::move(plan);
  Binding binding;
  binding.send = send;
  binding.recv = recv;
  binding.matching.agreement = static_cast<int>(stage);
  round_ = Runner::make(team_, cached, binding);
  if (round_ != nullptr) round_->start({});
}

bool Agreement::attach() noexcept {
  const coll::Cluster& cluster = team_.cluster();
  const int host = cluster.host_of(team_.rank()), place = cluster.place_of(team_.rank());
  HostRanks& ranks = team_.segment.ranks;
  ranks.engine = &team_.engine();
  ranks.place = place;
  for (const int rank : cluster.on_host(host)) ranks.peers.push_back(team_.peer(rank));
  if (ranks.count() == 1) return true;
  // Processes of two jobs may run on one host without being allowed to share memory.
  for (const p2p::PeerId peer : ranks.peers)
    if (peer != team_.peer(team_.rank()) && !team_.engine().peers().is_local(peer)) return false;
  ad_.path[sizeof ad_.path - 1] = '\0';
  const path::CollSegmentShape shape = Segment::shape_of(cluster, host, ad_.sizes);
  if (ad_.path[0] == '\0' || shape.place_bytes == 0) return false;
  if (place != 0 && !team_.segment.attach(ad_.path, shape, ad_.nonce)) return false;
  ranks.cma = path::Cma::open(team_.knobs().cma != "off");
  team_.segment.publish_owner(team_.engine().may_spin(), ranks.cma ? &probe_word : nullptr);
  return true;
}

bool Agreement::probe() noexcept { return team_.segment.ranks.count() == 1 || team_.segment.can_read_next(); }

void Agreement::ask_all(Stage stage, bool mine) noexcept {
  answer_ = mine ? 1 : 0;
  answers_.assign(static_cast<std::size_t>(team_.size()), 0);
  coll::CollSpec spec;
  spec.op = coll::Op::allgather;
  spec.rank = team_.rank();
  spec.size = team_.size();
  spec.bytes = 1;
  spec.send = bytes_in(coll::Buffer::send, 1);
  spec.recv = bytes_in(coll::Buffer::recv, 1);
  const coll::Shape shape = team_.shape_for(spec);
  start_round(stage, coll::make_plan(coll::choose(spec.op, 1, shape), team_.place(spec, shape)), &answer_,
              answers_.data());
}

bool Agreement::all_said_yes() const noexcept {
  return std::find(answers_.begin(), answers_.end(), 0) == answers_.end();
}

void Agreement::end(bool agreed) noexcept {
  engine::Engine& engine = team_.engine();
  engine.hooks().remove(on_turn, this);
  const std::unique_ptr<Agreement> self = std::move(team_.agreement_);
  if (agreed)
    team_.segment.open(team_.cluster(), ad_.sizes, team_.cluster().reads_peers);
  else
    team_.segment.give_up();
  for (const Callback& waiter : waiters_) waiter();
  engine.wake_waiters();
  last_();
}

}  // namespace herald::exec
