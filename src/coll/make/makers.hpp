// SPDX-License-Identifier: BSD-3-Clause
// coll/make/makers.hpp: the algorithms, each defined in its own file of this folder and listed in table.cpp,
// and the constants that they share.
#pragma once
#include "coll/table.hpp"

namespace herald::coll {

extern const Algorithm kBarrierDissemination, kBarrierTree;
extern const Algorithm kBcastBinomial, kBcastScatterDoubling, kBcastScatterAllgather, kBcastChain,
    kBcastBinary;
extern const Algorithm kGatherLinear, kGatherBinomial, kGathervLinear, kGathervBinomial;
extern const Algorithm kScatterLinear, kScatterBinomial, kScattervLinear, kScattervBinomial;
extern const Algorithm kAllgatherRing, kAllgatherDoubling, kAllgatherBruck, kAllgatherNeighbor;
extern const Algorithm kAllgathervRing, kAllgathervBruck, kAllgathervLinear;
extern const Algorithm kAlltoallLinear, kAlltoallPairwise, kAlltoallBruck;
extern const Algorithm kAlltoallvLinear, kAlltoallvPairwise, kAlltoallwLinear, kAlltoallwPairwise;
extern const Algorithm kReduceBinomial, kReduceLinear, kReduceRabenseifner, kReducePipeline;
extern const Algorithm kAllreduceDoubling, kAllreduceRabenseifner, kAllreduceRing;
extern const Algorithm kReduceScatterTree, kReduceScatterPairwise, kReduceScatterOrdered;
extern const Algorithm kReduceScatterBlockTree, kReduceScatterBlockPairwise, kReduceScatterBlockOrdered;
extern const Algorithm kReduceScatterHalving, kReduceScatterRing;
extern const Algorithm kReduceScatterBlockHalving, kReduceScatterBlockRing;
extern const Algorithm kScanDoubling, kScanLinear, kExscanDoubling, kExscanLinear;

extern const Algorithm kBarrierShared, kBcastShared, kBcastStream, kGatherShared, kGatherStream,
    kAllgatherShared, kAllgatherStream, kAlltoallShared, kReduceShared, kReduceStream, kAllreduceShared,
    kAllreduceStream;

extern const Algorithm kBarrierCast, kBcastCast, kAllgatherCast, kAllgathervCast, kAllreduceCast,
    kAllreduceScatterCast, kScatterCast, kAlltoallCast;
extern const Algorithm kBarrierGatherCast, kAllgatherGatherCast, kAllreduceGatherCast, kReduceScatterCast,
    kReduceScatterBlockCast;
extern const Algorithm kBarrierFused, kAllreduceFused, kAllgatherFused;
extern const Algorithm kScattervPackedCast, kAlltoallvPackedCast, kAlltoallwPackedCast;

extern const Algorithm kBarrierTwoLevel, kBcastTwoLevel, kGatherTwoLevel, kScatterTwoLevel,
    kAllgatherTwoLevel, kAllgathervTwoLevel, kReduceTwoLevel, kAllreduceTwoLevel, kAlltoallTwoLevel,
    kReduceScatterTwoLevel, kReduceScatterBlockTwoLevel;

inline bool fits_any(const Shape&) noexcept { return true; }

// Messages that a rank of a ring, or the root of a linear algorithm, keeps outstanding.
constexpr std::uint32_t kWindow = 16;

// Between hosts an eager message of up to about so many bytes is sent whole, and back-to-back sends keep the
// link full. The sender of a longer message waits for its receiver.
constexpr std::uint64_t kRemoteEager = 65536;

}  // namespace herald::coll
