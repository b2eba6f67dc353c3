// SPDX-License-Identifier: BSD-3-Clause
#include "messages.hpp"

#include <llvm/IR/IRBuilder.h>

#include "helpers.hpp"
#include "proof.hpp"
#include "remarks.hpp"
#include "shims.hpp"

using namespace llvm;

namespace herald::plans {
namespace {

// The library sends and receives a short message without a request, which is faster.
bool is_short_message(const Pattern& pattern) {
  constexpr std::uint64_t kShort = 64;  // items
  if (pattern.arguments.count(Role::request) != 0) return false;
  const bool sends = pattern.procedure->operation == kSend;
  const auto* count =
      dyn_cast<ConstantInt>(pattern.arguments.at(sends ? Role::sendcount : Role::recvcount).value);
  return count != nullptr && count->getValue().ule(kShort);
}

}  // namespace

std::string MessageConverter::why_not(const Pattern& pattern, Loop& loop, Waits& waits) const {
  if (std::string why = Proof(pattern, analyses_, loop).why_not(); !why.empty()) return why;
  const auto request = pattern.arguments.find(Role::request);
  return request == pattern.arguments.end() ? ""
                                            : find_waits(*pattern.at, request->second.value, loop, waits);
}

bool MessageConverter::take(const Pattern& pattern) {
  Loop* loop = analyses_.loops.getLoopFor(pattern.at->getParent());
  const auto miss = [&](const char* name, const std::string& why) {
    missed(analyses_.remarks, analyses_.loops, name, *pattern.at, "not converted: " + why);
    return false;
  };
  if (pattern.at != pattern.call)
    return miss("InFunction", "it is called in another function; let that be inlined, or put the loop there");
  if (messages_of(*pattern.at).size() == 2) return miss("NoGain", "it gains nothing by requests of its own");
  if (is_short_message(pattern)) return miss("Short", "so short a message needs no request of its own");
  Waits waits;
  if (const std::string why = why_not(pattern, *loop, waits); !why.empty()) return miss("NotProven", why);
  for (Loop* outer = loop->getParentLoop(); outer != nullptr; outer = outer->getParentLoop()) {
    Waits all;
    if (!why_not(pattern, *outer, all).empty()) break;
    loop = outer;
    waits = all;
  }
  waits_.insert(waits.begin(), waits.end());
  Taken& taken = taken_.emplace_back();
  taken.call = pattern.at;
  taken.message = pattern.procedure;
  taken.before = loop->getLoopPreheader()->getTerminator();
  loop->getUniqueExitBlocks(taken.exits);
  remark<OptimizationRemark>(analyses_.remarks, "Converted", *pattern.at,
                             "made persistent by its first call in " + place_of(*loop));
  return true;
}

bool MessageConverter::apply() {
  for (const Taken& taken : taken_) rewrite(taken);
  for (CallBase* wait : waits_) {
    Helpers helpers(*wait->getModule());
    wait->setCalledFunction(helpers.complete(*wait));
  }
  return !taken_.empty();
}

void MessageConverter::rewrite(const Taken& taken) {
  CallBase& call = *taken.call;
  Helpers helpers(*call.getModule());
  PointerType* const pointer = pointer_type(call.getContext());
  IRBuilder<> build(call.getContext());
  SmallVector<Value*, 16> arguments(call.arg_begin(), call.arg_end());
  build.SetInsertPoint(insertion_point(call.getFunction()->getEntryBlock()));
  AllocaInst* plan = build.CreateAlloca(pointer, nullptr, "plan");
  build.SetInsertPoint(taken.before);
  build.CreateStore(ConstantPointerNull::get(pointer), plan);
  for (BasicBlock* exit : taken.exits) {
    build.SetInsertPoint(insertion_point(*exit));
    build.CreateCall(helpers.free(), {build.CreatePointerCast(plan, pointer)});
  }
  build.SetInsertPoint(&call);
  arguments.push_back(build.CreatePointerCast(plan, pointer));
  CallInst* made = build.CreateCall(helpers.message(call, *taken.message), arguments);
  made->setDebugLoc(call.getDebugLoc());
  call.replaceAllUsesWith(made);
  call.eraseFromParent();
}

}  // namespace herald::plans
