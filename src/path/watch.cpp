// SPDX-License-Identifier: BSD-3-Clause
#include "path/watch.hpp"

#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <span>
#include <utility>

#include "base/fd.hpp"

#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441  // the same on all architectures
#endif

namespace herald::path {
namespace {

// A sleep shorter than this has its own timeout: an armed timer would wake up for nothing too often.
constexpr Duration kSoon = milliseconds(1);

timespec to_timespec(Duration time) noexcept {
  return {.tv_sec = static_cast<time_t>(time.ns / 1'000'000'000),
          .tv_nsec = static_cast<long>(time.ns % 1'000'000'000)};
}

std::uint32_t marks_of(std::span<const epoll_event> events, long count) noexcept {
  std::uint32_t marks = 0;
  for (long i = 0; i < count; ++i) marks |= events[static_cast<std::size_t>(i)].data.u32;
  return marks;
}

}  // namespace

Watch::~Watch() {
  if (epoll_ >= 0) ::close(epoll_);
  if (timer_ >= 0) ::close(timer_);
}

void Watch::add(int fd, std::uint32_t mark) noexcept {
  if (fd < 0) return;
  if (!std::exchange(opened_, true)) {
    epoll_ = safe_fd(::epoll_create1(EPOLL_CLOEXEC));
    if (epoll_ >= 0) timer_ = safe_fd(::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u32 = 0;
    if (timer_ >= 0 && ::epoll_ctl(epoll_, EPOLL_CTL_ADD, timer_, &event) != 0) {
      ::close(timer_);
      timer_ = -1;
    }
  }
  fds_.push_back({.fd = fd, .events = POLLIN, .revents = 0});
  marks_.push_back(mark);
  if (epoll_ < 0 || enlist(fds_.size() - 1)) return;
  ::close(epoll_);
  epoll_ = -1;
}

bool Watch::enlist(std::size_t index) noexcept {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u32 = marks_[index];
  return ::epoll_ctl(epoll_, EPOLL_CTL_ADD, fds_[index].fd, &event) == 0;
}

void Watch::pause(std::uint32_t marks) noexcept {
  if (epoll_ < 0) return;
  resume();
  paused_ = marks;
  for (std::size_t i = 0; i < fds_.size(); ++i)
    if ((marks_[i] & marks) != 0) (void)::epoll_ctl(epoll_, EPOLL_CTL_DEL, fds_[i].fd, nullptr);
}

void Watch::add_paused() noexcept {
  const std::uint32_t marks = std::exchange(paused_, 0);
  for (std::size_t i = 0; i < fds_.size() && epoll_ >= 0; ++i) {
    if ((marks_[i] & marks) == 0 || enlist(i) || errno == EEXIST) continue;
    ::close(epoll_);
    epoll_ = -1;
  }
}

// Direct system calls: functions of the C library are cancellation points, which cost more than the call.
std::uint32_t Watch::look() const noexcept {
  if (epoll_ < 0) return poll({});
  std::array<epoll_event, kMost> events;
  return marks_of(events, ::syscall(SYS_epoll_pwait, epoll_, events.data(), kMost, 0, nullptr, 0));
}

// The time 0 disarms it and clears an earlier expiry.
bool Watch::set_timer(Instant at) noexcept {
  itimerspec when{};
  when.it_value = to_timespec({at.ns});
  if (::timerfd_settime(timer_, TFD_TIMER_ABSTIME, &when, nullptr) != 0) return false;
  set_to_ = at;
  return true;
}

std::uint32_t Watch::sleep(Instant now, Instant until, Duration longest) noexcept {
  const Duration left = until - now;
  if (left.ns <= 0) return look();
  if (epoll_ < 0 || timer_ < 0) return wait(std::min(left, longest));
  const bool set = set_to_ > now, covered = left >= longest || (set && set_to_ <= until);
  const bool fired = !set && set_to_ != Instant{};
  if (fired || (!covered && left >= kSoon))
    if (!set_timer(!covered && left >= kSoon ? until : Instant{})) return wait(std::min(left, longest));
  if (!covered && left < kSoon) return wait(left);
  std::array<epoll_event, kMost> events;
  const auto ms = static_cast<int>(std::max<std::int64_t>(longest.ns / 1'000'000, 1));
  return marks_of(events, ::syscall(SYS_epoll_pwait, epoll_, events.data(), kMost, ms, nullptr, 0));
}

std::uint32_t Watch::wait(Duration time) const noexcept {
  std::array<epoll_event, kMost> events;
  const timespec limit = to_timespec(time);
  const long count =
      epoll_ < 0 ? -1 : ::syscall(SYS_epoll_pwait2, epoll_, events.data(), kMost, &limit, nullptr, 0);
  const bool has_none = epoll_ < 0 || (count < 0 && errno == ENOSYS);  // before Linux 5.11
  return has_none ? poll(time) : marks_of(events, count);
}

std::uint32_t Watch::poll(Duration time) const noexcept {
  std::array<pollfd, kMost> fds{};
  nfds_t count = 0;
  for (const pollfd& fd : fds_)
    if (count < fds.size()) fds[count++] = fd;
  const timespec limit = to_timespec(time);
  if (::ppoll(fds.data(), count, &limit, nullptr) <= 0) return 0;
  std::uint32_t marks = 0;
  for (nfds_t i = 0; i < count; ++i)
    if (fds[i].revents != 0) marks |= marks_[i];
  return marks;
}

}  // namespace herald::path
