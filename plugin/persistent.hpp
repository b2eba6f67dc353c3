// SPDX-License-Identifier: BSD-3-Clause
// plugin/persistent.hpp: rewrites one collective of a loop as a persistent one.
//
//   before:     request = null; if (MPI_X_init) MPI_X_init(..., &request)
//   in place:   if (request) MPI_Start, MPI_Wait; else the call as it was
//   at exits:   if (request) MPI_Request_free
//
// So a program runs over libraries without persistent collectives too, and after a failed MPI_X_init.
// Or makes it nonblocking: MPI_IX in place, MPI_Wait later.
#pragma once
#include <llvm/IR/Instructions.h>

namespace herald::plans {

struct Persistent {
  llvm::CallBase* call = nullptr;
  llvm::SmallVector<llvm::Value*, 10> arguments;  // as they are before the loop
  llvm::Instruction* before = nullptr;            // in the preheader
  llvm::Instruction* wait = nullptr;              // MPI_Wait goes before it; null: directly after MPI_Start
  llvm::SmallVector<llvm::BasicBlock*, 4> exits;
  llvm::AllocaInst* request = nullptr;
  bool nonblocking = false;
};

// First for all calls of a function: one call may have to wait before another.
void place_wait(Persistent& made);
void make_persistent(const Persistent& made);
// The call that replaces it.
llvm::CallBase* make_nonblocking(const Persistent& made);

}  // namespace herald::plans
