// SPDX-License-Identifier: BSD-3-Clause
#include "pattern.hpp"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/PostDominators.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Operator.h>

#include <cstring>

using namespace llvm;

namespace herald::plans {
namespace {

constexpr std::size_t kMostPatterns = 16;  // that a function hands to its callers

Pattern pattern_of(CallBase& call, const Procedure& procedure) {
  Pattern pattern;
  pattern.procedure = &procedure;
  pattern.large = is_large(call);
  pattern.at = &call;
  pattern.call = &call;
  for (unsigned i = 0; i < call.arg_size(); ++i)
    pattern.arguments[static_cast<Role>(procedure.roles[i])] = {call.getArgOperand(i)};
  pattern.arguments.erase(Role::none);
  const auto in_place = [&](Role role) {
    const Value* buffer = argument(call, procedure, role);
    return buffer != nullptr && is_in_place(buffer);
  };
  pattern.in_place = in_place(Role::sendbuf) || in_place(Role::recvbuf);
  return pattern;
}

// The value as a caller can compute it; nothing: it cannot.
Known outside(Value* value) {
  if (isa<Constant>(value) || isa<Argument>(value)) return {value};
  auto* load = dyn_cast<LoadInst>(value);
  auto* variable =
      load == nullptr ? nullptr : dyn_cast<GlobalVariable>(load->getPointerOperand()->stripPointerCasts());
  if (variable != nullptr && load->isSimple()) return {variable, load->getType()};
  if (auto* cast = dyn_cast<CastInst>(value); cast != nullptr && isa<Argument>(cast->getOperand(0)))
    return cast->getType()->isPointerTy() ? Known{cast->getOperand(0)} : Known{};
  return {};
}

Pattern mapped(const Pattern& pattern, CallBase& call) {
  Pattern result = pattern;
  result.at = &call;
  for (auto& [role, known] : result.arguments)
    if (auto* argument = dyn_cast<Argument>(known.value)) {
      known.value =
          argument->getArgNo() < call.arg_size() ? call.getArgOperand(argument->getArgNo()) : nullptr;
    }
  std::erase_if(result.arguments, [](const auto& entry) { return entry.second.value == nullptr; });
  return result;
}

}  // namespace

Patterns PatternFinder::in(Function& function) {
  Patterns found;
  for (Instruction& instruction : instructions(function)) {
    auto* call = dyn_cast<CallBase>(&instruction);
    if (call == nullptr) continue;
    if (const KnownCall known = known_call(*call); known.collective != nullptr) {
      found.push_back(pattern_of(*call, *known.collective));
      continue;
    }
    for (const Procedure* message : messages_of(*call)) found.push_back(pattern_of(*call, *message));
    auto* callee = const_cast<Function*>(callee_of(*call));
    if (callee == nullptr || callee->isDeclaration() || callee->isInterposable()) continue;
    for (const Pattern& pattern : summary(*callee)) found.push_back(mapped(pattern, *call));
  }
  return found;
}

const Patterns& PatternFinder::summary(Function& function) {
  const auto [place, is_new] = summaries_.try_emplace(&function);
  Entry& entry = place->second;
  if (!is_new) return entry.patterns;  // also while it is being made: a function that calls itself has none
  Patterns all = in(function);
  if (all.empty()) return entry.patterns;
  DominatorTree tree(function);
  const LoopInfo loops(tree);
  const PostDominatorTree after(function);
  for (Pattern& pattern : all) {
    if (loops.getLoopFor(pattern.at->getParent()) != nullptr) continue;
    if (entry.patterns.size() == kMostPatterns) break;
    pattern.always &= after.dominates(pattern.at->getParent(), &function.getEntryBlock());
    for (auto& [role, known] : pattern.arguments)
      if (known.loaded == nullptr) known = outside(known.value);
    std::erase_if(pattern.arguments, [](const auto& one) { return one.second.value == nullptr; });
    entry.patterns.push_back(std::move(pattern));
  }
  return entry.patterns;
}

}  // namespace herald::plans
