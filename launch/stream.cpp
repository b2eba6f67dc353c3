// SPDX-License-Identifier: BSD-3-Clause
// launch/stream.cpp: see stream.hpp.
#include "stream.hpp"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "text.hpp"

namespace herald::launch {

Sink::Sink(int fd) : fd_(fd) {
  struct stat info {};
  if (fstat(fd, &info) != 0) return;
  is_file_ = S_ISREG(info.st_mode);
  if (S_ISSOCK(info.st_mode)) {
    mode_ = Mode::socket;
  } else if (S_ISFIFO(info.st_mode) || isatty(fd)) {
    const int again = open(cat("/proc/self/fd/", fd).c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (again >= 0) {
      fd_ = again;
      own_ = true;
    } else {
      mode_ = Mode::polled;
    }
  }
}

Sink::~Sink() {
  if (own_) close(fd_);
}

void Sink::push(std::string& text) {
  pending_.clear();
  sent_ = 0;
  std::swap(pending_, text);
}

long Sink::write_some(const char* data, std::size_t size) {
  switch (mode_) {
    case Mode::plain: return write(fd_, data, size);
    case Mode::socket: return send(fd_, data, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    case Mode::polled: {
      pollfd ready{fd_, POLLOUT, 0};
      if (poll(&ready, 1, 0) > 0) return write(fd_, data, std::min<std::size_t>(size, PIPE_BUF));
      errno = EAGAIN;
      return -1;
    }
  }
  return -1;
}

Sink::Result Sink::flush() {
  while (!empty()) {
    const long n = write_some(pending_.data() + sent_, pending_.size() - sent_);
    if (n >= 0) {
      sent_ += static_cast<std::size_t>(n);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      return Result::blocked;
    } else if (errno != EINTR) {
      error_ = errno;
      pending_.clear();
      sent_ = 0;
      return Result::broken;
    }
  }
  return Result::done;
}

InputRelay::InputRelay(std::vector<Target> targets, Watch watch)
    : targets_(std::move(targets)), watch_(std::move(watch)) {
  struct stat info {};
  file_ = fstat(0, &info) != 0 || S_ISREG(info.st_mode) || (S_ISCHR(info.st_mode) && !isatty(0));
  terminal_ = isatty(0);
  if (file_)
    more_ = true;
  else
    watch_source(true);
}

InputRelay::~InputRelay() {
  for (const Target& target : targets_) close(target.fd);
}

void InputRelay::watch_source(bool on) {
  if (file_ || on == source_watched_) return;
  source_watched_ = on;
  watch_(0, false, on, -1);
}

// The kernel stops a background process that reads its terminal.
bool InputRelay::in_background() const {
  const pid_t group = terminal_ ? tcgetpgrp(0) : -1;
  return group > 0 && group != getpgrp();
}

void InputRelay::on_source(Millis now) {
  if (in_background()) {
    watch_source(false);
    recheck_at_ = now + 300;
    return;
  }
  read_source();
}

void InputRelay::on_time(Millis now) {
  if (recheck_at_ && *recheck_at_ <= now && !eof_ && !targets_.empty()) {
    recheck_at_.reset();
    watch_source(true);
  }
  if (more_) {
    more_ = false;
    read_source();
  }
}

std::optional<Millis> InputRelay::next_deadline() const {
  if (more_) return 0;
  return recheck_at_;
}

void InputRelay::read_source() {
  if (eof_ || targets_.empty()) return;
  buffer_.resize(kLineLimit);
  const ssize_t n = read(0, buffer_.data(), buffer_.size());
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
    buffer_.clear();
    return;
  }
  buffer_.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  for (Target& target : targets_) target.sent = 0;
  if (n <= 0) return finish();
  push();
}

void InputRelay::push() {
  for (std::size_t i = 0; i < targets_.size();) {
    Target& target = targets_[i];
    bool gone = false;
    while (target.sent < buffer_.size() && !gone) {
      const ssize_t n = write(target.fd, buffer_.data() + target.sent, buffer_.size() - target.sent);
      if (n > 0)
        target.sent += static_cast<std::size_t>(n);
      else if (errno == EAGAIN)
        break;
      else
        gone = errno != EINTR;
    }
    if (gone) {
      drop(i);
      continue;
    }
    const bool wait = target.sent < buffer_.size();
    if (wait != target.watched) watch_(target.fd, true, wait, target.rank);
    target.watched = wait;
    ++i;
  }
  const bool all_sent = std::all_of(targets_.begin(), targets_.end(),
                                    [&](const Target& target) { return target.sent == buffer_.size(); });
  const bool read_on = all_sent && !eof_ && !targets_.empty();
  if (read_on && file_) more_ = true;
  watch_source(read_on && !recheck_at_);
}

void InputRelay::on_target(int) { push(); }

void InputRelay::on_rank_end(int rank) {
  for (std::size_t i = 0; i < targets_.size(); ++i) {
    if (targets_[i].rank != rank) continue;
    drop(i);
    push();
    return;
  }
}

void InputRelay::drop(std::size_t index) {
  Target& target = targets_[index];
  if (target.watched) watch_(target.fd, true, false, target.rank);
  close(target.fd);
  targets_.erase(targets_.begin() + static_cast<std::ptrdiff_t>(index));
  if (targets_.empty()) finish();
}

void InputRelay::finish() {
  eof_ = true;
  more_ = false;
  watch_source(false);
  recheck_at_.reset();
  while (!targets_.empty()) {
    Target target = targets_.back();
    targets_.pop_back();
    if (target.watched) watch_(target.fd, true, false, target.rank);
    close(target.fd);
  }
}

}  // namespace herald::launch
