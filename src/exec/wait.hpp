// SPDX-License-Identifier: BSD-3-Clause
// exec/wait.hpp: a blocking call makes progress until its condition holds.
#pragma once
#include "base/trace.hpp"
#include "engine/engine.hpp"

namespace herald::exec {

// The lock is held on entry and on return.
template <class Done>
void wait_until(engine::Engine& engine, Done done) noexcept {
  if (done()) return;
  process_trace.add(TraceEvent::wait_begin);
  do engine.wait_turn();
  while (!done());
  process_trace.add(TraceEvent::wait_end);
}

}  // namespace herald::exec
