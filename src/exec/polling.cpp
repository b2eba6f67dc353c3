// SPDX-License-Identifier: BSD-3-Clause
// exec/polling.cpp: how a run waits for what other ranks do in shared memory: first the waiting call polls,
// then the turns of the engine do.
#include <algorithm>
#include <utility>
#include <vector>

#include "exec/runner.hpp"

namespace herald::exec {
namespace {

// How often a blocking call polls before it takes turns of the engine: about two microseconds; or yields its
// processor, where ranks outnumber processors.
constexpr int kSpinPolls = 200, kYieldPolls = 6;
// And before it checks whether peers sleep: by then its post has left the processor.
constexpr int kPollsBeforeRing = 20;
// And how often the start of a persistent run polls: other ranks usually start it at the same time.
constexpr int kStartPolls = 40;
// Runs with steps that wait for other ranks. A run that ends in a turn of the engine leaves a null.
std::vector<Runner*> listed;
bool in_turn = false, has_hook = false;

}  // namespace

void Runner::start(Callback then) noexcept {
  then_ = then;
  polls_ = true;
  begin();
  for (int polls = matching_.persistent && team_->engine().may_spin() ? kStartPolls : 0;
       polls != 0 && !done_ && waiting_count_ != 0; --polls)
    poll(false);
  polls_ = false;
  if (channel_ != nullptr) channel_->ring_noted();
  if (!done_ && waiting_count_ != 0) enlist();
}

// Another thread may take a turn of the engine meanwhile, and end the run.
void Runner::poll_briefly() noexcept {
  if (channel_ == nullptr) return;
  polls_ = true;
  if (team_->engine().may_spin())
    poll_and_spin();
  else
    poll_and_yield();
  polls_ = false;
}

void Runner::poll_and_spin() noexcept {
  for (int polls = 0; polls < kSpinPolls && !done_ && waiting_count_ != 0; ++polls) {
    poll(false);
    if (polls == kPollsBeforeRing) channel_->ring_noted();
  }
  channel_->ring_noted();
}

void Runner::poll_and_yield() noexcept {
  channel_->ring_noted();
  for (int yields = 0; yields < kYieldPolls && !done_ && waiting_count_ != 0; ++yields) {
    if (!team_->engine().waiter().yield()) return;
    poll(false);
    channel_->ring_noted();
  }
}

bool Runner::poll(bool look_for_lost) noexcept {
  bool moved = false, flowed = false;
  for (std::uint32_t i = 0; i < waiting_count_;) {
    WaitingStep& waiting = block_.waiting[i];
    const coll::StepId id = waiting.id;
    const coll::Step& step = cached_->plan.steps[id];
    const std::uint64_t before = waiting.progress;
    bool done = attempt(step, waiting.progress);
    flowed = flowed || waiting.progress != before;
    if (!done && look_for_lost && channel_->is_lost(number_, step)) {
      done = true;
      // The rank may have done its part before it left.
      if (!attempt(step, waiting.progress)) note(Status::peer_lost);
    }
    if (!done) {
      ++i;
      continue;
    }
    moved = true;
    block_.waiting[i] = block_.waiting[--waiting_count_];
    run_.complete(id);
  }
  if (moved) {
    advance();
    return true;
  }
  if (flowed) channel_->ring_noted();
  return flowed;
}

bool Runner::poll_listed(void* engine_of_all) noexcept {
  auto& engine = *static_cast<engine::Engine*>(engine_of_all);
  bool moved = false;
  const bool look_for_lost = engine.peers().gone_count() != 0;
  in_turn = true;
  SharedChannel::new_turn();
  for (std::size_t i = 0; i < listed.size(); ++i)
    if (listed[i] != nullptr && !listed[i]->channel_->is_known_full(listed[i]->number_))
      moved = listed[i]->poll(look_for_lost) || moved;
  in_turn = false;
  std::erase(listed, nullptr);
  if (listed.empty()) {
    engine.hooks().remove(poll_listed, &engine);
    has_hook = false;
  }
  if (moved) engine.wake_waiters();
  return moved;
}

void Runner::enlist() noexcept {
  if (listed_) return;
  listed_ = true;
  channel_->watch();
  if (!std::exchange(has_hook, true)) team_->engine().hooks().add(poll_listed, &team_->engine());
  listed.push_back(this);
}

void Runner::delist() noexcept {
  if (!listed_) return;
  listed_ = false;
  channel_->unwatch();
  const auto at = std::find(listed.begin(), listed.end(), this);
  if (in_turn)
    *at = nullptr;
  else
    listed.erase(at);
}

}  // namespace herald::exec
