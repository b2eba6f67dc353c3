// SPDX-License-Identifier: BSD-3-Clause
// base/status.hpp: the result of an inner function, grouped by the largest object that is broken, so that
// fail-over is a range check.
#pragma once
#include <cstdint>

namespace herald {

enum class [[nodiscard]] Status : std::int8_t{
    ok = 0,
    again = 1,  // not failures

    bad_argument = -10,  // -10s: this operation
    truncated = -11,
    no_memory = -12,
    not_found = -13,
    unsupported = -14,

    peer_lost = -20,  // -20s: one peer

    group_lost = -30,  // -30s: a multicast group: fail over
    stale_epoch = -31,

    engine_broken = -40,  // -40s: this process
};

// A collective with this status lacks data of a peer: the ranks that it sends to must not take it as right.
constexpr bool lost_a_peer(Status status) noexcept {
  return status == Status::peer_lost || status == Status::group_lost;
}

}  // namespace herald
