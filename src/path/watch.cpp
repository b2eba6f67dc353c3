// SPDX-License-Identifier: BSD-3-Clause
#include "path/watch.hpp"

#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <ctime>
#include <span>
#include <utility>

#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441  // the same on all machines
#endif

namespace herald::path {
namespace {

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
}

void Watch::add(int fd, std::uint32_t mark) noexcept {
  if (fd < 0) return;
  if (!std::exchange(opened_, true)) epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
  fds_.push_back({.fd = fd, .events = POLLIN, .revents = 0});
  marks_.push_back(mark);
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u32 = mark;
  if (epoll_ < 0 || ::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) == 0) return;
  ::close(epoll_);
  epoll_ = -1;
}

// Not the C library's calls, at which a thread may be cancelled: that costs more than they do.
std::uint32_t Watch::look() const noexcept {
  if (epoll_ < 0) return poll({});
  std::array<epoll_event, kMost> events;
  return marks_of(events, ::syscall(SYS_epoll_pwait, epoll_, events.data(), kMost, 0, nullptr, 0));
}

std::uint32_t Watch::sleep(Duration time) const noexcept {
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
