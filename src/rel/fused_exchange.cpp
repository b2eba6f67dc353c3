// SPDX-License-Identifier: BSD-3-Clause
#include "rel/fused_exchange.hpp"

#include "rel/lane_audience.hpp"

namespace herald::rel {
namespace {

constexpr std::int64_t kPatience = 4;  // round trips
constexpr Duration kMinPatience = milliseconds(1), kMaxPatience = milliseconds(100);

}  // namespace

Duration FusedActor::patience() const noexcept {
  const Duration rtt = std::max(context_.known_or_first(rtt_), audience_.timing().rtt);
  return std::clamp(Duration{kPatience * rtt.ns}, kMinPatience, kMaxPatience);
}

Duration FusedActor::retry_delay(std::uint8_t tries) const noexcept {
  return std::min(Duration{patience().ns << std::min(tries, kMaxTries)}, context_.config.longest_backoff);
}

}  // namespace herald::rel
