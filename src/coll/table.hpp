// SPDX-License-Identifier: BSD-3-Clause
// coll/table.hpp: every algorithm, in one table: what it is called, when it fits, what it would cost, and how
// it makes a plan. New ways to do a collective are new rows, never a second engine.
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
  // Nanoseconds until the last rank is done. `bytes` is Ask::bytes.
  double (*estimate)(std::uint64_t bytes, const Shape& shape);
  void (*make)(const CollSpec& ask, Builder& builder);
};

std::span<const Algorithm* const> algorithms() noexcept;
// By operation and name; null if there is none.
const Algorithm* find_algorithm(Op op, std::string_view name) noexcept;
// The cheapest that fits. There is always one.
const Algorithm& choose(Op op, std::uint64_t bytes, const Shape& shape) noexcept;

// With `checked` the ranks first compare what they call (coll/check.hpp).
Plan make_plan(const Algorithm& algorithm, const CollSpec& ask, bool checked = false) noexcept;
// Between two groups: Ask::sides is set. Its parts are the cheapest plans for the ranks of each group.
Plan make_plan_between(const CollSpec& ask) noexcept;

}  // namespace herald::coll
