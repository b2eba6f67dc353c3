// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/io/collective.hpp"

#include <utility>

namespace herald::mpi {

CollectiveAccess::CollectiveAccess(const Transfer& transfer, bool ordered, bool in_background) noexcept
    : access_(transfer),
      state_(access_.state()),
      steps_(*transfer.file->comm, in_background),
      ordered_(ordered),
      lock_(state_, transfer.writes) {
  // The pointer moves, and data is converted, in the call itself.
  mine_ = access_.prepare();
  if (!mine_ && !ordered) mine_ = access_.take_position();
  if (!mine_) mine_ = access_.begin();
}

CollectiveAccess::~CollectiveAccess() {
  if (!is_done()) state_.thread.wait(*this);
}

bool CollectiveAccess::advance() noexcept {
  for (;;) {
    if (!steps_.is_over()) return false;
    switch (phase_) {
      case Phase::begin: begin(); break;
      case Phase::counting: count(); break;
      case Phase::pointing:
        if (!point()) return false;
        break;
      case Phase::telling: place(); break;
      case Phase::comparing: choose(); break;
      case Phase::two_phases:
        if (!two_phase_->advance()) return false;
        result_ = two_phase_->result();
        phase_ = Phase::over;
        break;
      case Phase::locking:
        if (!lock()) return false;
        break;
      case Phase::moving:
        if (!is_done()) return false;
        moved();
        break;
      case Phase::agreeing:
        if (!agreement_.advance(steps_)) return false;
        result_.failure = agreement_.result();
        phase_ = Phase::over;
        break;
      case Phase::over: return true;
    }
  }
}

void CollectiveAccess::begin() noexcept {
  if (!ordered_) return compare();
  own_ = mine_ ? 0 : access_.etypes();
  parts_.resize(static_cast<std::size_t>(steps_.comm().size));
  phase_ = Phase::counting;
  steps_.allgather(&own_, parts_.data(), sizeof own_);
}

// Each rank's part of an ordered access begins where the part of the rank before it ends.
void CollectiveAccess::count() noexcept {
  if (steps_.error() != MPI_SUCCESS) return place();
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (static_cast<int>(i) == steps_.comm().rank) before_ = all_;
    all_ += parts_[i];
  }
  phase_ = Phase::pointing;
  if (steps_.comm().rank == 0) state_.coordinator.fetch_add(all_, pointer_);
}

// The shared pointer lives in rank 0, which answers itself at once.
bool CollectiveAccess::point() noexcept {
  if (steps_.comm().rank == 0) {
    if (!steps_.reached([&] { return pointer_.answered; })) return false;
    start_.base = pointer_.value;
  }
  phase_ = Phase::telling;
  steps_.bcast(&start_, sizeof start_, 0);
  return true;
}

void CollectiveAccess::place() noexcept {
  if (steps_.error() != MPI_SUCCESS)
    mine_ = lost_rank(steps_.error());
  else
    access_.set_position(start_.base + before_);
  compare();
}

void CollectiveAccess::compare() noexcept {
  if (alone()) {
    if (mine_) return agree({0, mine_});
    phase_ = Phase::locking;
    return;
  }
  entry_ = entry_of(access_, static_cast<bool>(mine_));
  entries_.resize(static_cast<std::size_t>(steps_.comm().size));
  phase_ = Phase::comparing;
  steps_.allgather(&entry_, entries_.data(), sizeof entry_);
}

void CollectiveAccess::choose() noexcept {
  if (steps_.error() != MPI_SUCCESS) {
    result_ = {0, lost_rank(steps_.error())};
    phase_ = Phase::over;
  } else if (wants_two_phases(entries_)) {
    two_phase_.emplace(access_, entries_, steps_);
    phase_ = Phase::two_phases;
  } else if (mine_) {
    agree({0, mine_});
  } else {
    phase_ = Phase::locking;
  }
}

// Long transfers of nonblocking calls run in the file's thread.
bool CollectiveAccess::lock() noexcept {
  if (!steps_.reached([&] { return lock_.advance(); })) return false;
  if (lock_.failure()) {
    agree({0, lock_.failure()});
    return true;
  }
  phase_ = Phase::moving;
  if (steps_.in_background() && access_.suits_thread())
    state_.thread.start(*this);
  else
    run();
  return true;
}

void CollectiveAccess::moved() noexcept {
  lock_.release();
  agree(access_.conclude(outcome_));
}

void CollectiveAccess::agree(TransferResult result) noexcept {
  result_ = std::move(result);
  phase_ = Phase::agreeing;
  agreement_.begin(steps_, result_.failure);
}

}  // namespace herald::mpi
