// SPDX-License-Identifier: BSD-3-Clause
// plugin/plugin.cpp: the pass herald-plans, as a plugin of clang and opt (docs/plans.md).
// Early in the pipeline it keeps loops with collectives from being unrolled away; at its end, after inlining
// and the other passes on loops, it inserts hints or converts calls.
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

constexpr const char* kDone = "herald.plans";  // metadata of functions that the pass has seen

bool has_collectives(Module& module) {
  return any_of(module, [](const Function& function) {
    StringRef name = function.getName();
    return function.isDeclaration() && name.consume_front("MPI_") && !function.use_empty();
  });
}

// Unrolling gains nothing where ranks communicate, and would leave calls without their loop.
struct KeepLoops : PassInfoMixin<KeepLoops> {
  PreservedAnalyses run(Module& module, ModuleAnalysisManager& /*analyses*/) {
    if (!has_collectives(module)) return PreservedAnalyses::all();
    for (Function& function : module) {
      if (function.isDeclaration()) continue;
      std::unique_ptr<DominatorTree> tree;
      std::unique_ptr<LoopInfo> loops;
      for (Instruction& instruction : instructions(function)) {
        const auto* call = dyn_cast<CallBase>(&instruction);
        if (call == nullptr || known_call(*call).collective == nullptr) continue;
        if (!tree) {
          tree = std::make_unique<DominatorTree>(function);
          loops = std::make_unique<LoopInfo>(*tree);
        }
        for (Loop* loop = loops->getLoopFor(call->getParent()); loop != nullptr; loop = loop->getParentLoop())
          keep(*loop);
      }
    }
    return PreservedAnalyses::all();
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
      if (!function.isDeclaration() && function.getMetadata(kDone) == nullptr) defined.push_back(&function);
    for (Function* function : defined) changed |= one(*function, functions, finder, uniform);
    return changed ? PreservedAnalyses::none() : PreservedAnalyses::all();
  }
  static bool isRequired() { return true; }

 private:
  static bool one(Function& function, FunctionAnalysisManager& manager, PatternFinder& finder,
                  Uniform& uniform) {
    Patterns patterns = finder.in(function);
    tell_partners(function, manager);
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
    function.setMetadata(kDone, MDNode::get(function.getContext(), {}));
    const auto analyses = [&] {
      return Analyses{manager.getResult<LoopAnalysis>(function),
                      manager.getResult<DominatorTreeAnalysis>(function),
                      manager.getResult<AAManager>(function),
                      manager.getResult<OptimizationRemarkEmitterAnalysis>(function)};
    };
    uniform.forget(function);
    bool changed = !kept.areAllPreserved();
    if (convert(function, analyses(), uniform, patterns)) {
      manager.invalidate(function, PreservedAnalyses::none());
      uniform.forget(function);
      changed = true;
    }
    return prepare(function, analyses(), patterns) || changed;
  }

  // Sends and receives with the same partner in every iteration are found, and left as they are.
  static void tell_partners(Function& function, FunctionAnalysisManager& manager) {
    for (Instruction& instruction : instructions(function)) {
      const auto* call = dyn_cast<CallBase>(&instruction);
      const int partner = call == nullptr ? -1 : partner_of(*call);
      if (partner < 0) continue;
      const Loop* loop = manager.getResult<LoopAnalysis>(function).getLoopFor(call->getParent());
      if (loop == nullptr || !loop->isLoopInvariant(call->getArgOperand(static_cast<unsigned>(partner))))
        continue;
      remark<OptimizationRemarkAnalysis>(manager.getResult<OptimizationRemarkEmitterAnalysis>(function),
                                         "SamePartner", *call,
                                         "the same partner in every iteration of " + place_of(*loop) +
                                             "; nothing to prepare, it is left as it is");
    }
  }
};

void add_passes(PassBuilder& builder) {
  builder.registerPipelineEarlySimplificationEPCallback([](ModulePassManager& passes, auto... /*level*/) {
    if (mode_of_option() != Mode::none) passes.addPass(KeepLoops());
  });
  builder.registerOptimizerLastEPCallback([](ModulePassManager& passes, auto... /*level*/) {
    if (mode_of_option() != Mode::none) passes.addPass(Plans());
  });
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
