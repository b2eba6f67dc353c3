// SPDX-License-Identifier: BSD-3-Clause
// plugin/requests.hpp: where a nonblocking message of a loop completes. Its request must be a local variable
// (or an element of a local array) that only sends, receives, MPI_Wait and MPI_Waitall use, and every way
// from the call through the loop must wait for it before the iteration ends.
#pragma once
#include <llvm/ADT/SetVector.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/InstrTypes.h>

#include <string>

namespace herald::plans {

using Waits = llvm::SmallSetVector<llvm::CallBase*, 4>;

// The calls that complete it go to `waits`. Gives the reason why that is not known; empty: it is.
std::string find_waits(llvm::CallBase& start, llvm::Value* request, const llvm::Loop& loop, Waits& waits);

}  // namespace herald::plans
