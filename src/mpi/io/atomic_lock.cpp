// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/io/atomic_lock.hpp"

namespace herald::mpi {

bool AtomicLock::advance() noexcept {
  engine::Engine& engine = runtime().engine();
  const p2p::PeerId owner = state_.coordinator.owner();
  if (phase_ == Phase::idle) {
    if (!state_.atomic) return true;
    if (state_.holds_lock) return false;  // for another access of this process
    state_.holds_lock = true;
    phase_ = Phase::asked;
    state_.coordinator.lock(exclusive_, granted_);
    engine.messages().send_posted();
  }
  if (phase_ == Phase::asked && granted_.answered) phase_ = Phase::held;
  if (phase_ == Phase::asked && engine.peers().is_gone(owner)) {
    state_.coordinator.abandon(granted_);
    state_.holds_lock = false;
    phase_ = Phase::ended;
    failure_ = lost_owner(state_);
  }
  return phase_ != Phase::asked;
}

void AtomicLock::release() noexcept {
  if (phase_ == Phase::held) {
    state_.coordinator.unlock();
    runtime().engine().messages().send_posted();
    state_.holds_lock = false;
  }
  phase_ = Phase::ended;
}

}  // namespace herald::mpi
