// SPDX-License-Identifier: BSD-3-Clause
// plugin/shims.hpp: what differs between the versions of LLVM that herald-plans is built for (14 to 19).
#pragma once
#include <llvm/Config/llvm-config.h>
#include <llvm/IR/BasicBlock.h>
#include <llvm/IR/DerivedTypes.h>
#include <llvm/IR/LLVMContext.h>

namespace herald::plans {

// LLVM 14 has typed pointers: every pointer that this pass hands on is cast to i8* there.
inline llvm::PointerType* pointer_type(llvm::LLVMContext& context) {
#if LLVM_VERSION_MAJOR >= 15
  return llvm::PointerType::get(context, 0);
#else
  return llvm::Type::getInt8PtrTy(context);
#endif
}

inline llvm::Instruction* insertion_point(llvm::BasicBlock& block) { return &*block.getFirstInsertionPt(); }

}  // namespace herald::plans
