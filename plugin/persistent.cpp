// SPDX-License-Identifier: BSD-3-Clause
#include "persistent.hpp"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include <string>

#include "helpers.hpp"
#include "mpi_calls.hpp"
#include "shims.hpp"

using namespace llvm;

namespace herald::plans {
namespace {

constexpr std::uint64_t kInfoNull = 0x130;  // of the ABI

// MPI_Bcast -> MPI_Bcast_init, MPI_Bcast_c -> MPI_Bcast_init_c. Weak: MPI-3 libraries do not have it.
FunctionCallee init_of(const CallBase& call) {
  Module& module = *const_cast<Module*>(call.getModule());
  PointerType* pointer = pointer_type(module.getContext());
  StringRef name = name_of_callee(call);
  const bool large = name.consume_back("_c");
  const ArrayRef<Type*> own = call.getFunctionType()->params();
  SmallVector<Type*, 12> types(own.begin(), own.end());
  types.push_back(pointer);
  types.push_back(pointer);
  const FunctionCallee init = module.getOrInsertFunction((name + "_init" + (large ? "_c" : "")).str(),
                                                         FunctionType::get(call.getType(), types, false));
  auto* declared = dyn_cast<Function>(FunctionCallee(init).getCallee()->stripPointerCasts());
  if (declared != nullptr && declared->isDeclaration())
    declared->setLinkage(GlobalValue::ExternalWeakLinkage);
  return init;
}

void initialize(const Persistent& made, AllocaInst* request) {
  FunctionCallee init = init_of(*made.call);
  PointerType* pointer = pointer_type(made.call->getContext());
  IRBuilder<> build(made.before);
  build.SetCurrentDebugLocation(made.call->getDebugLoc());
  build.CreateStore(ConstantPointerNull::get(pointer), request);
  Instruction* then = SplitBlockAndInsertIfThen(build.CreateIsNotNull(init.getCallee()), made.before, false);
  build.SetInsertPoint(then);
  build.SetCurrentDebugLocation(made.call->getDebugLoc());
  SmallVector<Value*, 12> arguments(made.arguments.begin(), made.arguments.end());
  arguments.push_back(handle(made.call->getContext(), kInfoNull));
  arguments.push_back(build.CreatePointerCast(request, pointer));
  Value* error = build.CreateCall(init, arguments);
  Value* got = build.CreateLoad(pointer, request);
  build.CreateStore(build.CreateSelect(build.CreateIsNull(error), got, ConstantPointerNull::get(pointer)),
                    request);
}

}  // namespace

void place_wait(Persistent& made) {
  CallBase& call = *made.call;
  PointerType* pointer = pointer_type(call.getContext());
  IRBuilder<> build(insertion_point(call.getFunction()->getEntryBlock()));
  made.request = build.CreateAlloca(pointer, nullptr, "plan");
  if (made.wait == nullptr) return;
  build.SetInsertPoint(made.wait);
  build.SetCurrentDebugLocation(call.getDebugLoc());
  build.CreateCall(Helpers(*call.getModule()).wait(), {build.CreatePointerCast(made.request, pointer)});
}

CallBase* make_nonblocking(const Persistent& made) {
  CallBase& call = *made.call;
  Module& module = *call.getModule();
  PointerType* pointer = pointer_type(module.getContext());
  StringRef name = name_of_callee(call);  // MPI_Allreduce -> MPI_Iallreduce
  const ArrayRef<Type*> own = call.getFunctionType()->params();
  SmallVector<Type*, 12> types(own.begin(), own.end());
  types.push_back(pointer);
  const FunctionCallee start =
      module.getOrInsertFunction("MPI_I" + name.substr(4, 1).lower() + name.substr(5).str(),
                                 FunctionType::get(call.getType(), types, false));
  IRBuilder<> build(&call);
  build.CreateStore(ConstantPointerNull::get(pointer), made.request);
  SmallVector<Value*, 12> arguments(call.arg_begin(), call.arg_end());
  arguments.push_back(build.CreatePointerCast(made.request, pointer));
  CallInst* started = build.CreateCall(start, arguments);
  started->setDebugLoc(call.getDebugLoc());
  call.eraseFromParent();
  return started;
}

void make_persistent(const Persistent& made) {
  CallBase& call = *made.call;
  AllocaInst* const request = made.request;
  Helpers helpers(*call.getModule());
  PointerType* pointer = pointer_type(call.getContext());
  initialize(made, request);
  IRBuilder<> build(call.getContext());
  for (BasicBlock* exit : made.exits) {
    build.SetInsertPoint(insertion_point(*exit));
    build.CreateCall(helpers.free(), {build.CreatePointerCast(request, pointer)});
  }
  build.SetInsertPoint(&call);
  Value* ready = build.CreateIsNotNull(build.CreateLoad(pointer, request));
  Instruction *then = nullptr, *otherwise = nullptr;
  SplitBlockAndInsertIfThenElse(ready, &call, &then, &otherwise);
  BasicBlock* tail = call.getParent();
  build.SetInsertPoint(then);
  build.SetCurrentDebugLocation(call.getDebugLoc());
  FunctionCallee begin = made.wait != nullptr ? helpers.start() : helpers.run();
  Value* result = build.CreateCall(begin, {build.CreatePointerCast(request, pointer)});
  if (!call.use_empty()) {
    PHINode* phi = PHINode::Create(call.getType(), 2, "", place_before(insertion_point(*tail)));
    call.replaceAllUsesWith(phi);
    phi->addIncoming(result, then->getParent());
    phi->addIncoming(&call, otherwise->getParent());
  }
  call.moveBefore(place_before(otherwise));
}

}  // namespace herald::plans
