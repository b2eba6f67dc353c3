// SPDX-License-Identifier: BSD-3-Clause
// coll/make/reduce_chain.hpp: reduces the data of several ranks, in the given order, into one result: acc =
// acc op next. Each result overwrites the received data, so nothing is copied and the user's contribution is
// only read. Two areas alternate: the next message arrives while the last one is reduced.
#pragma once
#include "coll/builder.hpp"

namespace herald::coll {

class ReduceChain {
 public:
  // Begins with `own`, complete after `ready`; `count` reductions follow. The last one is received into
  // `target` (if that has a layout), unless `own` lies there and the number is odd.
  ReduceChain(Builder& b, const Piece& own, const Piece& target, int count, StepId ready = kNone) noexcept
      : b_(b), acc_(own), target_(target), ready_(ready) {
    own_is_target_ = target.layout != nullptr && own.buffer == target.buffer && own.offset == target.offset;
    // Count back from the last reduction; the first must not overwrite its own operand.
    at_target_ = target.layout != nullptr && count % 2 == 1;
    if (own_is_target_) at_target_ = false;
  }

  // The next operand arrives from `from`.
  void reduce_message(int from) noexcept {
    const Piece area = next_area();
    reduce(area, b_.recv(from, area, {area_free_}));
  }
  // The next operand is in memory that must not be written.
  void reduce_copy(const Piece& other) noexcept {
    const Piece area = next_area();
    reduce(area, b_.copy(other, area, {area_free_}));
  }
  const Piece& result() const noexcept { return acc_; }
  StepId ready() const noexcept { return ready_; }  // when result() is complete
  // The step after which `own` is no longer read; kNone if nothing was reduced.
  StepId own_read() const noexcept { return own_read_; }
  // Copies the result to the target if it is elsewhere. Returns the step after which it is there.
  StepId copy_to_target() noexcept {
    if (acc_.buffer == target_.buffer && acc_.offset == target_.offset) return ready_;
    return b_.copy(acc_, target_, {ready_});
  }

 private:
  Piece next_area() noexcept {
    Piece area;
    if (at_target_) {
      area = target_;
    } else {
      Piece& mine = spare_[use_spare_];
      if (mine.layout == nullptr) mine = b_.scratch_items(*acc_.layout, acc_.count);
      area = mine;
      if (target_.layout == nullptr) use_spare_ = !use_spare_;
    }
    if (target_.layout != nullptr) at_target_ = !at_target_;
    // The area was read by the reduction before the last one, or is the user's own data, read by the first.
    area_free_ = reduced_ >= 2 || (reduced_ == 1 && own_is_target_) ? ready_ : kNone;
    return area;
  }
  void reduce(const Piece& area, StepId arrived) noexcept {
    ready_ = b_.reduce(acc_, area, {arrived, ready_});
    if (reduced_++ == 0) own_read_ = ready_;
    acc_ = area;
  }

  Builder& b_;
  Piece acc_, target_;
  Piece spare_[2];
  StepId ready_, own_read_ = kNone, area_free_ = kNone;
  int reduced_ = 0;
  bool own_is_target_ = false, at_target_ = false, use_spare_ = false;
};

// Reduces the contributions of all ranks, which send theirs to this one, in rank order.
inline ReduceChain reduce_in_rank_order(const CollSpec& spec, Builder& b, const Piece& own,
                                        const Piece& target) noexcept {
  Piece first = own;
  StepId got = kNone;
  if (spec.rank != 0) {
    first = b.scratch_items(*own.layout, own.count);
    got = b.recv(0, first);
  }
  ReduceChain chain(b, first, target, spec.size - 1, got);
  for (int from = 1; from < spec.size; ++from) {
    if (from == spec.rank)
      chain.reduce_copy(own);
    else
      chain.reduce_message(from);
  }
  return chain;
}

}  // namespace herald::coll
