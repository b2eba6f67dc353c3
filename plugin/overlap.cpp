// SPDX-License-Identifier: BSD-3-Clause
#include "overlap.hpp"

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/IntrinsicInst.h>

#include "invariant.hpp"
#include "options.hpp"
#include "shims.hpp"

using namespace llvm;

namespace herald::plans {
namespace {

constexpr int kWorthIt = 40;  // instructions outside of loops; a loop is always worth it

class Overlap {
 public:
  Overlap(CallBase& call, const Procedure& collective, const Loop& loop, const Analyses& analyses)
      : analyses_(analyses),
        loop_(loop),
        sent_(argument(call, collective, Role::sendbuf)),
        received_(argument(call, collective, Role::recvbuf)),
        after_(*call.getFunction()) {
    if (sent_ != nullptr && is_predefined(sent_)) sent_ = nullptr;
  }

  Instruction* find(CallBase& call) {
    if (!isa<CallInst>(call) || received_ == nullptr || is_predefined(received_)) return nullptr;
    Instruction* at = call.getNextNode();
    for (;;) {
      while (!at->isTerminator()) {
        if (conflicts(*at)) return work_ >= kWorthIt ? at : nullptr;
        work_ += is_debug_info(*at) ? 0 : 1;
        at = at->getNextNode();
      }
      Instruction* next = beyond(*at->getParent());
      if (next == nullptr) return work_ >= kWorthIt ? at : nullptr;
      at = next;
    }
  }

 private:
  bool conflicts(const Instruction& instruction) const {
    if (isa<PHINode>(instruction)) return false;
    if (const auto* call = dyn_cast<CallBase>(&instruction)) {
      const auto* intrinsic = dyn_cast<IntrinsicInst>(call);
      if (intrinsic == nullptr && !call->doesNotAccessMemory()) return true;
      if (intrinsic == nullptr && !call->willReturn()) return true;
      // Memory may end its life only after the call.
      if (intrinsic != nullptr && intrinsic->isLifetimeStartOrEnd()) return true;
    }
    if (instruction.mayThrow() || instruction.isAtomic() || instruction.isVolatile()) return true;
    if (is_broken(Broken::overlap)) return false;
    if (may_touch(analyses_.alias, instruction, received_, true, false)) return true;
    return sent_ != nullptr && may_touch(analyses_.alias, instruction, sent_, false, false);
  }

  // The block in which all ways from here meet, if none of them conflicts or leaves the loop, and only ways
  // from here lead there.
  Instruction* beyond(const BasicBlock& from) {
    BasicBlock* to = nullptr;
    // Not within an inner loop: that is passed as a whole.
    for (const auto* node = after_.getNode(&from); to == nullptr && node != nullptr; node = node->getIDom())
      if (node->getBlock() != &from && node->getBlock() != nullptr &&
          analyses_.loops.getLoopDepth(node->getBlock()) <= loop_.getLoopDepth())
        to = node->getBlock();
    if (to == nullptr || !loop_.contains(to) || to == loop_.getHeader() ||
        !analyses_.tree.dominates(&from, to))
      return nullptr;
    int work = 0;
    SmallPtrSet<const BasicBlock*, 16> seen;
    SmallVector<const BasicBlock*, 16> open;
    const auto follow = [&](const BasicBlock& block) {
      for (const BasicBlock* next : successors(&block))
        if (next != to && seen.insert(next).second) open.push_back(next);
    };
    follow(from);
    while (!open.empty()) {
      const BasicBlock& block = *open.pop_back_val();
      if (!loop_.contains(&block) || &block == loop_.getHeader() || &block == &from) return nullptr;
      for (const Instruction& instruction : block)
        if (conflicts(instruction)) return nullptr;
      const bool repeats = analyses_.loops.getLoopDepth(&block) > loop_.getLoopDepth();
      work += repeats ? kWorthIt : static_cast<int>(block.size());
      follow(block);
    }
    for (const PHINode& phi : to->phis())
      if (conflicts(phi)) return nullptr;
    work_ += work;
    return &*to->getFirstInsertionPt();
  }

  const Analyses& analyses_;
  const Loop& loop_;
  Value *sent_, *received_;
  const PostDominatorTree after_;
  int work_ = 0;
};

}  // namespace

Instruction* end_of_overlap(CallBase& call, const Procedure& collective, const Loop& loop,
                            const Analyses& analyses) {
  if (!call.use_empty()) return nullptr;
  return Overlap(call, collective, loop, analyses).find(call);
}

}  // namespace herald::plans
