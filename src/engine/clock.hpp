// SPDX-License-Identifier: BSD-3-Clause
// engine/clock.hpp: the clock of the process. Rooms below take the time as an argument.
#pragma once
#include <ctime>

#include "base/instant.hpp"

namespace herald::engine {

inline Instant read_clock(clockid_t clock = CLOCK_MONOTONIC) noexcept {
  timespec time{};
  (void)::clock_gettime(clock, &time);
  return {std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec};
}

}  // namespace herald::engine
