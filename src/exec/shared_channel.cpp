// SPDX-License-Identifier: BSD-3-Clause
#include "exec/shared_channel.hpp"

#include <algorithm>
#include <utility>

#include "base/fatal.hpp"

namespace herald::exec {

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
  note_ring(channels_[0].set_low(low));
  if (two_parts_) note_ring(channels_[1].set_low(low));
}

void SharedChannel::note_ring(int place) noexcept {
  if (place == coll::kNoRank) return;
  to_ring_ = to_ring_ == coll::kNoRank || to_ring_ == place ? place : coll::kAllRanks;
}

void SharedChannel::ring() noexcept {
  const int place = std::exchange(to_ring_, coll::kNoRank);
  path::Channel::before_ring();
  // Looking at the doorbells of all ranks touches a page of each.
  if (!channels_[0].is_watched()) return;
  engine::Engine& engine = *ranks_->engine;
  if (place >= 0) {
    if (place != ranks_->place) engine.peers().ring(ranks_->peers[static_cast<std::size_t>(place)]);
    return;
  }
  for (const p2p::PeerId peer : ranks_->peers)
    if (peer != engine.peers().rank()) engine.peers().ring(peer);
}

bool SharedChannel::is_free(path::Channel& channel, std::uint64_t number) noexcept {
  if (channel.is_free(number)) return true;
  channel.request_slot(number);
  if (channel.is_free(number)) return true;
  if (full_in_ != turn_ || number < full_at_) full_at_ = number;
  full_in_ = turn_;
  return false;
}

bool SharedChannel::attempt(const Context& run, const coll::Step& step, std::uint64_t& progress,
                            Status& error) noexcept {
  switch (step.kind) {
    case coll::StepKind::post: return post(run, step);
    case coll::StepKind::fetch:
    case coll::StepKind::stream_read: return fetch(run, step, progress, error);
    case coll::StepKind::put: return put(run, step, error);
    case coll::StepKind::stream_write: return stream_write(run, step, progress);
    case coll::StepKind::stream_reduce: return stream_reduce(run, step, progress, error);
    case coll::StepKind::wait_arrived: return channel_of(step).met(run.number, step.tag);
    case coll::StepKind::arrive:
      if (!is_free(channel_of(step), run.number)) return false;
      if (channel_of(step).arrive(run.number, step.tag)) note_ring(step.partner);
      return true;
    case coll::StepKind::combine:
      if (!is_free(channel_of(step), run.number)) return false;
      if (channel_of(step).arrive(run.number, step.tag)) combine(run, step, error);
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

// All ranks have posted: no other rank looks at the copies until the next barrier word is complete.
void SharedChannel::combine(const Context& run, const coll::Step& step, Status& error) noexcept {
  const std::int64_t gap = step.a.layout->true_lb();
  path::Channel& channel = channel_of(step);
  const int last = ranks_->count() - 1;
  std::byte* sum = channel.copy_of(run.number, last) - gap;
  for (int rank = last - 1; rank >= 0; --rank) {
    const path::Post* post = channel.posted(run.number, rank, 0);
    if (post == nullptr || post->place() != 0 || post->bytes != step.a.bytes)
      error = Status::truncated;  // the ranks do not agree on how much they reduce
    else if (post->is_incomplete())
      channel.mark_incomplete(run.number, last);
    else
      run.reduction.apply(channel.copy_of(run.number, rank) - gap, sum, step.a.count);
  }
  channel.close_barrier(run.number, step.tag + 1);
  note_ring(step.partner);
}

bool SharedChannel::post(const Context& run, const coll::Step& step) noexcept {
  path::Channel& channel = channel_of(step);
  if (!is_free(channel, run.number)) return false;
  std::uint64_t address = 0;
  if (step.copied && step.a.bytes != 0)
    cursor(step.a, run.places).pack(channel.room(run.number), channel.shape().inline_bytes());
  else if (!step.copied)
    address = reinterpret_cast<std::uintptr_t>(run.places.of(step.a));
  channel.post(run.number, step.tag, marked(run, address), step.a.bytes);
  note_ring(step.partner);
  return true;
}

bool SharedChannel::fetch(const Context& run, const coll::Step& step, std::uint64_t& progress,
                          Status& error) noexcept {
  const path::Post* post = channel_of(step).posted(run.number, step.partner, step.tag);
  if (post == nullptr) return false;
  if (post->is_incomplete()) error = Status::peer_lost;
  if ((post->address & kStreamBit) != 0) {
    if (step.whole && post->bytes > step.a.bytes) error = Status::truncated;
    return stream_read(*post, run, step, progress);
  }
  if (step.a.bytes == 0) return true;
  const std::uint64_t first = std::min(step.b.first, post->bytes);
  const std::uint64_t bytes = std::min(post->bytes - first, step.a.bytes);
  if (step.whole && post->bytes - first > step.a.bytes) error = Status::truncated;
  type::Cursor to = cursor(step.a, run.places);
  if (post->place() == 0)
    to.unpack(channel_of(step).copy_of(run.number, step.partner) + first, bytes);
  else if (!copy_memory(&path::Cma::read, step.partner, post->place() + first, to, bytes))
    error = Status::bad_argument;
  return true;
}

bool SharedChannel::put(const Context& run, const coll::Step& step, Status& error) noexcept {
  const path::Post* room = channel_of(step).posted(run.number, step.partner, step.tag);
  if (room == nullptr) return false;
  if (room->bytes != step.a.bytes) error = Status::truncated;  // the ranks do not agree on how much
  type::Cursor from = cursor(step.a, run.places);
  const std::uint64_t bytes = std::min(room->bytes, step.a.bytes);
  if (!copy_memory(&path::Cma::write, step.partner, room->place(), from, bytes)) error = Status::bad_argument;
  return true;
}

bool SharedChannel::copy_memory(CmaCopy copy, int partner, std::uint64_t address, type::Cursor& here,
                                std::uint64_t bytes) const noexcept {
  const std::int32_t pid = ranks_->pids[static_cast<std::size_t>(partner)];
  for (std::uint64_t done = 0; done < bytes;) {
    type::Run runs[64];
    iovec local[64];
    const std::uint64_t before = here.position();
    const std::size_t n = here.next_runs(runs, bytes - done);
    for (std::size_t i = 0; i < n; ++i) local[i] = {runs[i].data, runs[i].bytes};
    const std::size_t part = here.position() - before;
    const iovec remote{reinterpret_cast<void*>(address + done), part};
    if (!ranks_->cma || ((*ranks_->cma).*copy)(pid, {local, n}, {&remote, 1}) != Status::ok) return false;
    done += part;
  }
  return true;
}

bool SharedChannel::is_lost(std::uint64_t number, const coll::Step& step) noexcept {
  if (const int by = channel_of(step).damaged_by(); by >= 0)
    fatal("rank %d's shared memory is damaged: a post is longer than its place",
          ranks_->peers[static_cast<std::size_t>(by)]);
  const auto lost = [&](int place) {
    return ranks_->engine->peers().is_gone(ranks_->peers[static_cast<std::size_t>(place)]) &&
           !channel_of(step).has_completed(number, place);
  };
  if (step.kind == coll::StepKind::fetch || step.kind == coll::StepKind::stream_read ||
      step.kind == coll::StepKind::put)
    return lost(step.partner);
  for (int i = 0; i < ranks_->count(); ++i)
    if (i != ranks_->place && lost(i)) return true;
  return false;
}

}  // namespace herald::exec
