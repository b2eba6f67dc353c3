// SPDX-License-Identifier: BSD-3-Clause
// coll/make/reduce_chain.hpp: folds what comes from several ranks, one after another and in that order, into
// one result: acc = acc op next. The result of each fold lies where the newcomer was received, so nothing is
// copied and the user's own contribution is only read. Two areas take turns: the next message arrives while
// the last one is folded.
#pragma once
#include "coll/builder.hpp"

namespace herald::coll {

class Chain {
 public:
  // Begins with `own`, which is there after `ready`; `folds` newcomers will follow. The last one lands in
  // `target` (if that has a layout), unless `own` lies there and the number is odd.
  Chain(Builder& b, const Piece& own, const Piece& target, int folds, StepId ready = kNone) noexcept
      : b_(b), acc_(own), target_(target), ready_(ready) {
    own_is_target_ = target.layout != nullptr && own.buffer == target.buffer && own.offset == target.offset;
    // Count back from the last fold; the first must not overwrite what it is to be folded with.
    at_target_ = target.layout != nullptr && folds % 2 == 1;
    if (own_is_target_) at_target_ = false;
  }

  // The newcomer arrives from `from`.
  void fold_message(int from) noexcept {
    const Piece area = next_area();
    fold(area, b_.recv(from, area, {area_free_}));
  }
  // The newcomer is in memory that may not be written.
  void fold_copy(const Piece& other) noexcept {
    const Piece area = next_area();
    fold(area, b_.copy(other, area, {area_free_}));
  }
  const Piece& result() const noexcept { return acc_; }
  StepId ready() const noexcept { return ready_; }  // when result() is complete
  // The step after which `own` is no longer read; kNone if nothing was folded.
  StepId own_free() const noexcept { return own_free_; }
  // Brings the result to the target if it is not there. Returns when it is there.
  StepId settle() noexcept {
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
    // The area was read by the fold before the last one, or is the user's own data, read by the first.
    area_free_ = folds_ >= 2 || (folds_ == 1 && own_is_target_) ? ready_ : kNone;
    return area;
  }
  void fold(const Piece& area, StepId arrived) noexcept {
    ready_ = b_.reduce(acc_, area, {arrived, ready_});
    if (folds_++ == 0) own_free_ = ready_;
    acc_ = area;
  }

  Builder& b_;
  Piece acc_, target_;
  Piece spare_[2];
  StepId ready_, own_free_ = kNone, area_free_ = kNone;
  int folds_ = 0;
  bool own_is_target_ = false, at_target_ = false, use_spare_ = false;
};

}  // namespace herald::coll
