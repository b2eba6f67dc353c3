// SPDX-License-Identifier: BSD-3-Clause
// path/watch.hpp: several descriptors, and which of them have something to read: asked in one system call, or
// slept for. Each has a mark, a bit; several may have the same.
// Who sleeps for a short time, and is mostly woken before, pays for the kernel's timer twice, to set it and
// to take it back: some microseconds in a virtual machine. Here one timer stays set: it is among those
// that are slept on, is moved only to an earlier time, and ends a sleep too early now and then.
#pragma once
#include <poll.h>

#include <cstdint>
#include <vector>

#include "base/instant.hpp"

namespace herald::path {

class Watch {
 public:
  Watch() = default;
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  void add(int fd, std::uint32_t mark) noexcept;
  // The marks of those that can be read, without waiting; 0: none.
  std::uint32_t look() const noexcept;
  // Nobody asks or sleeps for a while: those with one of these marks are left to themselves, which saves the
  // kernel from telling us of each datagram that comes, before it does anything else with it.
  void pause(std::uint32_t marks) noexcept;
  // Before somebody asks or sleeps again.
  void resume() noexcept {
    if (paused_ != 0) [[unlikely]]
      take_back();
  }
  // The same, but sleeps until there is one, until about `until`, or for `longest`; 0, too, if it was too
  // early. One thread at a time.
  std::uint32_t sleep(Instant now, Instant until, Duration longest) noexcept;

 private:
  static constexpr int kMost = 16;  // that are told of at once

  std::uint32_t wait(Duration time) const noexcept;
  std::uint32_t poll(Duration time) const noexcept;
  bool set_timer(Instant at) noexcept;
  void take_back() noexcept;
  bool enlist(std::size_t place) noexcept;

  int epoll_ = -1;    // -1: the system has none for us; then poll does, dearer
  int timer_ = -1;    // -1: none; each sleep has its own time
  Instant set_to_{};  // 0: not; past: it has fired
  bool opened_ = false;
  std::uint32_t paused_ = 0;  // marks
  std::vector<pollfd> fds_;
  std::vector<std::uint32_t> marks_;  // by place in fds_
};

}  // namespace herald::path
