// SPDX-License-Identifier: BSD-3-Clause
// coll/make/turns.hpp: every rank multicasts a block, long ones in turns: enough in flight to keep each link
// full, yet little in the switch. The next source begins when it has received a quarter of the previous turn,
// and all of the third before. Other sources fill its receive link meanwhile, so n blocks take the time of n
// - 1.
#pragma once
#include <vector>

#include "coll/make/cast.hpp"

namespace herald::coll {

// Adds the casts of this rank and the receives of all others' to a plan.
class Turns {
 public:
  Turns(Builder& b, const CollSpec& spec) noexcept
      : b_(b), rank_(spec.rank), turn_bytes_(turn_bytes(spec.fast)) {}

  // `blocks`: by rank, the final location of each; ours is complete after `ready`, and the location of each
  // may be written after `free`, by rank; empty: at once. May be repeated: later blocks follow in turn.
  void make(const std::vector<Piece>& blocks, StepId ready, const std::vector<StepId>& free = {}) noexcept {
    blocks_ = blocks;
    ready_ = ready;
    free_ = free;
    std::uint64_t all = 0, longest = 0;
    for (const Piece& block : blocks_) {
      all += block.bytes;
      longest = std::max(longest, block.bytes);
    }
    if (all <= kCastTogether) return at_once();
    for (std::uint64_t at = 0; at < longest; at += turn_bytes_)
      for (int rank = 0; rank < static_cast<int>(blocks_.size()); ++rank) turn(rank, at);
  }

 private:
  void at_once() noexcept {
    for (int rank = 0; rank < static_cast<int>(blocks_.size()); ++rank)
      if (rank != rank_ && block(rank).bytes != 0) b_.recv(rank, block(rank), {free_of(rank)});
    if (block(rank_).bytes != 0) b_.cast(block(rank_), {ready_});
  }
  // The first quarter is a message of its own: it triggers the next source.
  void turn(int rank, std::uint64_t at) noexcept {
    const std::uint64_t left = block(rank).bytes - std::min(block(rank).bytes, at);
    const std::uint64_t bytes = std::min(left, turn_bytes_), sign = (bytes + 3) / 4;
    if (bytes == 0) return;
    const Piece first = bytes_of(block(rank), at, sign),
                rest = bytes_of(block(rank), at + sign, bytes - sign);
    if (rank == rank_) {
      const StepId begun = b_.cast(first, {ready_, before_, third_before_, mine_});
      mine_ = rest.bytes == 0 ? begun : b_.cast(rest, {begun});
      return;
    }
    third_before_ = second_before_;
    second_before_ = last_;
    last_ = before_ = b_.recv(rank, first, {free_of(rank)});
    if (rest.bytes != 0) last_ = b_.recv(rank, rest, {free_of(rank)});
  }
  const Piece& block(int rank) const noexcept { return blocks_[static_cast<std::size_t>(rank)]; }
  StepId free_of(int rank) const noexcept {
    return free_.empty() ? kNone : free_[static_cast<std::size_t>(rank)];
  }

  Builder& b_;
  const int rank_;
  const std::uint64_t turn_bytes_;
  std::vector<Piece> blocks_;
  StepId ready_ = kNone;
  std::vector<StepId> free_;
  StepId before_ = kNone, last_ = kNone, second_before_ = kNone, third_before_ = kNone, mine_ = kNone;
};

// A host that mostly receives has less to do than one that also forwards.
constexpr double kOnlyHeard = 0.9;

inline double turns_ns(const Shape& shape, double bytes_each) noexcept {
  const double others = bytes_each * (shape.ranks - 1), all = others + bytes_each;
  if (all <= static_cast<double>(kCastTogether)) return all_cast_ns(shape, bytes_each);
  return transfer_ns(shape, 2, others * kOnlyHeard) +
         static_cast<double>(turn_bytes(shape.fast)) * shape.cost.byte_ns;
}

}  // namespace herald::coll
