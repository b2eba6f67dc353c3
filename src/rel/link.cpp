// SPDX-License-Identifier: BSD-3-Clause
#include "rel/link.hpp"

#include <algorithm>

namespace herald::rel {
namespace {

constexpr std::uint32_t kStripeAt = 8;  // packets on their way by the best link before others help
constexpr float kGuessNs = 12'000;      // for a packet, where nothing was measured
constexpr float kComparable = 8;        // times slower than the best is too slow to help
constexpr std::uint32_t kComparableRttNs = 1'000'000;

// Lower is better.
int rank_of(const Link& link) noexcept {
  switch (link.state) {
    case LinkState::live: return 0;
    case LinkState::unproven: return link.timeouts == 0 ? 1 : 2;
    case LinkState::suspect: return 3;
    case LinkState::dead: return 4;
  }
  return 5;
}

std::uint8_t best_of(std::span<const Link> links) noexcept {
  std::size_t best = 0;
  for (std::size_t i = 1; i < links.size(); ++i) {
    const int a = rank_of(links[i]), b = rank_of(links[best]);
    // Among those that do not answer take turns.
    if (a < b || (a == b && a >= 2 && links[i].timeouts < links[best].timeouts)) best = i;
  }
  return static_cast<std::uint8_t>(best);
}

// When a packet given to the link now would be there.
float cost(const Link& link, float guess_ns) noexcept {
  const float packet_ns = link.packet_ns > 0 ? link.packet_ns : guess_ns;
  return static_cast<float>(link.in_flight + 1) * packet_ns + static_cast<float>(link.rtt.least_ns) / 2;
}

}  // namespace

std::uint8_t choose_link(std::span<const Link> links) noexcept {
  if (links.size() == 1) return 0;
  std::uint8_t best = best_of(links);
  if (links[best].state != LinkState::live || links[best].in_flight < kStripeAt) return best;
  const Link& first = links[best];
  const float guess = first.packet_ns > 0 ? first.packet_ns : kGuessNs;
  for (std::size_t i = 0; i < links.size(); ++i) {
    const Link& link = links[i];
    if (link.state != LinkState::live || link.packet_ns > kComparable * guess) continue;
    if (link.rtt.least_ns > 4 * first.rtt.least_ns + kComparableRttNs) continue;
    if (cost(link, guess) < cost(links[best], guess)) best = static_cast<std::uint8_t>(i);
  }
  return best;
}

}  // namespace herald::rel
