// SPDX-License-Identifier: BSD-3-Clause
// plugin/shims.hpp: what differs between the versions of LLVM that herald-plans is built for (14 to 22).
#pragma once
#include <llvm/Config/llvm-config.h>
#include <llvm/IR/BasicBlock.h>
#include <llvm/IR/DerivedTypes.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/Passes/PassBuilder.h>
#if LLVM_VERSION_MAJOR >= 22
#include <llvm/Plugins/PassPlugin.h>
#else
#include <llvm/Passes/PassPlugin.h>
#endif

namespace herald::plans {

// LLVM 14 has typed pointers: every pointer that this pass hands on is cast to i8* there.
inline llvm::PointerType* pointer_type(llvm::LLVMContext& context) {
#if LLVM_VERSION_MAJOR >= 15
  return llvm::PointerType::get(context, 0);
#else
  return llvm::Type::getInt8PtrTy(context);
#endif
}

inline llvm::PointerType* pointer_to(llvm::PointerType* type) {
#if LLVM_VERSION_MAJOR >= 15
  return type;
#else
  return llvm::PointerType::get(type, 0);
#endif
}

// The link step of -flto=full has an end of its own from LLVM 15 on; lld of LLVM 14 loads no passes.
template <class Add>
void at_end_of_full_lto(llvm::PassBuilder& builder, Add add) {
#if LLVM_VERSION_MAJOR >= 15
  builder.registerFullLinkTimeOptimizationLastEPCallback(add);
#else
  (void)builder, (void)add;
#endif
}

// From LLVM 22 on, debug information is beside the instructions.
inline bool is_debug_info(const llvm::Instruction& instruction) {
#if LLVM_VERSION_MAJOR >= 22
  return llvm::isa<llvm::DbgLabelInst>(instruction) || llvm::isa<llvm::DbgVariableIntrinsic>(instruction);
#else
  return llvm::isa<llvm::DbgInfoIntrinsic>(instruction);
#endif
}

// Iterators became the only way to name a place.
#if LLVM_VERSION_MAJOR >= 20
inline llvm::BasicBlock::iterator place_before(llvm::Instruction* at) { return at->getIterator(); }
#else
inline llvm::Instruction* place_before(llvm::Instruction* at) { return at; }
#endif

inline llvm::Instruction* insertion_point(llvm::BasicBlock& block) { return &*block.getFirstInsertionPt(); }

}  // namespace herald::plans
