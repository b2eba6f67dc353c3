// SPDX-License-Identifier: BSD-3-Clause
#include "model/sizes.hpp"

#include <algorithm>

namespace herald::model {
namespace {

// A shorter push would make the senders of short messages wait for their receives, and a longer one would
// fill the memory that a receiver has for messages it does not expect yet.
constexpr std::uint32_t kLeastPush = 32 << 10, kMostPush = 256 << 10;
constexpr double kLeastWindow = 64 << 10, kMostWindow = 16 << 20;
constexpr double kWindowShare = 7.0 / 8;  // of the switch's buffer: acks and multicast need some of it
constexpr std::uint64_t kLeastSegment = 8 << 10, kMostSegment = 256 << 10;
constexpr double kBytesOverStart = 4;  // the time of a segment's bytes, compared with its fixed costs

// From the start of a message until its sender has the pull of the rest.
double until_pull_ns(const PathParameters& path) noexcept {
  const double first = path.packet_bytes;
  return path.send_overhead.at(first) + path.latency.at(first) + path.recv_overhead.at(first) +
         path.user_recv.at(first) + path.send_overhead.at(0) + path.latency.at(0) + path.recv_overhead.at(0);
}

// A rank of a pipeline receives a segment and passes it on. Short segments fill the pipeline soon, long ones
// have fewer fixed costs.
std::uint64_t segment_bytes(const Parameters& parameters, const PathParameters& path) noexcept {
  const double start = path.recv_overhead.at(0) + path.user_recv.at(0) + path.send_overhead.at(0) +
                       std::max(path.send_gap.at(0), path.recv_gap.at(0)) + parameters.wake_ns;
  std::uint64_t bytes = kLeastSegment;
  const auto moving = [&](double length) {
    return std::max(path.send_gap.at(length) - path.send_gap.at(0),
                    path.recv_gap.at(length) - path.recv_gap.at(0));
  };
  while (bytes < kMostSegment && moving(static_cast<double>(bytes)) < kBytesOverStart * start) bytes *= 2;
  return bytes;
}

}  // namespace

std::uint32_t push_bytes(const PathParameters& path) noexcept {
  const double until_pull = until_pull_ns(path);
  std::uint32_t bytes = kLeastPush;
  while (bytes < kMostPush && path.send_gap.at(bytes) < until_pull) bytes += 4096;
  return bytes;
}

Sizes sizes_between_hosts(const Parameters& parameters) noexcept {
  const PathParameters& udp = parameters.of(Path::udp);
  Sizes sizes;
  sizes.push_bytes = static_cast<std::uint32_t>(std::clamp<double>(udp.eager_bytes, kLeastPush, kMostPush));
  sizes.segment_bytes = segment_bytes(parameters, udp);
  if (parameters.switch_bytes > 0)
    sizes.window_bytes = static_cast<std::uint32_t>(
        std::clamp(parameters.switch_bytes * kWindowShare, kLeastWindow, kMostWindow));
  return sizes;
}

}  // namespace herald::model
