// SPDX-License-Identifier: BSD-3-Clause
// rel/rtt.hpp: the measured round trip of a link and its variation. Samples exclude the time for which the
// receiver held back its ack.
#pragma once
#include <algorithm>
#include <cstdint>

#include "base/instant.hpp"

namespace herald::rel {

struct Rtt {
  std::uint32_t smooth_ns = 0;  // 0: nothing measured yet
  std::uint32_t varies_ns = 0;
  std::uint32_t latest_ns = 0;
  std::uint32_t least_ns = 0;

  bool known() const noexcept { return smooth_ns != 0; }

  void add(Duration sample) noexcept {
    // Acks that waited in the socket while this process did not read make false samples: queues grow, but not
    // a hundredfold at once.
    const std::int64_t most = known() ? std::int64_t{smooth_ns} * 8 + kAtOnce.ns : kMostSample.ns;
    const auto ns =
        static_cast<std::uint32_t>(std::clamp<std::int64_t>(sample.ns, 1, std::min(most, kMostSample.ns)));
    latest_ns = ns;
    if (!known()) {
      smooth_ns = least_ns = ns;
      varies_ns = ns / 2;
      return;
    }
    least_ns = std::min(least_ns, ns);
    // A queue that gets shorter is no reason for longer timeouts.
    const std::uint32_t off = ns > smooth_ns ? ns - smooth_ns : std::min(smooth_ns - ns, varies_ns / 2);
    varies_ns = static_cast<std::uint32_t>((varies_ns * 3ull + off) / 4);
    smooth_ns = std::max<std::uint32_t>(1, static_cast<std::uint32_t>((smooth_ns * 7ull + ns) / 8));
  }

  Duration smooth(Duration before_any) const noexcept { return known() ? Duration{smooth_ns} : before_any; }

  // The retransmission timeout. It allows for an ack held back by ack_delay().
  Duration timeout(Duration before_any, Duration least) const noexcept {
    const std::int64_t base = smooth(before_any).ns;
    const std::int64_t varies = known() ? varies_ns : before_any.ns / 2;
    return {std::max(least.ns, base + 4 * varies) + std::max(base / 2, least.ns * 2 / 3)};
  }
  // How long a receiver holds back an ack: for data that carries it, or for more packets to acknowledge.
  Duration ack_delay(Duration before_any, Duration least) const noexcept {
    return {std::clamp(smooth(before_any).ns / 2, least.ns * 2 / 3, kMostAckDelay.ns)};
  }

 private:
  static constexpr Duration kMostAckDelay = milliseconds(2);
  static constexpr Duration kAtOnce = milliseconds(5);
  static constexpr Duration kMostSample = milliseconds(200);
};

}  // namespace herald::rel
