// SPDX-License-Identifier: BSD-3-Clause
// coll/incast.hpp: what the port of a switch bears when several ranks send to the same one, and how many may
// do so at a time (model/fit.hpp, equations 5 to 7 of the paper).
#pragma once
#include <algorithm>
#include <cstdint>

#include "model/fit.hpp"
#include "model/parameters.hpp"

namespace herald::coll {

struct Incast {
  double buffer_bytes = 0;  // B_L; 0: ranks of one host, which no port joins
  double gap_ratio = 1;     // g_s / g_r: hosts that fill the link of a receiver
  bool measured = false;
};

// Between hosts, without measurement: a port of a small switch, and links of the same rate.
constexpr Incast kUsualIncast{.buffer_bytes = 128 << 10};

inline Incast incast_of(const model::Parameters& measured) noexcept {
  constexpr double kLong = 65536;
  const model::PathParameters& udp = measured.of(model::Path::udp);
  Incast incast = kUsualIncast;
  incast.measured = measured.switch_bytes > 0;
  if (incast.measured) incast.buffer_bytes = measured.switch_bytes;
  const double out = udp.send_gap.at(kLong), in = udp.recv_gap.at(kLong);
  if (out > 0 && in > 0) incast.gap_ratio = std::clamp(out / in, 1.0, 64.0);
  return incast;
}

// How many of `senders` ranks may send `bytes` each to one rank at the same time; all of them where the port
// holds everything. A buffer holds frames, which are longer than their data.
inline int incast_window(const Incast& incast, std::uint64_t bytes, int senders) noexcept {
  constexpr double kFrame = 1538.0 / 1380.0;
  if (incast.buffer_bytes <= 0) return senders;
  return model::gather_window(incast.gap_ratio, 1, incast.buffer_bytes / kFrame, static_cast<double>(bytes),
                              senders)
      .chosen;
}

}  // namespace herald::coll
