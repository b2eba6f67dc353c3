// SPDX-License-Identifier: BSD-3-Clause
#include "engine/home.hpp"

#include <sched.h>

#include <algorithm>

#include "engine/spin.hpp"

namespace herald::engine {
namespace {

int nth(const path::CpuMask& mask, int n) noexcept {
  for (std::size_t i = 0; i < mask.size() * 64; ++i)
    if ((mask[i / 64] >> (i % 64) & 1) != 0 && n-- == 0) return static_cast<int>(i);
  return -1;
}

}  // namespace

int choose_home(std::span<const path::CpuMask> masks, std::size_t me, bool alone) noexcept {
  const path::CpuMask& own = masks[me];
  const auto cpus = static_cast<int>(count_cpus(own));
  int ranks = 0, place = 0;
  for (std::size_t i = 0; i < masks.size(); ++i) {
    if (count_cpus(masks[i]) == 0) continue;  // on another host
    if (masks[i] != own) return -1;
    if (i < me) ++place;
    ++ranks;
  }
  if (cpus < 2 || ranks <= cpus) return -1;
  return nth(own, alone ? place % cpus : static_cast<int>(std::int64_t{place} * cpus / ranks));
}

void Home::look(Instant now) noexcept {
  if (now < next_) return;
  next_ = now + pause_;
  if (::sched_getcpu() == cpu_) {
    if (now - went_ > Duration{kPeace * pause_.ns}) pause_ = kFirst;
    return;
  }
  went_ = now;
  watched_ = kWatched;
  cpu_set_t before, only;
  if (::sched_getaffinity(0, sizeof before, &before) != 0 || !CPU_ISSET(cpu_, &before)) return;
  CPU_ZERO(&only);
  CPU_SET(cpu_, &only);
  if (::sched_setaffinity(0, sizeof only, &only) == 0) (void)::sched_setaffinity(0, sizeof before, &before);
}

void Home::judge(Instant now, Duration others_ran) noexcept {
  --watched_;
  if (others_ran < kMuch) return;
  watched_ = 0;
  pause_ = std::clamp(Duration{pause_.ns * 4}, kLeastAfterTrouble, kLongest);
  next_ = now + pause_;
}

}  // namespace herald::engine
