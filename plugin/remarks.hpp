// SPDX-License-Identifier: BSD-3-Clause
// plugin/remarks.hpp: optimisation remarks of the pass: -Rpass=herald-plans, -Rpass-missed=herald-plans,
// -Rpass-analysis=herald-plans, and YAML by -fsave-optimization-record. `herald plans report` reads the words
// "line" and "depth".
#pragma once
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/OptimizationRemarkEmitter.h>

#include <string>

#include "mpi_calls.hpp"

namespace herald::plans {

inline constexpr const char* kPass = "herald-plans";

inline std::string place_of(const llvm::Loop& loop) {
  const llvm::DebugLoc at = loop.getStartLoc();
  return (at ? "the loop at line " + std::to_string(at.getLine()) : std::string("its loop")) + ", depth " +
         std::to_string(loop.getLoopDepth());
}

// `kind`: OptimizationRemark, OptimizationRemarkMissed or OptimizationRemarkAnalysis.
template <class Kind>
void remark(llvm::OptimizationRemarkEmitter& emitter, const char* name, const llvm::CallBase& call,
            const std::string& text) {
  emitter.emit([&] { return Kind(kPass, name, &call) << name_of_callee(call) << ": " << text; });
}

// With the loop that is to blame, which `herald plans report` sorts by.
inline void missed(llvm::OptimizationRemarkEmitter& emitter, const llvm::LoopInfo& loops, const char* name,
                   const llvm::CallBase& call, const std::string& text) {
  const llvm::Loop* const loop = loops.getLoopFor(call.getParent());
  remark<llvm::OptimizationRemarkMissed>(emitter, name, call,
                                         loop == nullptr ? text : text + " (" + place_of(*loop) + ")");
}

}  // namespace herald::plans
