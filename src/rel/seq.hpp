// SPDX-License-Identifier: BSD-3-Clause
// rel/seq.hpp: sequence numbers of 32 bits that wrap around. Windows are far smaller than 2^31, so that two
// numbers can always be compared.
#pragma once
#include <cstdint>

namespace herald::rel {

using Seq = std::uint32_t;

// Steps from `from` to `to`; negative: `to` is older.
constexpr std::int32_t distance(Seq from, Seq to) noexcept { return static_cast<std::int32_t>(to - from); }
constexpr bool before(Seq a, Seq b) noexcept { return distance(a, b) > 0; }

}  // namespace herald::rel
