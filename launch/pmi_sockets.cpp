// SPDX-License-Identifier: BSD-3-Clause
#include "pmi_sockets.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

namespace herald::launch {
namespace {

constexpr std::size_t kPmiReadBytes = 64 * 1024;
constexpr std::size_t kOutLimit = 1 << 20;  // a rank must read its replies before it asks on

}  // namespace

PmiSockets::~PmiSockets() {
  for (Socket& socket : sockets_) close(socket);
}

void PmiSockets::add(int rank, int fd) {
  sockets_[static_cast<std::size_t>(rank)].fd = fd;
  poller_.watch(fd, EPOLLIN, Tag::pmi, rank);
}

void PmiSockets::on_ready(int rank, unsigned events) {
  if (events & EPOLLOUT) write(rank);
  if (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) read(rank);
}

void PmiSockets::on_exit(int rank) {
  read(rank);  // may hold an abort or a finalize
  server_.on_exit(rank);
}

void PmiSockets::flush() {
  for (int rank : server_.take_dirty()) write(rank);
}

void PmiSockets::read(int rank) {
  Socket& socket = sockets_[static_cast<std::size_t>(rank)];
  std::array<char, kPmiReadBytes> buffer;
  while (socket.fd >= 0 && server_.output(rank).size() < kOutLimit) {
    const ssize_t n = ::read(socket.fd, buffer.data(), buffer.size());
    if (n > 0) {
      server_.on_bytes(rank, {buffer.data(), static_cast<std::size_t>(n)});
      if (static_cast<std::size_t>(n) < buffer.size()) return;  // level-triggered epoll reports the rest
    } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
      close(socket);
    } else if (errno == EAGAIN) {
      return;
    }
  }
}

void PmiSockets::write(int rank) {
  Socket& socket = sockets_[static_cast<std::size_t>(rank)];
  std::string& out = server_.output(rank);
  while (socket.fd >= 0 && !out.empty()) {
    const ssize_t n = send(socket.fd, out.data(), out.size(), MSG_NOSIGNAL);
    if (n >= 0) {
      out.erase(0, static_cast<std::size_t>(n));
    } else if (errno == EAGAIN) {
      break;
    } else if (errno != EINTR) {
      out.clear();  // the rank has closed its end; data that it sent before can still be read
    }
  }
  const bool writing = socket.fd >= 0 && !out.empty();
  if (socket.fd >= 0 && writing != socket.writing) {
    poller_.unwatch(socket.fd);
    poller_.watch(socket.fd, writing ? EPOLLOUT : EPOLLIN, Tag::pmi, rank);
    socket.writing = writing;
  }
}

void PmiSockets::close(Socket& socket) {
  if (socket.fd < 0) return;
  poller_.unwatch(socket.fd);
  ::close(std::exchange(socket.fd, -1));
}

}  // namespace herald::launch
