// SPDX-License-Identifier: BSD-3-Clause
// launch/poller.hpp: the descriptors that mpiexec waits for, each with a tag, a rank and a stream.
#pragma once
#include <sys/epoll.h>

#include <array>
#include <cstdint>
#include <span>

namespace herald::launch {

enum class Tag : unsigned { signals, pmi, output, sink, input_source, input_target, upstream, spawned };

struct Ready {
  unsigned events;
  Tag tag;
  int rank;
  int which;  // 0: standard output, 1: standard error
};

class Poller {
 public:
  Poller();  // throws std::runtime_error
  ~Poller();
  Poller(const Poller&) = delete;
  Poller& operator=(const Poller&) = delete;

  void watch(int fd, unsigned events, Tag tag, int rank = 0, int which = 0);
  void unwatch(int fd);
  // Valid until the next call. -1: no limit.
  std::span<const Ready> wait(int milliseconds);

 private:
  int epoll_;
  std::array<Ready, 128> ready_{};
};

}  // namespace herald::launch
