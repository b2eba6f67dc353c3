// SPDX-License-Identifier: BSD-3-Clause
#include "engine/time_slice.hpp"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace herald::engine {
namespace {

constexpr std::uint64_t kShortSliceNs = 100'000;  // the shortest that the kernel grants

// The kernel's struct sched_attr, as far as it is needed here. C libraries before 2.41 have none.
struct Scheduling {
  std::uint32_t size;
  std::uint32_t policy;
  std::uint64_t flags;
  std::int32_t nice;
  std::uint32_t priority;
  std::uint64_t runtime;  // of an ordinary thread: its slice, in ns
  std::uint64_t deadline, period;
};

bool read(pid_t thread, Scheduling& now) noexcept {
  now = {};
  return ::syscall(SYS_sched_getattr, thread, &now, sizeof now, 0) == 0 && now.policy == SCHED_OTHER;
}

bool write(pid_t thread, Scheduling& now, std::uint64_t slice_ns) noexcept {
  now.size = sizeof now;
  now.runtime = slice_ns;
  return ::syscall(SYS_sched_setattr, thread, &now, 0) == 0;
}

}  // namespace

TimeSlice::~TimeSlice() {
  Scheduling now;
  if (before_ns_ != 0 && read(thread_, now)) (void)write(thread_, now, before_ns_);
}

void TimeSlice::shorten() noexcept {
  Scheduling now;
  thread_ = static_cast<pid_t>(::syscall(SYS_gettid));
  if (before_ns_ != 0 || !read(thread_, now) || now.runtime <= kShortSliceNs) return;
  const std::uint64_t before = now.runtime;
  if (write(thread_, now, kShortSliceNs)) before_ns_ = before;
}

}  // namespace herald::engine
