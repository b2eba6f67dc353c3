// SPDX-License-Identifier: BSD-3-Clause
// plugin/options.hpp: what the pass may do: by its option, and by marks in the source (MPIX_PLAN in mpix.h).
#pragma once
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Module.h>

namespace herald::plans {

enum class Mode { none, prepare, convert };

struct Permission {
  Mode mode;
  bool vouched = false;  // the program says that all ranks run the loop alike
};

// Functions record how they were compiled, and a link step with LTO goes by that.
Mode mode_of(const llvm::Function& function);
void record_mode(llvm::Module& module);

// Proofs that -mllvm -herald-plans-break=... leaves out, so that tests see whether random programs notice.
enum class Broken { none, stores, iterations, branches, overlap, requests };
bool is_broken(Broken proof);

// The innermost mark decides: in the loop, in one around it, on the function, else the option.
Permission permission(const llvm::Function& function, const llvm::Loop* loop);

}  // namespace herald::plans
