// SPDX-License-Identifier: BSD-3-Clause
#include "coll/table.hpp"

#include "base/fatal.hpp"
#include "coll/check.hpp"
#include "coll/make/makers.hpp"

namespace herald::coll {
namespace {

// Ties go to the earlier row.
constexpr const Algorithm* kTable[] = {
    &kBarrierDissemination,
    &kBarrierTree,
    &kBcastBinomial,
    &kBcastBinary,
    &kBcastScatterDoubling,
    &kBcastScatterAllgather,
    &kBcastChain,
    &kGatherLinear,
    &kGatherBinomial,
    &kGathervLinear,
    &kGathervBinomial,
    &kScatterLinear,
    &kScatterBinomial,
    &kScattervLinear,
    &kScattervBinomial,
    &kAllgatherDoubling,
    &kAllgatherBruck,
    &kAllgatherNeighbor,
    &kAllgatherRing,
    &kAllgathervRing,
    &kAllgathervLinear,
    &kAllgathervBruck,
    &kAlltoallLinear,
    &kAlltoallPairwise,
    &kAlltoallBruck,
    &kAlltoallvLinear,
    &kAlltoallvPairwise,
    &kAlltoallwLinear,
    &kAlltoallwPairwise,
    &kReduceBinomial,
    &kReduceLinear,
    &kReduceRabenseifner,
    &kReducePipeline,
    &kAllreduceDoubling,
    &kAllreduceRabenseifner,
    &kAllreduceRing,
    &kReduceScatterTree,
    &kReduceScatterPairwise,
    &kReduceScatterHalving,
    &kReduceScatterRing,
    &kReduceScatterOrdered,
    &kReduceScatterBlockTree,
    &kReduceScatterBlockPairwise,
    &kReduceScatterBlockHalving,
    &kReduceScatterBlockRing,
    &kReduceScatterBlockOrdered,
    &kScanDoubling,
    &kScanLinear,
    &kExscanDoubling,
    &kExscanLinear,
    &kBarrierShared,
    &kBcastShared,
    &kBcastStream,
    &kGatherShared,
    &kGatherStream,
    &kAllgatherShared,
    &kAllgatherStream,
    &kAlltoallShared,
    &kReduceShared,
    &kReduceStream,
    &kAllreduceShared,
    &kAllreduceStream,
    &kBarrierCast,
    &kBcastCast,
    &kAllgatherCast,
    &kAllreduceCast,
    &kAllreduceScatterCast,
    &kBarrierTwoLevel,
    &kBcastTwoLevel,
    &kGatherTwoLevel,
    &kScatterTwoLevel,
    &kAllgatherTwoLevel,
    &kAllgathervTwoLevel,
    &kReduceTwoLevel,
    &kAllreduceTwoLevel,
    &kAllgathervCast,
    &kScatterCast,
    &kAlltoallCast,
    &kBarrierGatherCast,
    &kAllgatherGatherCast,
    &kAllreduceGatherCast,
    &kReduceScatterCast,
    &kReduceScatterBlockCast,
    &kScattervPackedCast,
    &kAlltoallvPackedCast,
    &kAlltoallwPackedCast,
    &kAlltoallTwoLevel,
    &kReduceScatterTwoLevel,
    &kReduceScatterBlockTwoLevel,
    &kBarrierFused,
    &kAllgatherFused,
    &kAllreduceFused,
};

}  // namespace

std::span<const Algorithm* const> algorithms() noexcept { return kTable; }

const Algorithm* find_algorithm(Op op, std::string_view name) noexcept {
  for (const Algorithm* row : kTable)
    if (row->op == op && row->name == name) return row;
  return nullptr;
}

const Algorithm& choose(Op op, std::uint64_t bytes, const Shape& shape) noexcept {
  const Algorithm* best = nullptr;
  double cost = 0;
  for (const Algorithm* row : kTable) {
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
