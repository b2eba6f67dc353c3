// SPDX-License-Identifier: BSD-3-Clause
#include "poller.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "text.hpp"

namespace herald::launch {

Poller::Poller() : epoll_(epoll_create1(EPOLL_CLOEXEC)) {
  if (epoll_ < 0) throw std::runtime_error(cat("cannot open an epoll descriptor: ", std::strerror(errno)));
}

Poller::~Poller() { close(epoll_); }

void Poller::watch(int fd, unsigned events, Tag tag, int rank, int which) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = static_cast<std::uint64_t>(tag) << 40 | static_cast<std::uint64_t>(which) << 32 |
                   static_cast<std::uint32_t>(rank);
  if (epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) != 0 && errno == EEXIST)
    epoll_ctl(epoll_, EPOLL_CTL_MOD, fd, &event);
}

void Poller::unwatch(int fd) { epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr); }

std::span<const Ready> Poller::wait(int milliseconds) {
  std::array<epoll_event, std::tuple_size_v<decltype(ready_)>> events;
  const int count = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), milliseconds);
  const auto found = static_cast<std::size_t>(std::max(count, 0));
  for (std::size_t i = 0; i < found; ++i) {
    const std::uint64_t data = events[i].data.u64;
    ready_[i] = {events[i].events, static_cast<Tag>(data >> 40), static_cast<int>(data & 0xffffffffU),
                 static_cast<int>(data >> 32 & 0xff)};
  }
  return {ready_.data(), found};
}

}  // namespace herald::launch
