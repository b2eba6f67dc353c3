// SPDX-License-Identifier: BSD-3-Clause
#include "path/tcp/stream.hpp"

#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace herald::path::tcp {
namespace {

using Head = std::array<std::byte, kFrameHead>;

Head head_of(const TcpFrame& frame) noexcept {
  const std::size_t size = frame.size();
  return {static_cast<std::byte>(size & 0xff), static_cast<std::byte>(size >> 8),
          static_cast<std::byte>(frame.kind), static_cast<std::byte>(frame.link)};
}

iovec part_of(std::span<const std::byte> bytes) noexcept {
  return {const_cast<std::byte*>(bytes.data()), bytes.size()};
}

bool is_full(int error) noexcept { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

}  // namespace

Stream::~Stream() {
  if (fd_ >= 0) ::close(fd_);
}

void Stream::keep(const TcpFrame& frame, std::size_t sent) {
  const Head head = head_of(frame);
  for (const std::span<const std::byte> part : {std::span<const std::byte>(head), frame.bytes, frame.rest}) {
    const std::size_t skip = std::min(sent, part.size());
    kept_.insert(kept_.end(), part.begin() + static_cast<std::ptrdiff_t>(skip), part.end());
    sent -= skip;
  }
}

// Writes a row straight from the caller's memory; a frame that left in part is kept. Returns how many frames
// are taken care of.
std::size_t Stream::write_row(std::span<const TcpFrame> row) {
  std::array<Head, kRow> heads;
  std::array<iovec, 3 * kRow> parts;
  std::size_t count = 0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    heads[i] = head_of(row[i]);
    parts[count++] = part_of(heads[i]);
    parts[count++] = part_of(row[i].bytes);
    if (!row[i].rest.empty()) parts[count++] = part_of(row[i].rest);
  }
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = count;
  const ssize_t left = ::sendmsg(fd_, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (left < 0) {
    broken_ = broken_ || !is_full(errno);
    return 0;
  }
  auto sent = static_cast<std::size_t>(left);
  for (std::size_t i = 0; i < row.size(); ++i) {
    const std::size_t bytes = kFrameHead + row[i].size();
    if (sent >= bytes) {
      sent -= bytes;
      continue;
    }
    if (sent == 0) return i;
    keep(row[i], sent);
    return i + 1;
  }
  return row.size();
}

std::size_t Stream::send(std::span<const TcpFrame> frames) {
  std::size_t at = 0;
  while (at < frames.size() && !broken_ && !has_kept()) {
    const std::span<const TcpFrame> row = frames.subspan(at, std::min(kRow, frames.size() - at));
    const std::size_t taken = write_row(row);
    at += taken;
    if (taken < row.size()) break;
  }
  for (; at < frames.size() && !broken_; ++at) {
    if (kept_bytes() + kFrameHead + frames[at].size() > kMostKept) break;
    keep(frames[at], 0);
  }
  return at;
}

void Stream::flush() noexcept {
  while (has_kept() && !broken_) {
    const ssize_t left = ::send(fd_, kept_.data() + kept_from_, kept_bytes(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (left < 0) {
      broken_ = !is_full(errno);
      break;
    }
    kept_from_ += static_cast<std::size_t>(left);
  }
  if (!has_kept()) {
    kept_.clear();
    kept_from_ = 0;
  } else if (kept_from_ > kept_.size() / 2) {
    kept_.erase(kept_.begin(), kept_.begin() + static_cast<std::ptrdiff_t>(kept_from_));
    kept_from_ = 0;
  }
}

Result Stream::read() {
  if (broken_) return Result::broken;
  const std::size_t room = trusted_ ? kReadBytes : 4 * (kFrameHead + kMostShortBody);
  if (read_.size() < room) read_.resize(room);
  std::memmove(read_.data(), read_.data() + from_, end_ - from_);
  end_ -= from_;
  from_ = 0;
  const std::size_t free = read_.size() - end_;
  if (free == 0) return Result::ok;
  const ssize_t came = ::recv(fd_, read_.data() + end_, free, MSG_DONTWAIT);
  if (came < 0 && is_full(errno)) return Result::blocked;
  if (came <= 0) {
    broken_ = true;
    return Result::broken;
  }
  end_ += static_cast<std::size_t>(came);
  return static_cast<std::size_t>(came) < free ? Result::blocked : Result::ok;
}

bool Stream::next(TcpFrame& frame) noexcept {
  if (end_ - from_ < kFrameHead) return false;
  const std::byte* const at = read_.data() + from_;
  const std::size_t bytes = std::to_integer<std::size_t>(at[0]) | std::to_integer<std::size_t>(at[1]) << 8;
  if (!trusted_ && bytes > kMostShortBody) {
    broken_ = true;
    return false;
  }
  if (end_ - from_ < kFrameHead + bytes) return false;
  frame = {
      std::to_integer<std::uint8_t>(at[2]), std::to_integer<std::uint8_t>(at[3]), {at + kFrameHead, bytes}};
  from_ += kFrameHead + bytes;
  return true;
}

}  // namespace herald::path::tcp
