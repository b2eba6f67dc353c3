// SPDX-License-Identifier: BSD-3-Clause
// coll/make/scatter_cast.hpp: allreduce of long vectors over a lane: each rank reduces one part, which the
// others send to it, and multicasts the result in turns. On a fast link the vector is cut into chunks, each
// with a part per rank: a chunk is reduced and multicast while the next one arrives.
#pragma once
#include <algorithm>
#include <vector>

#include "coll/make/items.hpp"
#include "coll/make/turns.hpp"

namespace herald::coll {

class ScatterCast {
 public:
  ScatterCast(const CollSpec& spec, Builder& b) noexcept
      : spec_(spec), b_(b), n_(static_cast<std::size_t>(spec.size)), turns_(b, spec) {}

  void make() noexcept {
    const Piece result = spec_.result();
    if (result.count == 0) return;
    const std::uint64_t chunk_bytes = kFastTurnBytes * n_;
    const auto wanted =
        static_cast<std::int64_t>(spec_.fast ? (result.bytes + chunk_bytes - 1) / chunk_bytes : 1);
    const ItemParts chunks{result.count,
                           static_cast<int>(std::min({wanted, result.count, std::int64_t{kMostChunks}}))};
    for (int i = 0; i < chunks.parts; ++i)
      chunk(i, chunks.piece(spec_.own(), i, i + 1), chunks.piece(result, i, i + 1));
  }

 private:
  static constexpr int kMostChunks = 64;
  static constexpr std::size_t kAhead = 3;  // chunks that are sent before the first of them is reduced

  void chunk(int number, const Piece& own, const Piece& result) noexcept {
    const ItemParts parts{result.count, spec_.size};
    const auto part = [&](const Piece& piece, int r) { return parts.piece(piece, r, r + 1); };
    const StepId earlier = done_.size() < kAhead ? kNone : done_[done_.size() - kAhead];
    b_.round(2 * number);
    const StepId ready = receive(part(own, spec_.rank), part(result, spec_.rank), earlier, number == 0);
    std::vector<StepId> sent(n_, kNone);
    StepId last = kNone;
    for (int i = 1; i < spec_.size; ++i) {
      const int r = to_in_round(spec_.rank, i, spec_.size);
      if (parts.count(r, r + 1) == 0) continue;
      const Piece out = part(own, r);
      // Sends are serialised as long as one at a time fills the link.
      last = sent[static_cast<std::size_t>(r)] =
          b_.send(r, out, {out.bytes > kRemoteEager ? kNone : last, earlier});
    }
    const StepId done = reduce(part(own, spec_.rank), part(result, spec_.rank), ready);
    done_.push_back(done);
    b_.round(2 * number + 1);
    std::vector<Piece> blocks;
    for (int r = 0; r < spec_.size; ++r) blocks.push_back(part(result, r));
    // In place, a part of the result overwrites a part that is still to be sent.
    if (!spec_.in_place) sent.clear();
    turns_.make(blocks, done, sent);
  }

  // Posts the receives of our part. Where the order of operands does not matter the first of them is
  // received to where the result is to be. Returns the step after which the result area is free.
  StepId receive(const Piece& own, const Piece& result, StepId free, bool first) noexcept {
    ready_.assign(n_, kNone);
    if (first) areas_.assign(n_ * kAhead, Piece{});
    at_.assign(n_, Piece{});
    landed_ = -1;
    if (result.count == 0) return kNone;
    for (int i = 1; i < spec_.size; ++i) {
      const int r = from_in_round(spec_.rank, i, spec_.size);
      const auto place = static_cast<std::size_t>(r);
      if (spec_.commutes && !spec_.in_place && landed_ < 0) {
        landed_ = r;
        at_[place] = result;
      } else {
        at_[place] = area(place, result);
      }
      ready_[place] = b_.recv(r, at_[place], {free});
    }
    if (spec_.commutes) return kNone;
    const auto me = static_cast<std::size_t>(spec_.rank);
    at_[me] = area(me, result);
    return ready_[me] = b_.copy(own, at_[me], {free});
  }

  // Scratch memory of one operand; areas are used again kAhead chunks later.
  Piece area(std::size_t place, const Piece& like) noexcept {
    Piece& room = areas_[done_.size() % kAhead * n_ + place];
    if (room.layout == nullptr) room = b_.scratch_items(*like.layout, like.count);
    return items_of(room, 0, std::min(room.count, like.count));
  }

  StepId reduce(const Piece& own, const Piece& result, StepId free) noexcept {
    if (result.count == 0) return kNone;
    StepId step = kNone;
    if (!spec_.commutes) {  // v0 op (v1 op (... op v[n-1]))
      step = b_.copy(at_[n_ - 1], result, {ready_[n_ - 1], free});
      for (std::size_t r = n_ - 1; r-- > 0;) step = b_.reduce(at_[r], result, {step, ready_[r]});
      return step;
    }
    if (landed_ >= 0) step = b_.reduce(own, result, {ready_[static_cast<std::size_t>(landed_)]});
    for (int i = 1; i < spec_.size; ++i) {
      const int r = from_in_round(spec_.rank, i, spec_.size);
      const auto place = static_cast<std::size_t>(r);
      if (r != landed_) step = b_.reduce(at_[place], result, {step, ready_[place]});
    }
    return step;
  }

  const CollSpec& spec_;
  Builder& b_;
  const std::size_t n_;
  Turns turns_;
  std::vector<StepId> done_;   // by chunk: our part is reduced
  std::vector<StepId> ready_;  // by rank: its operand of this chunk is there ...
  std::vector<Piece> at_;      // ... at this place
  std::vector<Piece> areas_;   // kAhead for each rank
  int landed_ = -1;            // whose operand is received into the result
};

}  // namespace herald::coll
