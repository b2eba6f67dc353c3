// SPDX-License-Identifier: BSD-3-Clause
// mpi/coll_wait.cpp: how a run waits for what other ranks do in shared memory: first the waiting call looks
// itself, then the turns of the engine do.
#include <algorithm>
#include <utility>
#include <vector>

#include "mpi/coll_run.hpp"

namespace herald::mpi {
namespace {

// How often a blocking call looks before it takes turns of the engine: about two microseconds; or lets others
// run, where ranks outnumber processors.
constexpr int kSpinPolls = 200, kYieldPolls = 6;
// And before it looks whether those it waits for sleep: by then its post has left the processor.
constexpr int kPollsBeforeRing = 20;
// And how often the start of a persistent one does, which the others usually start at the same time.
constexpr int kStartPolls = 40;
// Those with steps that wait for other ranks. In a turn of the engine one that ends leaves a null.
std::vector<Execution*> listed;
bool in_turn = false, has_hook = false;

}  // namespace

void Execution::start(Request& request) noexcept {
  request_ = &request;
  // The user holds the request until this returns, so this object stays even if it is done.
  spinning_ = true;
  begin();
  for (int polls = persistent_ && runtime().engine().may_spin() ? kStartPolls : 0;
       polls != 0 && !done_ && waiting_count_ != 0; --polls)
    poll(false);
  spinning_ = false;
  if (channel_ != nullptr) channel_->ring_wanted();
  if (!done_ && waiting_count_ != 0) enlist();
}

// Another thread may take a turn of the engine meanwhile, and end the run.
void Execution::look_out() noexcept {
  spinning_ = true;
  if (channel_ != nullptr) {
    if (runtime().engine().may_spin())
      poll_a_while();
    else
      poll_and_yield();
  }
  spinning_ = false;
}

// A peer that is about to answer does so within this.
void Execution::poll_a_while() noexcept {
  for (int polls = 0; polls < kSpinPolls && !done_ && waiting_count_ != 0; ++polls) {
    poll(false);
    if (polls == kPollsBeforeRing) channel_->ring_wanted();
  }
  channel_->ring_wanted();
}

void Execution::poll_and_yield() noexcept {
  channel_->ring_wanted();
  for (int yields = 0; yields < kYieldPolls && !done_ && waiting_count_ != 0; ++yields) {
    if (!runtime().engine().yield()) return;
    poll(false);
    channel_->ring_wanted();
  }
}

bool Execution::poll(bool look_for_lost) noexcept {
  bool moved = false, flowed = false;
  for (std::uint32_t i = 0; i < waiting_count_;) {
    Waiting& waiting = waiting_[i];
    const coll::StepId id = waiting.id;
    const coll::Step& step = cached_->plan.steps[id];
    int error = MPI_SUCCESS;
    const std::uint64_t before = waiting.progress;
    bool done = channel_->attempt(number_, step, places_, {op_, datatype_}, waiting.progress, error);
    flowed = flowed || waiting.progress != before;
    if (!done && look_for_lost && channel_->is_lost(number_, step)) {
      done = true;
      // What it did before it left counts.
      if (!channel_->attempt(number_, step, places_, {op_, datatype_}, waiting.progress, error))
        error = MPI_ERR_PROC_ABORTED;
    }
    note(error);
    if (!done) {
      ++i;
      continue;
    }
    moved = true;
    waiting_[i] = waiting_[--waiting_count_];
    run_.complete(id);
  }
  if (moved) {
    advance();
    return true;
  }
  if (flowed) channel_->ring_wanted();
  return flowed;
}

bool Execution::poll_all(void*) noexcept {
  bool moved = false;
  const bool look_for_lost = runtime().engine().gone_count() != 0;
  in_turn = true;
  SharedChannel::new_turn();
  for (std::size_t i = 0; i < listed.size(); ++i)
    if (listed[i] != nullptr && !listed[i]->channel_->is_known_full(listed[i]->number_))
      moved = listed[i]->poll(look_for_lost) || moved;
  in_turn = false;
  std::erase(listed, nullptr);
  if (listed.empty()) {
    runtime().engine().remove_hook(poll_all, nullptr);
    has_hook = false;
  }
  if (moved) runtime().engine().wake_waiters();
  return moved;
}

void Execution::enlist() noexcept {
  if (listed_) return;
  listed_ = true;
  channel_->watch();
  if (!std::exchange(has_hook, true)) runtime().engine().add_hook(poll_all, nullptr);
  listed.push_back(this);
}

void Execution::delist() noexcept {
  if (!listed_) return;
  listed_ = false;
  channel_->unwatch();
  const auto at = std::find(listed.begin(), listed.end(), this);
  if (in_turn)
    *at = nullptr;
  else
    listed.erase(at);
}

}  // namespace herald::mpi
