// SPDX-License-Identifier: BSD-3-Clause
// plugin/prepare.hpp: hints about collectives and messages in loops: MPIX_Plan_prepare before the loop,
// MPIX_Plan_release at its exits. The call itself stays as it is.
#pragma once
#include <llvm/Analysis/AliasAnalysis.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/OptimizationRemarkEmitter.h>
#include <llvm/IR/Dominators.h>

#include "pattern.hpp"

namespace herald::plans {

struct Analyses {
  llvm::LoopInfo& loops;
  llvm::DominatorTree& tree;
  llvm::AAResults& alias;
  llvm::OptimizationRemarkEmitter& remarks;
};

// Hints for the patterns of one function. True if it changed the function.
bool prepare(llvm::Function& function, const Analyses& analyses, const Patterns& patterns);

}  // namespace herald::plans
