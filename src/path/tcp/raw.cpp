// SPDX-License-Identifier: BSD-3-Clause
#include "path/tcp/raw.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/fd.hpp"

namespace herald::path {
namespace {

constexpr int kMostRawEvents = 16;
constexpr std::size_t kMostParts = 4;

// Returns the bytes of all parts.
template <class Byte>
std::size_t describe(std::span<const std::span<Byte>> parts, std::array<iovec, kMostParts>& out,
                     msghdr& message) noexcept {
  std::size_t all = 0, count = 0;
  for (const std::span<Byte>& part : parts) {
    if (count == kMostParts) break;
    out[count++] = {const_cast<std::byte*>(part.data()), part.size()};
    all += part.size();
  }
  message.msg_iov = out.data();
  message.msg_iovlen = count;
  return all;
}

}  // namespace

TcpRaw::TcpRaw() : epoll_(safe_fd(::epoll_create1(EPOLL_CLOEXEC))) {}

TcpRaw::~TcpRaw() {
  for (const auto& [fd, ready] : ready_) ::close(fd);
  if (epoll_ >= 0) ::close(epoll_);
}

int TcpRaw::add(int fd) {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
  event.data.fd = fd;
  if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) != 0) {
    ::close(fd);
    return -1;
  }
  ready_[fd] = kRead | kWrite;
  return fd;
}

void TcpRaw::close(int id) {
  if (ready_.erase(id) != 0) ::close(id);
}

std::ptrdiff_t TcpRaw::moved(int id, std::uint8_t what, std::ptrdiff_t result, bool all) noexcept {
  if (result >= 0 && all) return result;
  if (result < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) return kBroken;
  if (const auto at = ready_.find(id); at != ready_.end()) at->second &= static_cast<std::uint8_t>(~what);
  return result < 0 ? 0 : result;
}

std::ptrdiff_t TcpRaw::read(int id, std::span<const std::span<std::byte>> parts) noexcept {
  std::array<iovec, kMostParts> vectors;
  msghdr message{};
  const std::size_t all = describe(parts, vectors, message);
  const ssize_t came = ::recvmsg(id, &message, MSG_DONTWAIT);
  if (came == 0 && all != 0) return kBroken;
  return moved(id, kRead, came, static_cast<std::size_t>(came) == all);
}

std::ptrdiff_t TcpRaw::write(int id, std::span<const std::span<const std::byte>> parts, bool more) noexcept {
  std::array<iovec, kMostParts> vectors;
  msghdr message{};
  const std::size_t all = describe(parts, vectors, message);
  const ssize_t left = ::sendmsg(id, &message, MSG_DONTWAIT | MSG_NOSIGNAL | (more ? MSG_MORE : 0));
  return moved(id, kWrite, left, static_cast<std::size_t>(left) == all);
}

void TcpRaw::look() noexcept {
  std::array<epoll_event, kMostRawEvents> events;
  const int count = ::epoll_wait(epoll_, events.data(), kMostRawEvents, 0);
  for (int i = 0; i < count; ++i) {
    const epoll_event& one = events[static_cast<std::size_t>(i)];
    const auto at = ready_.find(one.data.fd);
    if (at == ready_.end()) continue;
    const bool ends = (one.events & (EPOLLERR | EPOLLHUP)) != 0;
    if (ends || (one.events & (EPOLLIN | EPOLLRDHUP)) != 0) at->second |= kRead;
    if (ends || (one.events & EPOLLOUT) != 0) at->second |= kWrite;
  }
}

}  // namespace herald::path
