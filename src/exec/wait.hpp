// SPDX-License-Identifier: BSD-3-Clause
// exec/wait.hpp: a blocking call makes progress until its condition holds.
#pragma once
#include "base/trace.hpp"
#include "engine/engine.hpp"

namespace herald::exec {

// The lock is held on entry and on return.
// `describe(ShownWait&)` adds what the call waits for to the rank's page, when the wait gets long.
template <class Done, class Describe>
void wait_until(engine::Engine& engine, Done done, Describe describe) noexcept {
  if (done()) return;
  process_trace.add(TraceEvent::wait_begin);
  engine::LongWait wait(engine.state());
  do {
    if (const Instant woken = engine.wait_turn(); woken.ns != 0) [[unlikely]]
      wait.on_blocked(woken, describe);
  } while (!done());
  process_trace.add(TraceEvent::wait_end);
}
template <class Done>
void wait_until(engine::Engine& engine, Done done) noexcept {
  wait_until(engine, done, [](ShownWait&) {});
}

}  // namespace herald::exec
