// SPDX-License-Identifier: BSD-3-Clause
// engine/home.hpp: a processor for each rank where ranks outnumber them. The kernel wakes a rank where its
// waker runs and evens that out within many milliseconds only; ranks that wait for each other all the time
// then share one processor while another stands idle. So each has a home, and goes there now and then when it
// waits elsewhere. It may still run anywhere: the kernel moves it when it has a reason. If somebody at home
// keeps the processor for long, home is left alone for longer and longer.
#pragma once
#include <cstdint>
#include <span>

#include "base/instant.hpp"
#include "path/shm/segment.hpp"

namespace herald::engine {

// The home of the rank at `me`, as many on each processor. -1: none, because there is a processor for each,
// or because somebody has said where they may run. `alone`: each is on a host of its own, and neighbours are
// put on different processors: one takes what has come while the other sends. Otherwise they are together.
int choose_home(std::span<const path::CpuMask> masks, std::size_t me, bool alone) noexcept;

class Home {
 public:
  void set(int cpu) noexcept { cpu_ = cpu; }
  // For a thread that waits and lets others run: is_time() tells now and then that it is worth a look at the
  // clock; then look() takes it home if it is elsewhere.
  bool is_time() noexcept { return cpu_ >= 0 && ++asked_ % kAskedPerLook == 0; }
  void look(Instant now) noexcept;
  // It came home lately: letting others run is to be timed, to see whether that was good.
  bool is_new() const noexcept { return watched_ != 0; }
  void judge(Instant now, Duration others_ran) noexcept;

 private:
  static constexpr std::uint32_t kAskedPerLook = 4;
  static constexpr std::uint32_t kWatched = 256;
  static constexpr Duration kFirst = milliseconds(1), kLeastAfterTrouble = milliseconds(1000),
                            kLongest = milliseconds(64'000);
  static constexpr Duration kMuch = milliseconds(1);  // who yields does not take so long
  static constexpr std::int64_t kPeace = 8;           // times as long at home: all is well
  int cpu_ = -1;
  std::uint32_t asked_ = 0, watched_ = 0;
  Duration pause_ = kFirst;
  Instant next_{}, went_{};
};

}  // namespace herald::engine
