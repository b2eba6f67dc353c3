// SPDX-License-Identifier: BSD-3-Clause
#include "coll/builder.hpp"

#include <algorithm>

#include "base/fatal.hpp"

namespace herald::coll {
namespace {

constexpr std::uint64_t kScratchAlign = 64;

// Contiguous data needs no layout: cheaper to run, and independent of the lifetime of the type.
Piece plain(Piece piece) noexcept {
  if (piece.layout == nullptr) return piece;
  const type::Layout& layout = *piece.layout;
  if (piece.bytes != 0 && !layout.dense() && !(layout.run() && piece.count == 1)) return piece;
  piece.offset += layout.true_lb() + static_cast<std::int64_t>(piece.first);
  piece.layout = nullptr;
  piece.first = 0;
  piece.count = 0;
  return piece;
}

void keep(Plan& plan, const type::Layout* layout) noexcept {
  if (layout == nullptr) return;
  // Few distinct layouts, except in alltoallw, where equal ones are adjacent.
  const std::size_t seen = std::min<std::size_t>(plan.layouts.size(), 4);
  for (std::size_t i = 0; i < seen; ++i)
    if (plan.layouts[plan.layouts.size() - 1 - i].get() == layout) return;
  plan.layouts.emplace_back(layout);
}

StepId last_of(const Plan& plan) noexcept { return static_cast<StepId>(plan.steps.size() - 1); }

}  // namespace

Step& Builder::add(StepKind kind, const Piece& a, After after) noexcept {
  Step& step = plan_.steps.emplace_back();
  step.kind = kind;
  step.tag = tag_;
  step.a = a;
  keep(plan_, a.layout);
  for (StepId earlier : after) depend(last_of(plan_), earlier);
  depend(last_of(plan_), gate_);
  return step;
}

void Builder::depend(StepId step, StepId earlier) noexcept {
  if (step == kNone || earlier == kNone) return;
  HERALD_ASSERT(earlier < step && step == last_of(plan_));
  edges_.push_back({earlier, step});
}

void Builder::window(std::uint32_t sends, std::uint32_t recvs) noexcept {
  HERALD_ASSERT(sends_.steps.empty() && recvs_.steps.empty());
  sends_.limit = sends;
  recvs_.limit = recvs;
}

StepId Builder::message(Lane& lane, Step& step, int partner) noexcept {
  const auto number = static_cast<std::uint32_t>(lane.steps.size());
  step.partner = partner >= 0 && !ranks_.empty() ? ranks_[static_cast<std::size_t>(partner)] : partner;
  if (lane.limit != 0 && number >= lane.limit) {
    const StepId before = lane.steps[number - lane.limit];
    step.slot = plan_.steps[before].slot;
    depend(last_of(plan_), before);
  } else {
    step.slot = plan_.slots++;
  }
  lane.steps.push_back(last_of(plan_));
  return last_of(plan_);
}

StepId Builder::send(int to, const Piece& from, After after, How how) noexcept {
  Step& step = add(StepKind::send, plain(from), after);
  step.bundled = how == How::bundled;
  step.acknowledged = how == How::acknowledged;
  return message(sends_, step, to);
}

StepId Builder::recv(int from, const Piece& to, After after) noexcept {
  return message(recvs_, add(StepKind::recv, plain(to), after), from);
}

StepId Builder::cast(const Piece& from, After after) noexcept {
  return message(sends_, add(StepKind::cast, plain(from), after), kAllRanks);
}

StepId Builder::contribute(const Piece& from, const Piece& to, After after) noexcept {
  Step& step = add(StepKind::contribute, plain(from), after);
  step.b = plain(to);
  step.slot = plan_.slots++;
  plan_.has_fused = true;
  keep(plan_, step.b.layout);
  return last_of(plan_);
}

StepId Builder::gather(int members, const Piece& to, After after) noexcept {
  Step& step = add(StepKind::gather, plain(to), after);
  step.partner = members;
  step.slot = plan_.slots++;
  plan_.has_fused = true;
  return last_of(plan_);
}

StepId Builder::announce(const Piece& from, After after) noexcept {
  add(StepKind::announce, plain(from), after).slot = plan_.slots++;
  return last_of(plan_);
}

StepId Builder::copy(const Piece& from, const Piece& to, After after, bool cold) noexcept {
  const bool adds_block = to.block != kNoBlock;  // an empty one, too
  if ((from.bytes == 0 && !adds_block) || to.bytes == 0) return kNone;
  Step& step = add(StepKind::copy, plain(from), after);
  step.b = plain(to);
  step.cold = cold;
  keep(plan_, step.b.layout);
  return last_of(plan_);
}

StepId Builder::reduce(const Piece& left, const Piece& inout, After after) noexcept {
  if (left.count == 0) return kNone;
  HERALD_ASSERT(left.layout != nullptr && left.layout == inout.layout && left.count == inout.count);
  add(StepKind::reduce, left, after).b = inout;
  return last_of(plan_);
}

StepId Builder::check(const Piece& facts) noexcept {
  add(StepKind::check, facts, {});
  plan_.checked = true;
  return last_of(plan_);
}

void Builder::map_ranks(std::span<const int> ranks, bool second) noexcept {
  ranks_ = ranks;
  second_ = second;
  tag_ = 0;
  sends_ = recvs_ = Lane{};
}

// Joined by an empty copy, unless there is a single last step.
void Builder::fence() noexcept {
  const auto end = static_cast<StepId>(plan_.steps.size());
  if (part_ == end) return;
  std::vector<bool> followed(end - part_, false);
  for (const Edge& edge : edges_)
    if (edge.from >= part_) followed[edge.from - part_] = true;
  const auto ends = std::count(followed.begin(), followed.end(), false);
  StepId last_one = end - 1;
  if (ends != 1) {
    add(StepKind::copy, Piece{}, {});
    last_one = last_of(plan_);
    for (StepId step = part_; step < end; ++step)
      if (!followed[step - part_]) depend(last_one, step);
  }
  gate_ = last_one;
  part_ = last_one + 1;
  tag_ = 0;
  sends_ = recvs_ = Lane{};  // all earlier messages are complete
}

Step& Builder::add_shared(StepKind kind, int number, int partner, const Piece& a, After after) noexcept {
  HERALD_ASSERT(number <
                (kind == StepKind::arrive || kind == StepKind::wait_arrived || kind == StepKind::combine
                     ? kBarrierWords
                     : kPosts));
  plan_.shared = true;
  Step& step = add(kind, a, after);
  step.tag = static_cast<std::uint8_t>(number);
  step.second = second_;
  step.partner = partner;
  return step;
}

StepId Builder::post(int number, const Piece& from, bool copied, int wake, After after) noexcept {
  Piece piece = plain(from);
  StepId packed = kNone;
  if (!copied && piece.layout != nullptr) {  // readers need one contiguous run
    const Piece room = scratch(piece.bytes);
    packed = copy(piece, room, after);
    piece = room;
  }
  add_shared(StepKind::post, number, wake, piece, after).copied = copied;
  depend(last_of(plan_), packed);
  return last_of(plan_);
}

StepId Builder::fetch(int from, int number, const Piece& to, std::uint64_t first, bool whole,
                      After after) noexcept {
  Step& step = add_shared(StepKind::fetch, number, from, plain(to), after);
  step.b.first = first;
  step.whole = whole;
  return last_of(plan_);
}

StepId Builder::put(int to, int number, const Piece& from, After after) noexcept {
  add_shared(StepKind::put, number, to, plain(from), after);
  return last_of(plan_);
}

bool is_one_run(const Piece& piece) noexcept { return plain(piece).layout == nullptr; }

StepId Builder::stream_write(int to, const Piece& from, std::uint32_t unit) noexcept {
  HERALD_ASSERT(!plan_.stream_writes);
  plan_.stream_writes = true;
  add_shared(StepKind::stream_write, 0, to, plain(from), {}).unit = unit;
  return last_of(plan_);
}

StepId Builder::stream_read(int from, const Piece& to, std::uint32_t unit, bool cold) noexcept {
  Step& step = add_shared(StepKind::stream_read, 0, from, plain(to), {});
  step.whole = true;
  step.unit = unit;
  step.cold = cold;
  return last_of(plan_);
}

StepId Builder::stream_reduce(const Piece& own, const Piece& to, int stream_to) noexcept {
  HERALD_ASSERT(!plan_.stream_writes && own.layout->dense() && own.layout->size() <= kStreamChunk);
  plan_.stream_writes = true;
  Step& step = add_shared(StepKind::stream_reduce, 0, stream_to, own, {});
  step.b = to;
  step.unit = static_cast<std::uint32_t>(own.layout->size());
  return last_of(plan_);
}

StepId Builder::arrive(int barrier_word, int wake, After after) noexcept {
  add_shared(StepKind::arrive, barrier_word, wake, Piece{}, after);
  return last_of(plan_);
}

StepId Builder::wait_arrived(int barrier_word, After after) noexcept {
  add_shared(StepKind::wait_arrived, barrier_word, kNoRank, Piece{}, after);
  return last_of(plan_);
}

StepId Builder::combine(int barrier_word, const Piece& like, After after) noexcept {
  HERALD_ASSERT(barrier_word + 1 < kBarrierWords && like.layout->dense());
  add_shared(StepKind::combine, barrier_word, kAllRanks, like, after);
  return last_of(plan_);
}

Piece Builder::scratch(std::uint64_t bytes) noexcept {
  Piece piece;
  piece.buffer = Buffer::scratch;
  piece.offset = static_cast<std::int64_t>(plan_.scratch_bytes);
  piece.bytes = bytes;
  plan_.scratch_bytes += (bytes + kScratchAlign - 1) / kScratchAlign * kScratchAlign;
  return piece;
}

Piece Builder::scratch_items(const type::Layout& layout, std::int64_t count) noexcept {
  const std::int64_t reach = count > 0 ? (count - 1) * layout.extent() : 0;
  const std::int64_t low = layout.true_lb() + std::min<std::int64_t>(reach, 0);
  const std::int64_t high = layout.true_ub() + std::max<std::int64_t>(reach, 0);
  const auto span = static_cast<std::uint64_t>(high - low);
  // Item 0 is aligned, and the first byte of data lies inside the scratch memory.
  const auto align = static_cast<std::int64_t>(kScratchAlign);
  const std::int64_t slack = ((low % align) + align) % align;
  Piece piece = scratch(span + static_cast<std::uint64_t>(slack));
  piece.offset += slack - low;
  piece.layout = &layout;
  piece.count = count;
  piece.bytes = static_cast<std::uint64_t>(layout.size()) * static_cast<std::uint64_t>(count);
  return piece;
}

Plan Builder::finish(const char* algorithm) noexcept {
  plan_.algorithm = algorithm;
  plan_.steps.emplace_back();  // sentinel: ends the last list of successors
  std::vector<Step>& steps = plan_.steps;
  // Edges were added in the order of the steps to which they lead, so counting is enough to sort them.
  std::vector<StepId>& next = plan_.next;
  next.resize(edges_.size());
  for (const Edge& edge : edges_) ++steps[edge.from].successors;
  std::uint32_t begin = 0;
  for (Step& step : steps) begin += std::exchange(step.successors, begin);
  for (const Edge& edge : edges_) next[steps[edge.from].successors++] = edge.to;
  std::uint32_t read = 0, kept = 0;  // equal edges are one
  for (Step& step : steps) {
    const std::uint32_t end = std::exchange(step.successors, kept);
    for (StepId last = kNone; read < end; ++read)
      if (next[read] != last) {
        last = next[kept++] = next[read];
        ++steps[last].needs;
      }
  }
  next.resize(kept);
  steps.shrink_to_fit();
  plan_.layouts.shrink_to_fit();
  return std::move(plan_);
}

}  // namespace herald::coll
