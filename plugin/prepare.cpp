// SPDX-License-Identifier: BSD-3-Clause
#include "prepare.hpp"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <set>
#include <string>
#include <tuple>

#include "helpers.hpp"
#include "invariant.hpp"
#include "options.hpp"
#include "remarks.hpp"
#include "shims.hpp"

using namespace llvm;

namespace herald::plans {
namespace {

// A function of our own in each module: calls the function of the library if there is one.
FunctionCallee weak_call(Module& module, StringRef name, StringRef library_name, ArrayRef<Type*> arguments) {
  LLVMContext& context = module.getContext();
  auto* outer = FunctionType::get(Type::getVoidTy(context), arguments, false);
  auto* inner = FunctionType::get(Type::getInt32Ty(context), arguments, false);
  bool is_new = false;
  Function* made = own_function(module, name.str(), outer, is_new);
  if (!is_new) return made;
  made->addFnAttr(Attribute::NoInline);
  FunctionCallee library = module.getOrInsertFunction(library_name, inner);
  if (auto* declared = dyn_cast<Function>(library.getCallee()->stripPointerCasts());
      declared != nullptr && declared->isDeclaration())
    declared->setLinkage(GlobalValue::ExternalWeakLinkage);
  auto* entry = BasicBlock::Create(context, "", made);
  auto* present = BasicBlock::Create(context, "present", made);
  auto* done = BasicBlock::Create(context, "done", made);
  IRBuilder<> build(entry);
  build.CreateCondBr(build.CreateIsNotNull(library.getCallee()), present, done);
  build.SetInsertPoint(present);
  SmallVector<Value*, 16> passed;
  for (Argument& argument : made->args()) passed.push_back(&argument);
  build.CreateCall(library, passed);
  build.CreateBr(done);
  build.SetInsertPoint(done);
  build.CreateRetVoid();
  return made;
}

// One hint in the making.
class Hoist {
 public:
  Hoist(const Pattern& pattern, const Analyses& analyses, Loop& innermost)
      : pattern_(pattern), analyses_(analyses), loop_(&innermost), known_(known_in(innermost)) {
    // The outermost loop in which as much is known.
    for (Loop* outer = loop_->getParentLoop(); outer != nullptr; outer = outer->getParentLoop()) {
      if (known_in(*outer) != known_ || outer->getLoopPreheader() == nullptr) break;
      loop_ = outer;
    }
  }

  Loop& loop() const { return *loop_; }
  bool knows(Role role) const { return known_.count(role) != 0; }
  std::string left_open() const {
    std::string names;
    for (const char* letter = pattern_.procedure->roles; *letter != '\0'; ++letter) {
      const Role role = static_cast<Role>(*letter);
      if (is_buffer(role) || is_left_out(role) || knows(role)) continue;
      names += (names.empty() ? "" : ", ") + std::string(name_of(role));
    }
    return names;
  }
  SmallVector<Value*, 16> arguments(Instruction* at) const;

 private:
  std::set<Role> known_in(Loop& loop) const {
    std::set<Role> known;
    const Invariant invariant(loop, analyses_.alias, analyses_.tree, false);
    const bool always = pattern_.always && invariant.always_runs(*pattern_.at);
    for (const auto& [role, argument] : pattern_.arguments) {
      if (is_buffer(role) || is_left_out(role)) continue;
      const bool same =
          argument.loaded != nullptr ? invariant.unwritten(argument.value) : invariant.holds(argument.value);
      // An array is read by the hint: only if the call would read it for certain, with the same content.
      if (same && (!is_array(role) || (always && invariant.unwritten(argument.value)))) known.insert(role);
    }
    return known;
  }

  const Pattern& pattern_;
  const Analyses& analyses_;
  Loop* loop_;
  std::set<Role> known_;
};

SmallVector<Value*, 16> Hoist::arguments(Instruction* at) const {
  IRBuilder<> build(at);
  Invariant invariant(*loop_, analyses_.alias, analyses_.tree, false);
  const auto value = [&](Role role) -> Value* {
    if (!knows(role)) return nullptr;
    const Known& argument = pattern_.arguments.at(role);
    return argument.loaded != nullptr ? build.CreateLoad(argument.loaded, argument.value)
                                      : invariant.copy_before(argument.value, at);
  };
  const auto pointer = [&](Role role) -> Value* {
    Value* found = value(role);
    PointerType* type = pointer_type(at->getContext());
    return found == nullptr ? ConstantPointerNull::get(type) : build.CreatePointerCast(found, type);
  };
  const auto number = [&](Role role, Type* type) -> Value* {
    Value* found = value(role);
    return found == nullptr ? ConstantInt::getSigned(type, kUnknown) : build.CreateSExtOrTrunc(found, type);
  };
  Type* const i32 = build.getInt32Ty();
  Type* const i64 = build.getInt64Ty();
  const int flags = (pattern_.large ? kLarge : 0) | (pattern_.in_place ? kInPlace : 0);
  return {build.getInt32(static_cast<std::uint32_t>(pattern_.procedure->operation)),
          pointer(Role::comm),
          number(pattern_.procedure->is_message() ? Role::partner : Role::root, i32),
          pointer(Role::op),
          build.getInt32(static_cast<std::uint32_t>(flags)),
          number(Role::sendcount, i64),
          pointer(Role::sendcounts),
          pointer(Role::sdispls),
          pointer(Role::sendtype),
          pointer(Role::sendtypes),
          number(Role::recvcount, i64),
          pointer(Role::recvcounts),
          pointer(Role::rdispls),
          pointer(Role::recvtype),
          pointer(Role::recvtypes)};
}

class Inserter {
 public:
  Inserter(Function& function, const Analyses& analyses) : function_(function), analyses_(analyses) {}

  bool insert(const Pattern& pattern) {
    Loop* innermost = analyses_.loops.getLoopFor(pattern.at->getParent());
    if (innermost == nullptr) return false;
    if (permission(function_, innermost).mode == Mode::none) {
      remark<OptimizationRemarkAnalysis>(analyses_.remarks, "Forbidden", *pattern.at,
                                         "left alone, as the source asks (MPIX_PLAN)");
      return false;
    }
    if (innermost->getLoopPreheader() == nullptr)
      return miss(pattern, "NoPreheader",
                  "not prepared: its loop has more than one entry; use a for or while loop");
    const Hoist hoist(pattern, analyses_, *innermost);
    if (!hoist.knows(Role::comm))
      return miss(pattern, "CommChanges",
                  "not prepared: the communicator is not known before the loop; make it before the loop");
    if (pattern.procedure->is_message() && !has_partner(pattern, hoist)) return false;
    tell(pattern, hoist);
    return emit(hoist);
  }

 private:
  bool miss(const Pattern& pattern, const char* name, const std::string& text) {
    missed(analyses_.remarks, analyses_.loops, name, *pattern.at, text);
    return false;
  }
  bool has_partner(const Pattern& pattern, const Hoist& hoist) {
    if (!hoist.knows(Role::partner))
      return miss(pattern, "PartnerChanges",
                  "not prepared: the partner is not known before the loop; compute it before the loop");
    const auto* partner = dyn_cast<ConstantInt>(pattern.arguments.at(Role::partner).value);
    if (partner == nullptr || !partner->isNegative()) return true;
    return miss(pattern, "NoPartner", "not prepared: no rank is named; name the source if it is known");
  }
  void tell(const Pattern& pattern, const Hoist& hoist) {
    std::string text = (pattern.procedure->is_message() ? "partner" : "plan") +
                       std::string(" prepared before ") + place_of(hoist.loop());
    if (pattern.call != pattern.at)
      text.insert(text.find(' '), " of " + name_of_callee(*pattern.call).str() + " in it");
    if (const std::string open = hoist.left_open(); !open.empty()) text += "; not known there: " + open;
    remark<OptimizationRemark>(analyses_.remarks, "Prepared", *pattern.at, text);
  }

  bool emit(const Hoist& hoist) {
    Module& module = *function_.getParent();
    Instruction* at = hoist.loop().getLoopPreheader()->getTerminator();
    const SmallVector<Value*, 16> arguments = hoist.arguments(at);
    // Several calls of a loop may give the same hint.
    if (!hinted_.insert({&hoist.loop(), std::vector<Value*>(arguments.begin(), arguments.end())}).second)
      return true;
    SmallVector<Type*, 16> types;
    for (Value* argument : arguments) types.push_back(argument->getType());
    IRBuilder<> build(at);
    build.CreateCall(weak_call(module, "herald_plan_prepare", "MPIX_Plan_prepare", types), arguments);
    release(hoist.loop(), {arguments[0], arguments[1]});
    return true;
  }

  void release(Loop& loop, ArrayRef<Value*> arguments) {
    if (!released_.insert({&loop, arguments[0], arguments[1]}).second) return;
    SmallVector<BasicBlock*, 4> exits;
    loop.getUniqueExitBlocks(exits);
    for (BasicBlock* exit : exits) {
      if (exit->isEHPad() || isa<UnreachableInst>(exit->getTerminator()) ||
          !analyses_.tree.dominates(loop.getLoopPreheader(), exit))
        continue;
      IRBuilder<> build(insertion_point(*exit));
      build.CreateCall(weak_call(*function_.getParent(), "herald_plan_release", "MPIX_Plan_release",
                                 {arguments[0]->getType(), arguments[1]->getType()}),
                       arguments);
    }
  }

  Function& function_;
  const Analyses& analyses_;
  std::set<std::pair<Loop*, std::vector<Value*>>> hinted_;
  std::set<std::tuple<Loop*, Value*, Value*>> released_;
};

}  // namespace

bool prepare(Function& function, const Analyses& analyses, const Patterns& patterns) {
  Inserter inserter(function, analyses);
  bool changed = false;
  for (const Pattern& pattern : patterns) changed |= inserter.insert(pattern);
  return changed;
}

}  // namespace herald::plans
