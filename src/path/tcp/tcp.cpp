// SPDX-License-Identifier: BSD-3-Clause
#include "path/tcp/tcp.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/fd.hpp"

namespace herald::path {
namespace {

constexpr int kBacklog = 64, kMostAccepted = 16, kMostEvents = 16;
constexpr unsigned kSilentMs = 2000;
constexpr std::uint64_t kListener = std::uint64_t{1} << 32;

bool set(int fd, int level, int option, int value) noexcept {
  return ::setsockopt(fd, level, option, &value, sizeof value) == 0;
}

int open_socket(const sockaddr& like) noexcept {
  return safe_fd(::socket(like.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

}  // namespace

TcpPath::TcpPath() : epoll_(safe_fd(::epoll_create1(EPOLL_CLOEXEC))) {}

TcpPath::~TcpPath() {
  for (const int fd : listeners_) ::close(fd);
  if (epoll_ >= 0) ::close(epoll_);
}

// Connections of an earlier job that wait for their end do not hold the port (SO_REUSEADDR); a listening
// socket does.
bool TcpPath::listen(const sockaddr& at, socklen_t length) {
  const int fd = epoll_ < 0 ? -1 : open_socket(at);
  if (fd < 0) return false;
  set(fd, SOL_SOCKET, SO_REUSEADDR, 1);
  if (at.sa_family == AF_INET6) set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = kListener | static_cast<unsigned>(fd);
  if (::bind(fd, &at, length) != 0 || ::listen(fd, kBacklog) != 0 ||
      ::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) != 0) {
    ::close(fd);
    return false;
  }
  listeners_.push_back(fd);
  return true;
}

bool TcpPath::watch(TcpId id, Connection& connection, bool writes) noexcept {
  connection.watches_writes = writes;
  epoll_event event{};
  event.events = EPOLLIN | EPOLLRDHUP | (writes ? EPOLLOUT : 0u);
  event.data.u64 = id;
  const int fd = connection.stream.fd();
  if (::epoll_ctl(epoll_, EPOLL_CTL_MOD, fd, &event) == 0) return true;
  return errno == ENOENT && ::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) == 0;
}

TcpId TcpPath::add(int fd, bool connecting) {
  set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  (void)::setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &kSilentMs, sizeof kSilentMs);
  auto connection = std::make_unique<Connection>(fd);
  connection->connecting = connecting;
  if (++last_id_ == 0) ++last_id_;
  const TcpId id = last_id_;
  if (!watch(id, *connection, connecting)) return 0;
  connections_.emplace(id, std::move(connection));
  return id;
}

TcpId TcpPath::connect(const sockaddr& from, const sockaddr& to, socklen_t length) {
  const int fd = open_socket(to);
  if (fd < 0) return 0;
#ifdef IP_BIND_ADDRESS_NO_PORT
  set(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1);
#endif
  sockaddr_storage local{};
  std::copy_n(reinterpret_cast<const char*>(&from), length, reinterpret_cast<char*>(&local));
  // The port lies in the same place in both families; any is good.
  reinterpret_cast<sockaddr_in&>(local).sin_port = 0;
  const bool bound = ::bind(fd, reinterpret_cast<const sockaddr*>(&local), length) == 0;
  if (!bound || (::connect(fd, &to, length) != 0 && errno != EINPROGRESS)) {
    const int why = errno;
    ::close(fd);
    errno = why;
    return 0;
  }
  return add(fd, true);
}

void TcpPath::trust(TcpId id) {
  const auto at = connections_.find(id);
  if (at == connections_.end()) return;
  at->second->trusted = true;
  at->second->stream.trust();
  std::erase(untrusted_, id);
}

void TcpPath::drop(TcpId id, bool tell, bool refused) {
  const auto at = connections_.find(id);
  if (at == connections_.end()) return;
  (void)::epoll_ctl(epoll_, EPOLL_CTL_DEL, at->second->stream.fd(), nullptr);
  // The other end learns of it at once: its memory, and ours, may be needed by events for a moment longer.
  ::shutdown(at->second->stream.fd(), SHUT_RDWR);
  graveyard_.push_back(std::move(at->second));
  connections_.erase(at);
  std::erase(untrusted_, id);
  if (tell) events_.push_back({TcpEvent::Kind::closed, id, {}, refused});
}

void TcpPath::close(TcpId id) { drop(id, false); }

int TcpPath::release(TcpId id) {
  const auto at = connections_.find(id);
  if (at == connections_.end()) return -1;
  tcp::Stream& stream = at->second->stream;
  const int watched = stream.fd(), fd = stream.release();
  if (fd < 0) {
    drop(id, false);
    return -1;
  }
  (void)::epoll_ctl(epoll_, EPOLL_CTL_DEL, watched, nullptr);
  graveyard_.push_back(std::move(at->second));
  connections_.erase(at);
  std::erase(untrusted_, id);
  return fd;
}

std::size_t TcpPath::send(TcpId id, std::span<const TcpFrame> frames) {
  const auto at = connections_.find(id);
  if (at == connections_.end() || at->second->connecting) return 0;
  Connection& connection = *at->second;
  const std::size_t taken = connection.stream.send(frames);
  if (connection.stream.is_broken()) {
    later_.push_back({TcpEvent::Kind::closed, id});
    drop(id, false);
  } else if (connection.stream.has_kept() && !connection.watches_writes) {
    (void)watch(id, connection, true);
  }
  return taken;
}

void TcpPath::accept_from(int listener) {
  for (int i = 0; i < kMostAccepted; ++i) {
    const int fd = safe_fd(::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (fd < 0) return;
    if (untrusted_.size() >= kMostUntrusted) drop(untrusted_.front(), true);
    const TcpId id = add(fd, false);
    if (id == 0) continue;
    untrusted_.push_back(id);
    events_.push_back({TcpEvent::Kind::accepted, id});
  }
}

// False: the connection is gone. The owner may trust it on account of a frame: what follows waits for that.
bool TcpPath::take_frames(TcpId id, Connection& connection) {
  TcpFrame frame;
  while (connection.stream.next(frame)) {
    events_.push_back({TcpEvent::Kind::frame, id, frame});
    if (connection.trusted) continue;
    half_read_.push_back(id);
    return true;
  }
  if (!connection.stream.is_broken()) return true;
  drop(id, true);
  return false;
}

// Frames that were left in memory came first in this poll(), and refer to it: a read would move them.
void TcpPath::read_frames(TcpId id, Connection& connection) {
  if (std::find(from_memory_.begin(), from_memory_.end(), id) != from_memory_.end()) return;
  (void)connection.stream.read();
  (void)take_frames(id, connection);
}

void TcpPath::serve(TcpId id, std::uint32_t what) {
  const auto at = connections_.find(id);
  if (at == connections_.end()) return;
  Connection& connection = *at->second;
  if (connection.connecting) {
    int error = 0;
    socklen_t length = sizeof error;
    if (::getsockopt(connection.stream.fd(), SOL_SOCKET, SO_ERROR, &error, &length) != 0 || error != 0)
      return drop(id, true, error == ECONNREFUSED);
    if ((what & EPOLLOUT) == 0) return;
    connection.connecting = false;
    (void)watch(id, connection, false);
    events_.push_back({TcpEvent::Kind::opened, id});
    return;  // frames come with the next poll()
  }
  if ((what & EPOLLOUT) != 0) {
    connection.stream.flush();
    if (connection.stream.is_broken()) return drop(id, true);
    if (!connection.stream.has_kept()) (void)watch(id, connection, false);
  }
  if ((what & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) read_frames(id, connection);
}

std::span<const TcpEvent> TcpPath::poll() {
  graveyard_.clear();
  events_ = std::exchange(later_, {});
  from_memory_ = std::exchange(half_read_, {});
  for (const TcpId id : from_memory_)
    if (const auto at = connections_.find(id); at != connections_.end()) (void)take_frames(id, *at->second);
  std::array<epoll_event, kMostEvents> ready;
  const int count = ::epoll_wait(epoll_, ready.data(), kMostEvents, 0);
  for (int i = 0; i < count; ++i) {
    const epoll_event& one = ready[static_cast<std::size_t>(i)];
    if ((one.data.u64 & kListener) != 0)
      accept_from(static_cast<int>(one.data.u64 & 0xffffffff));
    else
      serve(static_cast<TcpId>(one.data.u64), one.events);
  }
  return events_;
}

}  // namespace herald::path
