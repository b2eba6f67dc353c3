// SPDX-License-Identifier: BSD-3-Clause
#include "coll/table.hpp"

#include "base/fatal.hpp"
#include "coll/check.hpp"
#include "coll/make/makers.hpp"

namespace herald::coll {

// Ties go to the earlier row.
std::span<const Algorithm* const> algorithms() noexcept {
  static const auto& rows = *new auto([] {
    std::vector<const Algorithm*> all;
    for (const auto& family :
         {kBarrierAlgorithms, kBcastAlgorithms, kGatherScatterAlgorithms, kAllgatherAlgorithms,
          kAlltoallAlgorithms, kReduceAlgorithms, kAllreduceAlgorithms, kReduceScatterAlgorithms,
          kScanAlgorithms, kSharedMoveAlgorithms, kSharedReduceAlgorithms, kStreamAlgorithms, kCastAlgorithms,
          kReduceCastAlgorithms, kPackedCastAlgorithms, kTwoLevelMoveAlgorithms, kTwoLevelGatherAlgorithms,
          kTwoLevelReduceAlgorithms, kTwoLevelAlltoallAlgorithms})
      for (const Algorithm& row : family) all.push_back(&row);
    return all;
  }());
  return rows;
}

const Algorithm* find_algorithm(Op op, std::string_view name) noexcept {
  for (const Algorithm* row : algorithms())
    if (row->op == op && row->name == name) return row;
  return nullptr;
}

const Algorithm& choose(Op op, std::uint64_t bytes, const Shape& shape) noexcept {
  const Algorithm* best = nullptr;
  double cost = 0;
  for (const Algorithm* row : algorithms()) {
    if (row->op != op || !row->fits(shape)) continue;
    const double mine = row->estimate(bytes, shape);
    if (best != nullptr && mine >= cost) continue;
    best = row;
    cost = mine;
  }
  HERALD_ASSERT(best != nullptr);
  return *best;
}

Plan make_plan(const Algorithm& algorithm, const CollSpec& spec, bool checked) noexcept {
  Builder builder;
  if (checked && spec.size > 1) exchange_facts(spec, builder);
  algorithm.make(spec, builder);
  Plan plan = builder.finish(algorithm.name);
  plan.operation = name_of(spec.op);
  return plan;
}

}  // namespace herald::coll
