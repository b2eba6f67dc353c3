// SPDX-License-Identifier: BSD-3-Clause
#include "boot/line_channel.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>

#include "boot/environment.hpp"

namespace herald::boot {

namespace {

using Clock = std::chrono::steady_clock;

void sleep_a_millisecond() noexcept {
  timespec pause{0, 1'000'000};
  ::nanosleep(&pause, nullptr);
}

Status failed(const char* doing, int error, std::string& why) {
  if (error == EPIPE || error == ECONNRESET)
    why = "the launcher closed the PMI connection";
  else
    why = std::string{doing} + " the PMI connection: " + std::strerror(error);
  return Status::engine_broken;
}

}  // namespace

LineChannel::~LineChannel() { ::close(fd_); }

// Waits for bytes and appends them to buffer_.
Status LineChannel::fill(int timeout_ms, std::string& why) {
  const auto end = Clock::now() + std::chrono::milliseconds{timeout_ms};
  char bytes[4096];
  for (;;) {
    ssize_t got = ::recv(fd_, bytes, sizeof bytes, MSG_DONTWAIT);
    if (got > 0) {
      buffer_.append(bytes, static_cast<std::size_t>(got));
      return Status::ok;
    }
    if (got == 0) {
      why = "the launcher closed the PMI connection";
      return Status::engine_broken;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN && errno != EWOULDBLOCK) return failed("reading from", errno, why);

    int left_ms = -1;
    if (timeout_ms >= 0) {
      auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
      if (left <= 0) {
        why =
            "no answer from the launcher on the PMI connection within " + std::to_string(timeout_ms) + " ms";
        return Status::engine_broken;
      }
      left_ms = static_cast<int>(left);
    }
    pollfd wait{fd_, POLLIN, 0};
    if (::poll(&wait, 1, left_ms) < 0 && errno != EINTR) return failed("waiting on", errno, why);
  }
}

Status LineChannel::read_line(std::string& line, int timeout_ms, std::string& why) {
  for (;;) {
    std::size_t end = buffer_.find('\n', searched_);
    if (end != std::string::npos) {
      line.assign(buffer_, 0, end);
      buffer_.erase(0, end + 1);
      searched_ = 0;
      return Status::ok;
    }
    searched_ = buffer_.size();
    if (searched_ > kLongestLine) {
      why = "the PMI connection carries no PMI: a line of more than " + std::to_string(kLongestLine) +
            " bytes that begins with " + in_quotes(buffer_);
      return Status::engine_broken;
    }
    if (Status status = fill(timeout_ms, why); status != Status::ok) return status;
  }
}

Status LineChannel::write_line(std::string_view line, std::string& why) {
  std::string text{line};
  text += '\n';
  while (writing_.test_and_set(std::memory_order_acquire)) sleep_a_millisecond();
  Status status = Status::ok;
  std::string_view rest{text};
  while (!rest.empty() && status == Status::ok) {
    ssize_t sent = ::send(fd_, rest.data(), rest.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      rest.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      pollfd wait{fd_, POLLOUT, 0};
      ::poll(&wait, 1, -1);
    } else if (errno != EINTR) {
      status = failed("writing to", errno, why);
    }
  }
  writing_.clear(std::memory_order_release);
  return status;
}

void LineChannel::write_last_words(std::string_view line) noexcept {
  constexpr int kPatienceMs = 200;
  for (int i = 0; i < kPatienceMs; ++i) {
    if (!writing_.test_and_set(std::memory_order_acquire)) break;
    sleep_a_millisecond();
  }
  for (int i = 0; i < kPatienceMs && !line.empty(); ++i) {
    ssize_t sent = ::send(fd_, line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0)
      line.remove_prefix(static_cast<std::size_t>(sent));
    else if (errno == EAGAIN || errno == EWOULDBLOCK)
      sleep_a_millisecond();
    else if (errno != EINTR)
      break;
  }
  writing_.clear(std::memory_order_release);
}

}  // namespace herald::boot
