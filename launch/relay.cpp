// SPDX-License-Identifier: BSD-3-Clause
#include "relay.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "text.hpp"

namespace herald::launch {
namespace {

constexpr std::size_t kMostPending = 1 << 20;  // bytes that wait for a slow reader

void close_fd(int& fd) {
  if (fd >= 0) close(fd);
  fd = -1;
}

void make_nonblocking(int fd) { fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK); }

bool is_final(ssize_t n) { return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR); }

}  // namespace

Relay::Relay(int in, int out, bool after_marker, OnFrame on_frame)
    : in_(in), out_(out), reader_(after_marker), other_(std::move(on_frame)) {
  make_nonblocking(in_);
  make_nonblocking(out_);
}

Relay::~Relay() {
  for (End& end : ends_) close_fd(end.fd);
  close_fd(in_);
  close_fd(out_);
}

void Relay::add_source(Channel channel, int fd) {
  make_nonblocking(fd);
  ends_.push_back({channel, fd, true});
}

void Relay::add_sink(Channel channel, int fd) {
  make_nonblocking(fd);
  ends_.push_back({channel, fd, false});
}

void Relay::limit(Channel channel, std::size_t bytes) {
  for (End& end : ends_)
    if (end.source && end.channel == channel) end.room = bytes;
}

void Relay::taken(Channel channel, std::size_t bytes) {
  for (End& end : ends_)
    if (end.source && end.channel == channel) end.room += bytes;
}

bool Relay::has_source(Channel channel) const {
  return std::any_of(ends_.begin(), ends_.end(),
                     [&](const End& end) { return end.source && end.channel == channel && end.fd >= 0; });
}

bool Relay::has_written() const {
  return std::all_of(ends_.begin(), ends_.end(),
                     [](const End& end) { return end.source || end.fd < 0 || end.pending.empty(); });
}

bool Relay::is_full() const {
  return std::any_of(ends_.begin(), ends_.end(),
                     [](const End& end) { return end.pending.size() > kMostPending; });
}

bool Relay::turn(int milliseconds, int extra) {
  std::vector<pollfd> fds{
      {extra, POLLIN, 0}, {is_full() ? -1 : in_, POLLIN, 0}, {to_send_.empty() ? -1 : out_, POLLOUT, 0}};
  for (const End& end : ends_) {
    const bool wanted = end.source ? to_send_.size() < kMostPending && end.room > 0 : !end.pending.empty();
    fds.push_back({wanted ? end.fd : -1, static_cast<short>(end.source ? POLLIN : POLLOUT), 0});
  }
  if (poll(fds.data(), fds.size(), milliseconds) <= 0) return false;
  if (fds[1].revents != 0) read_stream();
  for (std::size_t i = 0; i < ends_.size(); ++i) {
    if (fds[i + 3].revents == 0) continue;
    if (ends_[i].source)
      read_source(ends_[i]);
    else
      write_sink(ends_[i]);
  }
  if (!to_send_.empty()) write_stream();
  return fds[0].revents != 0;
}

void Relay::read_stream() {
  std::array<char, kMostPayload> buffer;
  const ssize_t n = read(in_, buffer.data(), buffer.size());
  if (n > 0) reader_.add({buffer.data(), static_cast<std::size_t>(n)});
  while (const auto frame = reader_.next()) on_frame(*frame);
  if (is_final(n) || reader_.is_broken()) close_fd(in_);
}

void Relay::on_frame(const Frame& frame) {
  for (End& end : ends_) {
    if (end.source || end.channel != frame.channel) continue;
    end.pending += frame.payload;
    end.ended = end.ended || frame.payload.empty();
    if (end.fd >= 0) write_sink(end);
    return;
  }
  other_(frame);
}

void Relay::write_stream() {
  const ssize_t n = out_ < 0 ? 0 : write(out_, to_send_.data(), to_send_.size());
  if (n > 0) to_send_.erase(0, static_cast<std::size_t>(n));
  if (out_ < 0 || is_final(n)) {
    close_fd(out_);
    to_send_.clear();
  }
}

void Relay::read_source(End& end) {
  std::array<char, kMostPayload> buffer;
  const ssize_t n = read(end.fd, buffer.data(), std::min(buffer.size(), end.room));
  if (n > 0) {
    send(end.channel, {buffer.data(), static_cast<std::size_t>(n)});
    end.room -= static_cast<std::size_t>(n);
  } else if (is_final(n)) {
    send(end.channel, {});
    close_fd(end.fd);
  }
}

void Relay::write_sink(End& end) {
  while (!end.pending.empty()) {
    const ssize_t n = write(end.fd, end.pending.data(), end.pending.size());
    if (n > 0) {
      if (end.channel == Channel::input) send(Channel::taken, cat(n));
      end.pending.erase(0, static_cast<std::size_t>(n));
    } else if (is_final(n)) {
      end.pending.clear();  // nobody reads it any more
      end.ended = true;
    } else {
      return;
    }
  }
  if (end.ended) close_fd(end.fd);
}

}  // namespace herald::launch
