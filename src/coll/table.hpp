// SPDX-License-Identifier: BSD-3-Clause
// coll/table.hpp: all algorithms in one table: name, applicability, cost, plan maker.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>

#include "coll/builder.hpp"
#include "coll/coll_spec.hpp"
#include "coll/shape.hpp"

namespace herald::coll {

struct Algorithm {
  Op op;
  const char* name;
  const char* description;  // one line
  bool (*fits)(const Shape& shape);
  // Nanoseconds until the last rank is done. `bytes` is CollSpec::bytes.
  double (*estimate)(std::uint64_t bytes, const Shape& shape);
  void (*make)(const CollSpec& spec, Builder& builder);
};

std::span<const Algorithm* const> algorithms() noexcept;
// By collective and name; null if there is none.
const Algorithm* find_algorithm(Op op, std::string_view name) noexcept;
// The cheapest that fits. There is always one.
const Algorithm& choose(Op op, std::uint64_t bytes, const Shape& shape) noexcept;

// With `checked` the ranks first compare their calls (coll/check.hpp).
Plan make_plan(const Algorithm& algorithm, const CollSpec& spec, bool checked = false) noexcept;
// For neighborhood collectives: CollSpec::neighbors is set. Nothing to choose, so it is not in the table.
extern const Algorithm kNeighborhood;
// Between two groups: CollSpec::sides is set. Its parts are the cheapest plans for the ranks of each group.
Plan make_plan_between(const CollSpec& spec) noexcept;

}  // namespace herald::coll
