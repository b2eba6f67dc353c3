// SPDX-License-Identifier: BSD-3-Clause
// coll/explain.hpp: the choice of an algorithm as text: candidates, their times and where these go, the one
// that is used. For `herald explain` and HERALD_EXPLAIN.
#pragma once
#include <string>

#include "coll/predict.hpp"

namespace herald::coll {

// "831 ns", "12.3 us" ...
std::string time_text(double ns);
// `measured`: predictions are made from it; null: the estimates of the table. `chosen` is marked.
std::string explain_choice(const Algorithm& chosen, std::uint64_t bytes, const Shape& shape,
                           const Cluster& cluster, const model::Parameters* measured);

}  // namespace herald::coll
