// SPDX-License-Identifier: BSD-3-Clause
// path/watch.hpp: a set of descriptors (epoll): which of them are readable, without or with blocking. Each
// has a mark, a bit; several may share it. A short sleep that usually ends early pays for arming and
// disarming a kernel timer each time: some microseconds in a virtual machine. Here one timerfd stays armed
// among the descriptors: it is moved only to an earlier time, and now and then ends a sleep too early.
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
  // The marks of readable descriptors, without blocking; 0: none.
  std::uint32_t look() const noexcept;
  // The caller will not look or sleep for a while: descriptors with one of these marks leave the set, which
  // saves the kernel a wake-up call for each datagram.
  void pause(std::uint32_t marks) noexcept;
  // Before the next look() or sleep().
  void resume() noexcept {
    if (paused_ != 0) [[unlikely]]
      add_paused();
  }
  // Blocks until a descriptor is readable, until about `until`, or for `longest`. Also returns 0 if it woke
  // up too early. One thread at a time.
  std::uint32_t sleep(Instant now, Instant until, Duration longest) noexcept;

 private:
  static constexpr int kMost = 16;  // events per call

  std::uint32_t wait(Duration time) const noexcept;
  std::uint32_t poll(Duration time) const noexcept;
  bool set_timer(Instant at) noexcept;
  void add_paused() noexcept;
  bool enlist(std::size_t index) noexcept;

  int epoll_ = -1;    // -1: not available; ppoll() is used, at a higher cost
  int timer_ = -1;    // -1: not available; each sleep has its own timeout
  Instant set_to_{};  // 0: disarmed; in the past: it has fired
  bool opened_ = false;
  std::uint32_t paused_ = 0;  // marks
  std::vector<pollfd> fds_;
  std::vector<std::uint32_t> marks_;  // by index in fds_
};

}  // namespace herald::path
