// SPDX-License-Identifier: BSD-3-Clause
#include "convert.hpp"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

#include <cstring>
#include <string>

#include "invariant.hpp"
#include "options.hpp"
#include "overlap.hpp"
#include "persistent.hpp"
#include "remarks.hpp"

using namespace llvm;

namespace herald::plans {
namespace {

std::string line_of(const Instruction* instruction) {
  if (instruction == nullptr || !instruction->getDebugLoc()) return "";
  return " (line " + std::to_string(instruction->getDebugLoc().getLine()) + ")";
}

bool is_jump(StringRef name) {
  return name == "longjmp" || name == "_longjmp" || name == "siglongjmp" || name == "__longjmp_chk";
}

// A short result between hosts is an exchange that needs no plan, if the ranks start their calls in the same
// order: those of persistent requests need not. So a plan of its own would be slower.
bool is_short(const Pattern& pattern) {
  constexpr std::uint64_t kShort = 16;  // items
  const StringRef name = pattern.collective->name;
  if (name != "Allreduce" && name != "Allgather") return false;
  const auto known = pattern.arguments.find(Role::recvcount);
  const auto* count = known == pattern.arguments.end() ? nullptr : dyn_cast<ConstantInt>(known->second.value);
  return count != nullptr && count->getValue().ule(kShort);
}

// Why one call in one loop cannot become persistent; empty: it can.
class Proof {
 public:
  Proof(const Pattern& pattern, const Analyses& analyses, Loop& loop)
      : pattern_(pattern),
        analyses_(analyses),
        loop_(loop),
        invariant_(loop, analyses.alias, analyses.tree, true) {}

  std::string why_not() const {
    if (loop_.getLoopPreheader() == nullptr)
      return "its loop has more than one entry; use a for or while loop";
    if (std::string why = jumps(); !why.empty()) return why;
    for (const auto& [role, known] : pattern_.arguments)
      if (std::string why = changes(role, known.value); !why.empty()) return why;
    if (!invariant_.in_every_iteration(*pattern_.at))
      return "it does not run in every iteration, or the loop may end before it; call it unconditionally";
    return exits();
  }

 private:
  std::string changes(Role role, Value* value) const {
    const bool buffer = role == Role::sendbuf || role == Role::recvbuf;
    if (!invariant_.holds(value))
      return std::string("the ") + name_of(role) +
             (buffer ? " is another one in each iteration; use one buffer"
                     : " may change in the loop; compute it before the loop");
    if (!is_array(role)) return "";
    const Instruction* writer = invariant_.writer_of(value);
    if (writer == nullptr) return "";
    return std::string("the loop may write the array of ") + name_of(role) + line_of(writer) +
           "; fill it before the loop, and pass no pointer to it";
  }

  std::string jumps() const {
    if (isa<InvokeInst>(pattern_.at)) return "it is in a try block; move the try block out of the loop";
    const Function& function = *loop_.getHeader()->getParent();
    if (function.callsFunctionThatReturnsTwice()) return "the function calls setjmp";
    const bool module_jumps = any_of(*function.getParent(), [](const Function& one) {
      return !one.use_empty() && (is_jump(one.getName()) || one.hasFnAttribute(Attribute::ReturnsTwice));
    });
    for (const BasicBlock* block : loop_.blocks())
      for (const Instruction& instruction : *block) {
        const auto* call = dyn_cast<CallBase>(&instruction);
        if (call == nullptr || isa<IntrinsicInst>(call)) continue;
        StringRef name = name_of_callee(*call);
        if (is_jump(name)) return "longjmp may leave the loop" + line_of(call);
        if (module_jumps && !call->willReturn() && !call->isInlineAsm() && name.take_front(4) != "MPI_")
          return "a function that is called in the loop may call longjmp" + line_of(call);
        if (name == "MPI_Finalize" || name == "MPI_Abort")
          return name.str() + " is in the loop" + line_of(call);
        const bool leaves = !call->doesNotThrow() && !function.doesNotThrow() && !name.consume_front("MPI_");
        if (leaves || isa<ResumeInst>(block->getTerminator()))
          return "a function that may throw is called in the loop" + line_of(call) + "; declare it noexcept";
      }
    return "";
  }

  // A request is freed at every exit.
  std::string exits() const {
    SmallVector<BasicBlock*, 4> blocks;
    loop_.getUniqueExitBlocks(blocks);
    for (const BasicBlock* block : blocks)
      if (block->isEHPad() || !loop_.hasDedicatedExits()) return "the loop may be left by an exception";
    return "";
  }

  const Pattern& pattern_;
  const Analyses& analyses_;
  Loop& loop_;
  Invariant invariant_;
};

class Converter {
 public:
  Converter(Function& function, const Analyses& analyses, Uniform& uniform)
      : function_(function), analyses_(analyses), uniform_(uniform) {}

  // True: it becomes persistent, once apply() is called.
  bool take(const Pattern& pattern) {
    Loop* loop = analyses_.loops.getLoopFor(pattern.at->getParent());
    if (loop == nullptr) return false;
    const Permission allowed = permission(function_, loop);
    if (allowed.mode != Mode::convert) return false;
    if (pattern.at != pattern.call)
      return miss(
          pattern, "InFunction",
          "not converted: it is called in another function; let that be inlined, or put the loop there");
    if (pattern.collective->operation == 0)
      return miss(pattern, "Barrier", "not converted: a barrier has no plan to keep");
    if (const std::string why = Proof(pattern, analyses_, *loop).why_not(); !why.empty())
      return miss(pattern, "NotProven", "not converted: " + why);
    if (!allowed.vouched)
      if (const char* why = uniform_.why_not(*pattern.at->getParent()))
        return miss(pattern, "MayDiffer", "not converted: " + (why + line_of(uniform_.branch())));
    Instruction* wait = end_of_overlap(*pattern.at, *pattern.collective, *loop, analyses_);
    if (is_short(pattern)) return split(pattern, *loop, wait);
    for (Loop* outer = loop->getParentLoop(); outer != nullptr; outer = outer->getParentLoop()) {
      if (!Proof(pattern, analyses_, *outer).why_not().empty()) break;
      loop = outer;
    }
    taken_.push_back({pattern, loop, wait, false});
    tell(taken_.back());
    return true;
  }

  // Calls that stay in `patterns` and become other calls are exchanged there.
  bool apply(Patterns& patterns) {
    // All places are known before the first change: analyses are not kept up to date.
    std::vector<Persistent> calls;
    for (const Taken& taken : taken_) {
      Instruction* before = taken.loop->getLoopPreheader()->getTerminator();
      Invariant invariant(*taken.loop, analyses_.alias, analyses_.tree, true);
      Persistent& call = calls.emplace_back();
      call.call = taken.pattern.at;
      call.before = before;
      call.wait = taken.wait;
      call.nonblocking = taken.nonblocking;
      if (call.nonblocking) continue;
      for (Value* value : taken.pattern.at->args())
        call.arguments.push_back(invariant.copy_before(value, before));
      taken.loop->getUniqueExitBlocks(call.exits);
    }
    for (Persistent& call : calls) place_wait(call);
    for (const Persistent& call : calls) {
      if (!call.nonblocking) {
        make_persistent(call);
        continue;
      }
      const CallBase* old = call.call;
      CallBase* made = make_nonblocking(call);
      for (Pattern& pattern : patterns)
        if (pattern.at == old) pattern.at = made, pattern.call = made;
    }
    return !calls.empty();
  }

 private:
  struct Taken {
    Pattern pattern;
    Loop* loop;
    Instruction* wait;
    bool nonblocking;
  };
  // False: it is prepared as well.
  bool split(const Pattern& pattern, Loop& loop, Instruction* wait) {
    if (wait == nullptr)
      return miss(pattern, "Short", "not converted: so short a result needs no plan of its own");
    taken_.push_back({pattern, &loop, wait, true});
    remark<OptimizationRemark>(
        analyses_.remarks, "Split", *pattern.at,
        "made nonblocking; runs during the work up to the first use of its data" + line_of(wait));
    return false;
  }
  bool miss(const Pattern& pattern, const char* name, const std::string& text) {
    remark<OptimizationRemarkMissed>(analyses_.remarks, name, *pattern.at, text);
    return false;
  }
  void tell(const Taken& taken) {
    std::string text = "made persistent before " + place_of(*taken.loop);
    if (taken.wait != nullptr)
      text += "; runs during the work up to the first use of its data" + line_of(taken.wait);
    remark<OptimizationRemark>(analyses_.remarks, "Converted", *taken.pattern.at, text);
  }

  Function& function_;
  const Analyses& analyses_;
  Uniform& uniform_;
  std::vector<Taken> taken_;
};

}  // namespace

bool convert(Function& function, const Analyses& analyses, Uniform& uniform, Patterns& patterns) {
  Converter converter(function, analyses, uniform);
  std::erase_if(patterns, [&](const Pattern& pattern) { return converter.take(pattern); });
  return converter.apply(patterns);
}

}  // namespace herald::plans
