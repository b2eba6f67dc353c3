// SPDX-License-Identifier: BSD-3-Clause
// mpi/coll/feedback.hpp: what the durations of blocking collectives tell about the network and the
// algorithms. All ranks compare at the same call, and choose anew from the same call on.
#pragma once
#include <cstdint>

#include "base/instant.hpp"
#include "mpi/core/objects.hpp"

namespace herald::mpi {

struct Timed {
  std::uint64_t bytes = 0;  // Plan::timed_bytes
  std::uint32_t trial = 0;  // Plan::trial
  explicit operator bool() const noexcept { return bytes != 0 || trial != 0; }
};

void note_run(Comm& comm, Duration took, const Timed& timed) noexcept;

}  // namespace herald::mpi
