// SPDX-License-Identifier: BSD-3-Clause
// path/watch.hpp: several descriptors, and which of them have something to read: asked in one system call, or
// slept for. Each has a mark, a bit; several may have the same.
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
  // The same, but sleeps until there is one or the time is over. Changes nothing: any thread may do it.
  std::uint32_t sleep(Duration time) const noexcept;

 private:
  static constexpr int kMost = 16;  // that are told of at once

  std::uint32_t poll(Duration time) const noexcept;

  int epoll_ = -1;  // -1: the system has none for us; then poll does, dearer
  bool opened_ = false;
  std::vector<pollfd> fds_;
  std::vector<std::uint32_t> marks_;  // by place in fds_
};

}  // namespace herald::path
