// SPDX-License-Identifier: BSD-3-Clause
// engine/time_slice.hpp: how long the kernel lets the calling thread run when others want its processor.
// The scheduler (EEVDF, Linux 6.12 and later) runs a woken thread before the running one if its slice is the
// shorter. A rank wakes often and runs briefly, so it asks for a short slice: on a machine that also does
// other work its messages then wait for microseconds instead of milliseconds. Its share of the time stays.
#pragma once
#include <sys/types.h>

#include <cstdint>

namespace herald::engine {

class TimeSlice {
 public:
  TimeSlice() noexcept = default;
  TimeSlice(const TimeSlice&) = delete;
  TimeSlice& operator=(const TimeSlice&) = delete;
  ~TimeSlice();  // gives the thread its former slice

  // For the calling thread and those that it starts later. Without effect on older kernels, for threads that
  // the user has put under another policy, and where the slice is as short already.
  void shorten() noexcept;

 private:
  pid_t thread_ = 0;
  std::uint64_t before_ns_ = 0;  // 0: not changed
};

}  // namespace herald::engine
