// SPDX-License-Identifier: BSD-3-Clause
#include "engine/waiter.hpp"

#include <sched.h>

#include <cerrno>
#include <cstring>

#include "base/fatal.hpp"
#include "base/trace.hpp"
#include "engine/clock.hpp"
#include "engine/engine.hpp"
#include "engine/processors.hpp"

namespace herald::engine {
namespace {

constexpr Duration kLongestBlock = milliseconds(100);  // a safety net: peers with news ring
constexpr Duration kPolledBlock = milliseconds(1);

}  // namespace

void Waiter::open(path::Doorbell& doorbell, const WaitConfig& config, bool only_remote) noexcept {
  doorbell_ = &doorbell;
  policy_ = WaitPolicy(config);
  only_remote_ = only_remote;
  // A rank that blocks often pays for the kernel's barrier each time; without local peers nobody rings.
  if (policy_.has_processor() && !only_remote) doorbell.use_membarrier();
}

void Waiter::open_sockets(Net& net) noexcept {
  net_ = &net;
  if (doorbell_->descriptor() < 0 && !bell_event_.open(*doorbell_))
    fatal("no descriptor to wake this process by: eventfd: %s", std::strerror(errno));
  net.set_bell(doorbell_->descriptor());
}

Duration Waiter::longest_block() const noexcept {
  return pollers_ != 0 || doorbell_->is_missed() ? kPolledBlock : kLongestBlock;
}

std::uint32_t Waiter::where() const noexcept {
  return net_ != nullptr ? path::Doorbell::kOnDescriptor : path::Doorbell::kOnFutex;
}

Instant Waiter::wait_turn() noexcept {
  const std::uint64_t before = engine_.transport().activity();
  if (engine_.progress()) {
    policy_.on_progress();
    return {};
  }
  ++waiting_;
  policy_.begin(read_clock());
  Stepped last = Stepped::nothing;
  while (last == Stepped::nothing) last = step(before);
  --waiting_;
  return last == Stepped::blocked ? block_end_ : Instant{};
}

Waiter::Stepped Waiter::step(std::uint64_t before) noexcept {
  const Instant now = read_clock();
  const WaitFacts facts{.polls_sockets = net_ != nullptr,
                        .only_remote = only_remote_,
                        .in_collective = !engine_.hooks().empty(),
                        .may_spin = waiting_ == 1};
  const WaitStep next = policy_.next(now, facts);
  switch (next.action) {
    case WaitAction::spin:
      if (!spin(before, next.turns)) return Stepped::nothing;
      break;
    case WaitAction::yield:
      give_processor();
      policy_.on_yielded(now, read_clock());
      if (net_ != nullptr) net_->look();
      if (engine_.transport().activity() == before && !engine_.progress()) return Stepped::nothing;
      break;
    case WaitAction::block:
      block();
      block_end_ = read_clock();
      policy_.on_blocked(now, block_end_, engine_.transport().activity() != before);
      return Stepped::blocked;
  }
  policy_.on_progress();
  return Stepped::moved;
}

bool Waiter::spin(std::uint64_t before, int turns) noexcept {
  if (net_ != nullptr) net_->set_spinning(true);
  for (; turns != 0 && engine_.transport().activity() == before; --turns) {
    if (net_ == nullptr) relax();  // a system call is as good
    lock_.give_way();
    if (engine_.transport().activity() == before) engine_.progress();
  }
  const bool moved = engine_.transport().activity() != before;
  if (net_ != nullptr) {
    net_->set_spinning(false);
    if (moved && !polling_) net_->on_spun();
  }
  return moved;
}

void Waiter::give_processor() noexcept {
  const std::uint32_t depth = lock_.give_up();
  ::sched_yield();
  lock_.take_back(depth);
}

bool Waiter::yield() noexcept {
  if (policy_.yields_are_long()) return false;
  give_processor();
  return true;
}

// A lost wake-up cannot happen: the thread announces that it blocks, then looks once more; a peer writes
// first and looks for the announcement then. The lock is held until the doorbell has been read.
void Waiter::block() noexcept {
  if (polling_) {
    if (engine_.progress_thread().relisten()) return;
    return block_inside();
  }
  std::uint32_t seen = 0;
  if (!prepare(seen)) return;
  ++blocked_;
  process_trace.add(TraceEvent::sleep_begin);
  block(seen, longest_block());
  process_trace.add(TraceEvent::sleep_end);
  --blocked_;
  after_block();
}

// Without local peers and hooks there is no memory to look at: a socket that is readable already ends the
// block.
bool Waiter::prepare(std::uint32_t& seen) noexcept {
  seen = doorbell_->before_sleep(where());
  if (only_remote_ && engine_.hooks().empty()) return true;
  engine_.transport().request_space();
  if (!engine_.progress()) return true;
  if (blocked_ == 0) doorbell_->awake();
  return false;
}

void Waiter::block(std::uint32_t seen, Duration longest) noexcept {
  polling_ = net_ != nullptr;
  const Instant due = net_ != nullptr ? net_->prepare_to_sleep() : Instant{};
  const Instant now = net_ != nullptr ? read_clock() : Instant{};
  Net::Woken why;
  const std::uint32_t depth = lock_.give_up();
  if (net_ != nullptr)
    why = net_->sleep(now, due, longest);
  else
    doorbell_->sleep(seen, longest.ns);
  lock_.take_back(depth);
  polling_ = false;
  if (net_ != nullptr) net_->woke(why);
  if (why.bell) doorbell_->drain();
}

// Another thread may now block on the sockets.
void Waiter::after_block() noexcept {
  if (net_ != nullptr && blocked_ != 0) inner_doorbell_.ring();
  if (net_ != nullptr || blocked_ == 0) doorbell_->awake();
  engine_.peers().check_local();
  engine_.on_long_wait(read_clock());
}

void Waiter::block_inside() noexcept {
  const std::uint32_t seen = inner_doorbell_.before_sleep();
  ++blocked_;
  const std::uint32_t depth = lock_.give_up();
  inner_doorbell_.sleep(seen, longest_block().ns);
  lock_.take_back(depth);
  --blocked_;
}

}  // namespace herald::engine
