// SPDX-License-Identifier: BSD-3-Clause
// rel/cursor.hpp: the position of one receiver in a send log: which packets it has, and its credit. It has no
// buffer (paper 000: LMS), so that many receivers of one log are cheap.
#pragma once
#include <cstdint>

#include "rel/seq.hpp"

namespace herald::rel {

struct Cursor {
  static constexpr std::uint32_t kReach = 64;  // packets after `next` that `came` covers

  Seq next = 0;            // all before this one have come
  Seq limit = 0;           // credit: those before this one may be sent
  std::uint64_t came = 0;  // bit i: next + 1 + i has come

  bool has(Seq seq) const noexcept {
    const std::int32_t at = distance(next, seq);
    if (at < 0) return true;
    return at >= 1 && at <= static_cast<std::int32_t>(kReach) && (came >> (at - 1) & 1) != 0;
  }
  // All before `to` have come; `to` is not older than `next`.
  void advance(Seq to) noexcept {
    const std::uint32_t steps = to - next;
    came = steps < kReach ? came >> steps : 0;
    next = to;
  }
};
static_assert(sizeof(Cursor) <= 64, "the budget of a further receiver of a log");

}  // namespace herald::rel
