// SPDX-License-Identifier: BSD-3-Clause
// plugin/plugin.cpp: the pass herald-plans, as a plugin of clang and opt (docs/plans.md).
// Early in the pipeline it keeps loops with collectives from being unrolled away; at its end, after inlining
// and the other passes on loops, it inserts hints or converts calls. With LTO both run in the link step too,
// where functions of other modules are known.
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Transforms/Utils/LoopSimplify.h>
#include <llvm/Transforms/Utils/LoopUtils.h>

#include "convert.hpp"
#include "options.hpp"
#include "prepare.hpp"
#include "remarks.hpp"
#include "shims.hpp"

using namespace llvm;

namespace herald::plans {
namespace {

constexpr const char* kDone = "herald.plans";  // metadata of calls that the pass has looked at

bool has_collectives(Module& module) {
  return any_of(module, [](const Function& function) {
    StringRef name = function.getName();
    return function.isDeclaration() && name.consume_front("MPI_") && !function.use_empty();
  });
}

// The partner is the same in every iteration, or read from the same place. Another loop may be one over
// partners, which unrolling names.
bool has_fixed_partner(const CallBase& call, const Loop& loop) {
  return any_of(messages_of(call), [&](const Procedure* message) {
    const Value* partner = argument(call, *message, Role::partner);
    if (const auto* load = dyn_cast<LoadInst>(partner)) partner = load->getPointerOperand();
    return loop.isLoopInvariant(partner);
  });
}

// A function of another file that the link step may bring in. Those of the C library are known to free
// nothing.
bool may_communicate(const CallBase& call) {
  const Function* callee = callee_of(call);
  return callee != nullptr && callee->isDeclaration() && !callee->isIntrinsic() &&
         !callee->hasFnAttribute(Attribute::NoFree) && name_of_callee(call).take_front(4) != "MPI_";
}

// Unrolling gains nothing where ranks communicate, and would leave calls without their loop.
struct KeepLoops : PassInfoMixin<KeepLoops> {
  PreservedAnalyses run(Module& module, ModuleAnalysisManager& /*analyses*/) {
    record_mode(module);
    if (!has_collectives(module)) return PreservedAnalyses::all();
    adopt_imported(module);
    const bool with_lto = module.getModuleFlag("EnableSplitLTOUnit") != nullptr;
    for (Function& function : module) {
      if (function.isDeclaration() || mode_of(function) == Mode::none) continue;
      std::unique_ptr<DominatorTree> tree;
      std::unique_ptr<LoopInfo> loops;
      for (Instruction& instruction : instructions(function)) {
        const auto* call = dyn_cast<CallBase>(&instruction);
        if (call == nullptr) continue;
        const bool all = known_call(*call).collective != nullptr || (with_lto && may_communicate(*call));
        if (!all && messages_of(*call).empty()) continue;
        if (!tree) {
          tree = std::make_unique<DominatorTree>(function);
          loops = std::make_unique<LoopInfo>(*tree);
        }
        for (Loop* loop = loops->getLoopFor(call->getParent()); loop != nullptr; loop = loop->getParentLoop())
          if (all || has_fixed_partner(*call, *loop)) keep(*loop);
      }
    }
    return PreservedAnalyses::all();
  }
  // ThinLTO imports functions only until inlining is over. Those that communicate become functions of this
  // module.
  static void adopt_imported(Module& module) {
    PatternFinder finder;
    for (Function& function : module) {
      const bool only_called = all_of(function.uses(), [](const Use& use) {
        const auto* call = dyn_cast<CallBase>(use.getUser());
        return call != nullptr && call->isCallee(&use);
      });
      if (!function.hasAvailableExternallyLinkage() || !only_called || finder.in(function).empty()) continue;
      function.setComdat(nullptr);
      function.setLinkage(GlobalValue::InternalLinkage);
      function.setDSOLocal(true);
    }
  }
  static void keep(Loop& loop) {
    LLVMContext& context = loop.getHeader()->getContext();
    MDNode* const mark = MDNode::get(context, MDString::get(context, "llvm.loop.unroll.disable"));
    loop.setLoopID(makePostTransformationMetadata(context, loop.getLoopID(), {"llvm.loop.unroll."}, {mark}));
  }
};

class Plans : public PassInfoMixin<Plans> {
 public:
  PreservedAnalyses run(Module& module, ModuleAnalysisManager& analyses) {
    if (!has_collectives(module)) return PreservedAnalyses::all();
    auto& functions = analyses.getResult<FunctionAnalysisManagerModuleProxy>(module).getManager();
    PatternFinder finder;
    Uniform uniform(module);
    bool changed = false;
    std::vector<Function*> defined;
    for (Function& function : module)
      if (!function.isDeclaration() && mode_of(function) != Mode::none) defined.push_back(&function);
    for (Function* function : defined) changed |= one(*function, functions, finder, uniform);
    return changed ? PreservedAnalyses::none() : PreservedAnalyses::all();
  }
  static bool isRequired() { return true; }

 private:
  static bool one(Function& function, FunctionAnalysisManager& manager, PatternFinder& finder,
                  Uniform& uniform) {
    Patterns patterns = finder.in(function);
    std::erase_if(patterns, [](const Pattern& one) { return one.at->getMetadata(kDone) != nullptr; });
    if (patterns.empty()) return false;
    auto& remarks = manager.getResult<OptimizationRemarkEmitterAnalysis>(function);
    if (function.hasOptNone()) {
      for (const Pattern& pattern : patterns)
        remark<OptimizationRemarkMissed>(
            remarks, "NotOptimized", *pattern.at,
            "not looked at, because nothing is optimised here; compile with -O1 or more");
      return false;
    }
    // Preheaders and exits of their own. Nothing else needs the loops any more.
    FunctionPassManager simplify;
    simplify.addPass(LoopSimplifyPass());
    const PreservedAnalyses kept = simplify.run(function, manager);
    manager.invalidate(function, kept);
    const auto analyses = [&] {
      return Analyses{manager.getResult<LoopAnalysis>(function),
                      manager.getResult<DominatorTreeAnalysis>(function),
                      manager.getResult<AAManager>(function),
                      manager.getResult<OptimizationRemarkEmitterAnalysis>(function)};
    };
    uniform.forget(function);
    mark(patterns, manager.getResult<LoopAnalysis>(function));
    bool changed = !kept.areAllPreserved();
    if (convert(function, analyses(), uniform, patterns)) {
      manager.invalidate(function, PreservedAnalyses::none());
      uniform.forget(function);
      changed = true;
    }
    return prepare(function, analyses(), patterns) || changed;
  }

  // A call outside of loops may be in one after the link step has inlined its function.
  static void mark(const Patterns& patterns, const LoopInfo& loops) {
    for (const Pattern& pattern : patterns)
      if (loops.getLoopFor(pattern.at->getParent()) != nullptr)
        pattern.at->setMetadata(kDone, MDNode::get(pattern.at->getContext(), {}));
  }
};

void add_passes(PassBuilder& builder) {
  builder.registerPipelineEarlySimplificationEPCallback(
      [](ModulePassManager& passes, auto... /*level*/) { passes.addPass(KeepLoops()); });
  builder.registerOptimizerLastEPCallback(
      [](ModulePassManager& passes, auto... /*level*/) { passes.addPass(Plans()); });
  at_end_of_full_lto(builder, [](ModulePassManager& passes, auto... /*level*/) { passes.addPass(Plans()); });
  builder.registerPipelineParsingCallback(
      [](StringRef name, ModulePassManager& passes, ArrayRef<PassBuilder::PipelineElement> /*inner*/) {
        if (name == "herald-keep-loops") passes.addPass(KeepLoops());
        if (name == kPass) passes.addPass(Plans());
        return name == kPass || name == "herald-keep-loops";
      });
}

}  // namespace
}  // namespace herald::plans

extern "C" LLVM_ATTRIBUTE_WEAK PassPluginLibraryInfo llvmGetPassPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "herald-plans", LLVM_VERSION_STRING, herald::plans::add_passes};
}
