// SPDX-License-Identifier: BSD-3-Clause
#include "engine/foreign_memory.hpp"

#include <unistd.h>

#include <cstdio>

#include "engine/config.hpp"
#include "engine/engine.hpp"

namespace herald::engine {
namespace {

constexpr const char* kNoCard = "-";

}  // namespace

// Threads that block on the old doorbell look again, and find the new one.
bool ForeignMemory::make_inbox() {
  std::string why;
  std::unique_ptr<path::ShmPath> shm = path::ShmPath::open(shm_config(rank_, size_, knobs_), why);
  const std::string own = shm ? shm->card() : "";
  if (!shm || !shm->attach_all({&own, 1}, why)) {
    if (knobs_.verbose > 0)
      std::fprintf(stderr, "herald: no shared memory with other jobs: %s\n", why.c_str());
    return false;
  }
  engine_.shm_ = std::move(shm);
  engine_.local_.attach(*engine_.shm_, 0);
  engine_.peers_.use(*engine_.shm_);
  engine_.memory_.open(*engine_.shm_, engine_.node_.core(), rank_, size_, knobs_.tuning.alloc_bytes);
  engine_.waiter_.wake();
  engine_.waiter_.set_doorbell(engine_.local_.doorbell());
  return true;
}

void ForeignMemory::open() {
  if (std::exchange(open_, true)) return;
  if (engine_.shm_ || size_ > 1 || ::access("/proc/self/fd", X_OK) != 0) return;
  if (knobs_.path.empty() || list_has(knobs_.path, "shm")) (void)make_inbox();
}

std::string ForeignMemory::card() const {
  const std::string text = engine_.shm_ ? engine_.shm_->foreign_card() : "";
  return text.empty() ? kNoCard : text;
}

bool ForeignMemory::attach(p2p::PeerId peer, const std::string& card) {
  return engine_.shm_ && card != kNoCard && engine_.shm_->attach_foreign(peer, card);
}

void ForeignMemory::use(p2p::PeerId peer, p2p::PeerId own_id) {
  engine_.local_.add(peer, own_id);
  engine_.waiter_.on_local_peer();
  if (engine_.memory_.mover() != nullptr && engine_.shm_->can_reach(peer))
    engine_.node_.core().direct().add_peer(peer, split_copies_in(engine_.shm_->side_of(peer)), own_id);
}

void ForeignMemory::forget(p2p::PeerId peer) noexcept {
  if (!engine_.shm_ || !engine_.shm_->is_attached(peer)) return;
  const std::int64_t ring = engine_.local_.remove(peer);
  engine_.memory_.forget(peer);
  engine_.shm_->detach_foreign(peer, ring);
}

}  // namespace herald::engine
