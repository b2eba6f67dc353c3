// SPDX-License-Identifier: BSD-3-Clause
// plugin/uniform.hpp: which values are proven to be equal at all ranks, and which code all ranks run alike.
// Equal: constants, the size of a communicator, results that MPI makes equal (MPI_Bcast, MPI_Allreduce,
// MPI_Allgather), arguments of main, and what is computed from them. Not: ranks, clocks, everything unknown.
// Functions that other modules may call are not proven to run at all ranks.
#pragma once
#include <llvm/Analysis/PostDominators.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/Module.h>

#include <map>
#include <memory>
#include <string>

namespace herald::plans {

class Uniform {
 public:
  explicit Uniform(llvm::Module& module) : module_(module) {}

  // Null: all ranks run this block alike, whenever one does. Else the reason why that is not proven.
  const char* why_not(const llvm::BasicBlock& block);
  // The branch that the last reason is about.
  const llvm::Instruction* branch() const { return branch_; }
  // After a function was changed.
  void forget(const llvm::Function& function) {
    trees_.erase(&function);
    values_.clear();
    texts_.clear();
    blocks_.clear();
    functions_.clear();
  }

 private:
  struct Trees {
    explicit Trees(llvm::Function& function) : before(function), after(function) {}
    llvm::DominatorTree before;
    llvm::PostDominatorTree after;
  };
  using Branches = std::vector<const llvm::Instruction*>;
  Trees& trees(const llvm::Function& function);
  // The branches that decide whether a block runs.
  Branches governing(const llvm::BasicBlock& block);
  bool runs_alike(const llvm::BasicBlock& block);
  const char* look(const llvm::BasicBlock& block);
  void forget_equal();
  const char* called_alike(const llvm::Function& function);
  bool is_equal(const llvm::Value* value);
  bool compute(const llvm::Value* value);
  bool is_command_line(const llvm::Value* value);
  bool compute_command_line(const llvm::Value* object);
  bool is_equal_load(const llvm::Value* pointer);
  bool is_equal_call(const llvm::CallBase& call);
  bool is_equal_argument(const llvm::Argument& argument);
  bool writes_equal(const llvm::Use& use);

  llvm::Module& module_;
  std::map<const llvm::Function*, std::unique_ptr<Trees>> trees_;
  std::map<const llvm::Value*, bool> values_, texts_;
  std::map<const llvm::Function*, const char*> functions_;
  std::map<const llvm::BasicBlock*, bool> blocks_;
  const llvm::Instruction* branch_ = nullptr;
  std::size_t unequal_ = 0;  // found so far
};

}  // namespace herald::plans
