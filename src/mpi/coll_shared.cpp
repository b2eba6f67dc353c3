// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/coll_shared.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/fatal.hpp"
#include "mpi/coll_agree.hpp"
#include "mpi/op.hpp"
#include "mpi/request.hpp"
#include "mpi/runtime.hpp"

namespace herald::mpi {
namespace {

// Shared memory for collective segments that this process has made and that are still there.
std::uint64_t segments_bytes = 0;
int streams_made = 0;

}  // namespace

std::uint32_t CommColl::shared_bytes(bool persistent) const noexcept {
  if (!agreed_ || (persistent && persistent_count >= path::CollSegmentShape::kMoreChannels)) return 0;
  return copied_bytes[persistent ? 1 : 0];
}

void CommColl::tell(coll::CollSpec& ask, bool persistent) const noexcept {
  ask.shared_bytes = shared_bytes(persistent);
  ask.streams = streams && !persistent;
  ask.oversubscribed = oversubscribed;
  ask.in_order = !persistent;
}

CommColl::CommColl() noexcept = default;

CommColl::~CommColl() {
  discharge();
  if (!runtime().has_engine()) return;
  for (const Part& part : parts)
    if (part.lane >= 0) runtime().engine().close_lane(part.lane);
  if (lane >= 0) runtime().engine().close_lane(lane);
}

// The first time a single message for each is as cheap as telling them of a lane; the second time it is
// likely that there will be a third, and they are told. Of few sets, for each lane takes memory at every
// member.
std::int32_t CommColl::part_lane(Comm& comm, const std::vector<int>& members, bool at_once) noexcept {
  constexpr std::size_t kMostParts = 4;
  auto found =
      std::find_if(parts.begin(), parts.end(), [&](const Part& one) { return one.members == members; });
  if (found == parts.end()) {
    if (parts.size() == kMostParts) return -1;
    found = parts.insert(parts.end(), Part{members, -1, 0});
  }
  if (found->lane >= 0 || (found->runs++ == 0 && !at_once)) return found->lane;
  found->lane = open_part(comm, members);
  return at_once ? found->lane : -1;
}

std::int32_t CommColl::open_part(Comm& comm, const std::vector<int>& members) const noexcept {
  std::vector<p2p::PeerId> concerned;
  for (const int rank : members) concerned.push_back(comm.peer(rank));
  return runtime().engine().open_part(lane, concerned);
}

const coll::Cluster& CommColl::hosts_of(Comm& comm) noexcept {
  if (cluster) return *cluster;
  engine::Engine& engine = runtime().engine();
  std::vector<int> numbers;
  for (int rank = 0; rank < comm.size; ++rank) numbers.push_back(engine.host_number(comm.peer(rank)));
  cluster = std::make_unique<coll::Cluster>(numbers);
  cluster->lane = cluster->hosts() > 2 && runtime().knobs().lanes == "on";
  if (!cluster->lane || cluster->place_of(comm.rank) != 0) return *cluster;
  std::vector<p2p::PeerId> leaders;
  for (const int leader : cluster->leaders()) leaders.push_back(comm.peer(leader));
  lane = engine.open_lane(comm.context, leaders);
  return *cluster;
}

coll::Shape CommColl::shape_for(Comm& comm, const coll::CollSpec& ask) noexcept {
  const coll::Cluster& all = hosts_of(comm);
  coll::Shape shape = coll::shape_of(comm.size, all.hosts(), ask.commutes);
  shape.leaders_lane = all.lane;
  shape.lane = all.lane && all.hosts() == comm.size;
  shape.largest_host = all.largest();
  shape.host_order = all.in_order();
  shape.shared_bytes = ask.shared_bytes;
  shape.reads_peers = reads_peers;
  shape.streams = ask.streams;
  shape.in_order = ask.in_order;
  shape.oversubscribed = oversubscribed;
  if (oversubscribed) {  // who is to receive a message must be given a processor first
    shape.cost.message_ns *= comm.size / 2.0;
    shape.cost.byte_ns *= comm.size / 2.0;
  }
  return shape;
}

// Boards with two sets of channels where plans may have a part on the host before the others and one after.
path::CollSegmentShape CommColl::segment_shape(int host, std::uint64_t most,
                                               std::uint64_t stream) const noexcept {
  const bool alone = cluster->hosts() == 1;
  return path::CollSegmentShape::make(cluster->count(host), most, alone ? stream : 0, alone ? 1 : 2);
}

void CommColl::agree(Comm& comm) noexcept {
  tried = true;
  if (hosts_of(comm).largest() == 1) return;
  agreement = std::make_unique<Agreement>(comm, *this);
  agreement->begin();
}

void CommColl::await_agreement() const noexcept {
  wait_until([this] { return !agreement; });
}

void CommColl::settle(Comm& comm, bool agreed) noexcept {
  // From now on algorithms are chosen knowing more. Which of the plans made so far are still there differs
  // from rank to rank: one that finds its old plan would not do what one that makes it again does.
  plans.clear();
  if (!agreed) {
    segment.close();
    discharge();
    return;
  }
  agreed_ = true;
  cluster->reads_peers = reads_peers;
  for (std::uint32_t i = 0; i < copied_bytes.size(); ++i) {
    copied_bytes[i] = UINT32_MAX;
    for (int host = 0; host < cluster->hosts(); ++host)
      if (cluster->count(host) > 1)
        copied_bytes[i] = std::min(copied_bytes[i],
                                   segment_shape(host, most_bytes, stream_bytes).channel(i).inline_bytes());
  }
  if (peers.size() == 1) return;
  const int place = cluster->place_of(comm.rank);
  for (int i = 0; i < static_cast<int>(peers.size()); ++i) {
    pids.push_back(segment.owner(i).pid);
    oversubscribed = oversubscribed || (cluster->hosts() == 1 && segment.owner(i).spins == 0);
  }
  const std::uint32_t second = (segment.shape().sets - 1) * path::CollSegmentShape::kChannels;
  for (std::uint32_t i = 0; i < path::CollSegmentShape::kChannels; ++i) {
    channels.emplace_back(segment.channel(i, place), segment.channel(second + i, place), peers, place);
    channels.back().pids_ = &pids;
    channels.back().cma_ = cma ? &*cma : nullptr;
    channels.back().two_parts_ = second != 0;
  }
  streams = segment.shape().chunks != 0;
  if (streams) channels.front().streams_ = segment.streams(place);
}

SegmentBudget segment_budget(std::uint64_t alike) noexcept {
  constexpr int kMostStreams = 8;
  const auto all = runtime().knobs().tuning.coll_segments_bytes;
  const std::uint64_t left = (all - std::min(all, segments_bytes)) / alike;
  return {left, left / 4, streams_made < kMostStreams ? left / 4 : 0};
}

void CommColl::charge(const path::CollSegmentShape& shape, std::uint64_t alike) noexcept {
  charged_bytes_ = shape.bytes() * alike;
  charged_streams_ = shape.chunks != 0;
  segments_bytes += charged_bytes_;
  streams_made += charged_streams_ ? 1 : 0;
}

void CommColl::discharge() noexcept {
  segments_bytes -= std::exchange(charged_bytes_, 0);
  streams_made -= std::exchange(charged_streams_, false) ? 1 : 0;
}

static_assert(path::Channel::kRingNone == coll::kNoRank && path::Channel::kRingAll == coll::kAllRanks);

void SharedChannel::begin(std::uint64_t number, bool stream_writes) noexcept {
  running_.push_back(number);
  if (stream_writes) stream_writers_.push_back(number);
  set_low(running_.front());
}

void SharedChannel::end(std::uint64_t number) noexcept {
  running_.erase(std::find(running_.begin(), running_.end(), number));
  std::erase(stream_writers_, number);
  set_low(running_.empty() ? number + 1 : running_.front());
}

void SharedChannel::set_low(std::uint64_t low) noexcept {
  wake(channels_[0].set_low(low));
  if (two_parts_) wake(channels_[1].set_low(low));
}

void SharedChannel::wake(int whom) noexcept {
  if (whom == coll::kNoRank) return;
  call_spec_ = call_spec_ == coll::kNoRank || call_spec_ == whom ? whom : coll::kAllRanks;
}

void SharedChannel::ring() noexcept {
  const int whom = std::exchange(call_spec_, coll::kNoRank);
  path::Channel::before_ring();
  // To look at the doorbells of all is to touch a page of each.
  if (!channels_[0].is_watched()) return;
  engine::Engine& engine = runtime().engine();
  if (whom >= 0) {
    if (whom != place_) engine.ring((*peers_)[static_cast<std::size_t>(whom)]);
    return;
  }
  for (const p2p::PeerId peer : *peers_)
    if (peer != engine.rank()) engine.ring(peer);
}

bool SharedChannel::is_free(path::Channel& channel, std::uint64_t number) noexcept {
  if (channel.is_free(number)) return true;
  channel.request_slot(number);
  if (channel.is_free(number)) return true;
  if (full_in_ != turn_ || number < full_at_) full_at_ = number;
  full_in_ = turn_;
  return false;
}

bool SharedChannel::attempt(std::uint64_t number, const coll::Step& step, const coll::Places& places,
                            const Reducer& reducer, std::uint64_t& progress, int& error) noexcept {
  switch (step.kind) {
    case coll::StepKind::post: return post(number, step, places);
    case coll::StepKind::fetch:
    case coll::StepKind::stream_read: return fetch(number, step, places, progress, error);
    case coll::StepKind::put: return put(number, step, places, error);
    case coll::StepKind::stream_write: return stream_write(number, step, places, progress);
    case coll::StepKind::stream_reduce: return fold(number, step, places, reducer, progress, error);
    case coll::StepKind::wait_arrived: return channel_of(step).met(number, step.tag);
    case coll::StepKind::arrive:
      if (!is_free(channel_of(step), number)) return false;
      if (channel_of(step).arrive(number, step.tag)) wake(step.partner);
      return true;
    case coll::StepKind::combine:
      if (!is_free(channel_of(step), number)) return false;
      if (channel_of(step).arrive(number, step.tag)) combine(number, step, reducer, error);
      return true;
    case coll::StepKind::send:
    case coll::StepKind::recv:
    case coll::StepKind::cast:
    case coll::StepKind::contribute:
    case coll::StepKind::gather:
    case coll::StepKind::announce:
    case coll::StepKind::copy:
    case coll::StepKind::reduce:
    case coll::StepKind::check: break;
  }
  return true;
}

// All have posted: nobody but us looks at the copies until the next split copy is complete.
void SharedChannel::combine(std::uint64_t number, const coll::Step& step, const Reducer& reducer,
                            int& error) noexcept {
  const std::int64_t gap = step.a.layout->true_lb();
  path::Channel& channel = channel_of(step);
  const int last = static_cast<int>(peers_->size()) - 1;
  std::byte* sum = channel.copy_of(number, last) - gap;
  for (int rank = last - 1; rank >= 0; --rank) {
    const path::Post* post = channel.posted(number, rank, 0);
    const int failed = post == nullptr || post->address != 0 || post->bytes != step.a.bytes
                           ? MPI_ERR_TRUNCATE  // the ranks do not agree on what they reduce
                           : reduce_into(*reducer.op, *reducer.datatype, channel.copy_of(number, rank) - gap,
                                         sum, step.a.count);
    if (failed != MPI_SUCCESS) error = failed;
  }
  channel.close_barrier(number, step.tag + 1);
  wake(step.partner);
}

bool SharedChannel::post(std::uint64_t number, const coll::Step& step, const coll::Places& places) noexcept {
  path::Channel& channel = channel_of(step);
  if (!is_free(channel, number)) return false;
  std::uint64_t address = 0;
  if (step.copied && step.a.bytes != 0) {
    cursor(step.a, places).pack(channel.room(number), channel.shape().inline_bytes());
  } else if (!step.copied) {
    address = reinterpret_cast<std::uintptr_t>(places.of(step.a));
  }
  channel.post(number, step.tag, address, step.a.bytes);
  wake(step.partner);
  return true;
}

bool SharedChannel::fetch(std::uint64_t number, const coll::Step& step, const coll::Places& places,
                          std::uint64_t& progress, int& error) noexcept {
  const path::Post* post = channel_of(step).posted(number, step.partner, step.tag);
  if (post == nullptr) return false;
  if ((post->address & kStreamBit) != 0) {
    if (step.whole && post->bytes > step.a.bytes) error = MPI_ERR_TRUNCATE;
    return draw(*post, step, places, progress);
  }
  if (step.a.bytes == 0) return true;
  const std::uint64_t first = std::min(step.b.first, post->bytes);
  const std::uint64_t bytes = std::min(post->bytes - first, step.a.bytes);
  if (step.whole && post->bytes - first > step.a.bytes) error = MPI_ERR_TRUNCATE;
  type::Cursor to = cursor(step.a, places);
  if (post->address == 0) {
    to.unpack(channel_of(step).copy_of(number, step.partner) + first, bytes);
    return true;
  }
  if (!move(&path::Cma::read, step.partner, post->address + first, to, bytes)) error = MPI_ERR_BUFFER;
  return true;
}

bool SharedChannel::put(std::uint64_t number, const coll::Step& step, const coll::Places& places,
                        int& error) noexcept {
  const path::Post* room = channel_of(step).posted(number, step.partner, step.tag);
  if (room == nullptr) return false;
  if (room->bytes != step.a.bytes) error = MPI_ERR_TRUNCATE;  // the ranks do not agree on how much
  type::Cursor from = cursor(step.a, places);
  if (!move(&path::Cma::write, step.partner, room->address, from, std::min(room->bytes, step.a.bytes)))
    error = MPI_ERR_BUFFER;
  return true;
}

bool SharedChannel::move(CmaCopy copy, int partner, std::uint64_t address, type::Cursor& here,
                         std::uint64_t bytes) const noexcept {
  const std::int32_t pid = (*pids_)[static_cast<std::size_t>(partner)];
  for (std::uint64_t done = 0; done < bytes;) {
    type::Run runs[64];
    iovec local[64];
    const std::uint64_t before = here.position();
    const std::size_t n = here.next_runs(runs, bytes - done);
    for (std::size_t i = 0; i < n; ++i) local[i] = {runs[i].data, runs[i].bytes};
    const std::size_t part = here.position() - before;
    const iovec remote{reinterpret_cast<void*>(address + done), part};
    if (cma_ == nullptr || (cma_->*copy)(pid, {local, n}, {&remote, 1}) != Status::ok) return false;
    done += part;
  }
  return true;
}

bool SharedChannel::is_lost(std::uint64_t number, const coll::Step& step) noexcept {
  const engine::Engine& engine = runtime().engine();
  if (const int by = channel_of(step).damaged_by(); by >= 0)
    fatal("rank %d's shared memory is damaged: a post is longer than its place",
          (*peers_)[static_cast<std::size_t>(by)]);
  const auto lost = [&](int place) {
    return engine.is_gone((*peers_)[static_cast<std::size_t>(place)]) &&
           !channel_of(step).has_completed(number, place);
  };
  if (step.kind == coll::StepKind::fetch || step.kind == coll::StepKind::stream_read ||
      step.kind == coll::StepKind::put)
    return lost(step.partner);
  for (int i = 0; i < static_cast<int>(peers_->size()); ++i)
    if (i != place_ && lost(i)) return true;
  return false;
}

}  // namespace herald::mpi
