// SPDX-License-Identifier: BSD-3-Clause
#include "frames.hpp"

#include <algorithm>

namespace herald::launch {
namespace {

constexpr std::size_t kHead = 5, kMostNoise = 64 * 1024;

}  // namespace

void append_frame(std::string& out, Channel channel, std::string_view payload) {
  do {
    const std::string_view piece = payload.substr(0, kMostPayload);
    out += static_cast<char>(channel);
    for (int shift = 0; shift < 32; shift += 8) out += static_cast<char>(piece.size() >> shift & 0xff);
    out += piece;
    payload.remove_prefix(piece.size());
  } while (!payload.empty());
}

void FrameReader::add(std::string_view bytes) {
  text_ += bytes;
  if (found_) return;
  const std::size_t at = text_.find(kMarker);
  if (at != std::string::npos) {
    noise_ = text_.substr(0, at);
    text_.erase(0, at + kMarker.size());
    found_ = true;
  } else if (text_.size() > kMostNoise) {
    broken_ = true;
  }
}

std::optional<Frame> FrameReader::next() {
  if (!found_ || broken_ || text_.size() < kHead) return std::nullopt;
  std::size_t length = 0;
  for (std::size_t i = 0; i < 4; ++i)
    length |= static_cast<std::size_t>(static_cast<unsigned char>(text_[1 + i])) << (8 * i);
  if (length > kMostPayload) broken_ = true;
  if (broken_ || text_.size() < kHead + length) return std::nullopt;
  Frame frame{static_cast<Channel>(text_[0]), text_.substr(kHead, length)};
  text_.erase(0, kHead + length);
  return frame;
}

}  // namespace herald::launch
