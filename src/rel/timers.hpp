// SPDX-License-Identifier: BSD-3-Clause
// rel/timers.hpp: one deadline for each connection that has any, and what is due then.
#pragma once
#include <algorithm>

#include "rel/receiver.hpp"
#include "rel/sender.hpp"

namespace herald::rel {

class Timers {
 public:
  Timers(Sender& sender, Receiver& receiver) noexcept : sender_(sender), receiver_(receiver) {}

  void rearm(Connection& ch, Instant now) noexcept {
    if (!ch.links.is_started()) return;
    sender_.update_timers(ch, now);
    const Instant at = std::min(Receiver::deadline(ch.rx), sender_.deadline(ch));
    if (at == kNever) {
      heap_.remove(ch);
    } else {
      heap_.set(ch, std::max(at, now + kLeastStep));
    }
  }
  // The same, before the next look at a deadline: several changes of a connection cost one rearm().
  void rearm_later(Connection& ch, Instant now) noexcept {
    if (changed_ != &ch) flush();
    changed_ = &ch;
    changed_at_ = now;
  }
  void flush() noexcept {
    if (changed_ != nullptr && !changed_->gone) rearm(*changed_, changed_at_);
    changed_ = nullptr;
  }
  void remove(Connection& ch) noexcept { heap_.remove(ch); }

  // After flush():
  Instant next() const noexcept { return heap_.empty() ? kNever : heap_.top().at; }
  Connection* next_due(Instant now) const noexcept { return next() <= now ? heap_.top().who : nullptr; }

  void serve(Connection& ch, Instant now) noexcept {
    receiver_.on_deadline(ch, now);
    sender_.on_deadline(ch, now);
    if (ch.rx.redeliver_at <= now) receiver_.redeliver(ch, now);
  }
  // Postpones what may wait because nobody called for a while; false: nothing may.
  bool defer(Connection& ch, Instant now, Duration time) noexcept {
    const bool ack = receiver_.defer(ch, now, time);
    return sender_.defer(ch, now, time) || ack;
  }
  // Packets that the listener did not take are due at once.
  void redeliver_now(Connection& ch) noexcept {
    ch.rx.redeliver_at = Instant{};
    heap_.set(ch, Instant{});
  }

 private:
  static constexpr Duration kLeastStep = microseconds(1);  // between two services of a deadline

  Sender& sender_;
  Receiver& receiver_;
  DeadlineHeap<Connection> heap_;
  Connection* changed_ = nullptr;  // its deadline may have changed ...
  Instant changed_at_{};           // ... since then
};

}  // namespace herald::rel
