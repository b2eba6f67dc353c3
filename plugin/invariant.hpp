// SPDX-License-Identifier: BSD-3-Clause
// plugin/invariant.hpp: which values are the same in every iteration of a loop, and their copies before it.
// Loads of memory that the loop does not write count too, where reading it early is safe. Certain: proven for
// every call in the loop as well; otherwise calls are ignored, which is enough for a hint.
#pragma once
#include <llvm/ADT/DenseMap.h>
#include <llvm/Analysis/AliasAnalysis.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>

namespace herald::plans {

class Invariant {
 public:
  Invariant(const llvm::Loop& loop, llvm::AAResults& alias, const llvm::DominatorTree& tree, bool certain)
      : loop_(loop), alias_(alias), tree_(tree), certain_(certain) {}

  // The same in every iteration, and can be computed in the preheader.
  bool holds(llvm::Value* value) const { return holds(value, 0); }
  // No instruction of the loop writes this memory.
  bool unwritten(llvm::Value* pointer) const;
  // The instruction that writes it; null: none.
  const llvm::Instruction* writer_of(llvm::Value* pointer) const;
  // Runs in every iteration, and in the first one before the loop can be left.
  bool in_every_iteration(const llvm::Instruction& instruction) const;
  // The same, and no function that may end the program is called before.
  bool always_runs(const llvm::Instruction& instruction) const;
  // Puts what the value needs before `at`, in the preheader.
  llvm::Value* copy_before(llvm::Value* value, llvm::Instruction* at);

 private:
  bool holds(llvm::Value* value, int depth) const;

  const llvm::Loop& loop_;
  llvm::AAResults& alias_;
  const llvm::DominatorTree& tree_;
  bool certain_;
  llvm::DenseMap<llvm::Value*, llvm::Value*> copies_;
};

// Whether `write` may change what a reader sees at `pointer`; `read` also: whether it may read from there.
bool may_touch(llvm::AAResults& alias, const llvm::Instruction& instruction, llvm::Value* pointer, bool read,
               bool ignore_calls);

}  // namespace herald::plans
