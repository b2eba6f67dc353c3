// SPDX-License-Identifier: BSD-3-Clause
// plugin/overlap.hpp: how far the completion of a collective can move down: to the first instruction that
// needs its data, writes what it sends, communicates, or leaves the iteration.
#pragma once
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/PostDominators.h>

#include "prepare.hpp"

namespace herald::plans {

// The instruction before which the call must have completed; null: there is no work worth an overlap.
llvm::Instruction* end_of_overlap(llvm::CallBase& call, const Procedure& collective, const llvm::Loop& loop,
                                  const Analyses& analyses);

}  // namespace herald::plans
