// SPDX-License-Identifier: BSD-3-Clause
// coll/make/makers.hpp: the algorithms, each defined in its own file of this folder and listed in table.cpp;
// and the few words that they share.
#pragma once
#include "coll/table.hpp"

namespace herald::coll {

extern const Algorithm kBarrierDissemination;
extern const Algorithm kBcastBinomial, kBcastScatterAllgather;
extern const Algorithm kAllgatherRing, kAllgatherDoubling, kAllgatherBruck, kAllgathervRing;

inline bool fits_any(const Shape&) noexcept { return true; }

// How many messages a rank of a ring, or the root of a linear algorithm, keeps under way.
constexpr std::uint32_t kWindow = 16;

}  // namespace herald::coll
