// SPDX-License-Identifier: BSD-3-Clause
#include "convert.hpp"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

#include <cstring>
#include <string>

#include "invariant.hpp"
#include "messages.hpp"
#include "options.hpp"
#include "overlap.hpp"
#include "persistent.hpp"
#include "proof.hpp"
#include "remarks.hpp"

using namespace llvm;

namespace herald::plans {
namespace {

// A short result between hosts is an exchange that needs no plan, if the ranks start their calls in the same
// order: those of persistent requests need not. So a plan of its own would be slower.
bool is_short(const Pattern& pattern) {
  constexpr std::uint64_t kShort = 16;  // items
  const StringRef name = pattern.procedure->name;
  if (name != "Allreduce" && name != "Allgather") return false;
  const auto known = pattern.arguments.find(Role::recvcount);
  const auto* count = known == pattern.arguments.end() ? nullptr : dyn_cast<ConstantInt>(known->second.value);
  return count != nullptr && count->getValue().ule(kShort);
}

class Converter {
 public:
  Converter(Function& function, const Analyses& analyses, Uniform& uniform)
      : function_(function), analyses_(analyses), uniform_(uniform), messages_(analyses) {}

  // True: it becomes persistent, once apply() is called.
  bool take(const Pattern& pattern) {
    Loop* loop = analyses_.loops.getLoopFor(pattern.at->getParent());
    if (loop == nullptr) return false;
    const Permission allowed = permission(function_, loop);
    if (allowed.mode != Mode::convert) return false;
    if (pattern.procedure->is_message()) return messages_.take(pattern);
    if (pattern.at != pattern.call)
      return miss(
          pattern, "InFunction",
          "not converted: it is called in another function; let that be inlined, or put the loop there");
    if (pattern.procedure->operation == 0)
      return miss(pattern, "Barrier", "not converted: a barrier has no plan to keep");
    if (const std::string why = Proof(pattern, analyses_, *loop).why_not(); !why.empty())
      return miss(pattern, "NotProven", "not converted: " + why);
    if (!allowed.vouched)
      if (const char* why = uniform_.why_not(*pattern.at->getParent()))
        return miss(pattern, "MayDiffer", "not converted: " + (why + line_of(uniform_.branch())));
    Instruction* wait = end_of_overlap(*pattern.at, *pattern.procedure, *loop, analyses_);
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
    return messages_.apply() || !calls.empty();
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
    missed(analyses_.remarks, analyses_.loops, name, *pattern.at, text);
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
  MessageConverter messages_;
  std::vector<Taken> taken_;
};

}  // namespace

bool convert(Function& function, const Analyses& analyses, Uniform& uniform, Patterns& patterns) {
  Converter converter(function, analyses, uniform);
  std::erase_if(patterns, [&](const Pattern& pattern) { return converter.take(pattern); });
  return converter.apply(patterns);
}

}  // namespace herald::plans
