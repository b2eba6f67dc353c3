// SPDX-License-Identifier: BSD-3-Clause
#include "persistent.hpp"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include <string>

#include "mpi_calls.hpp"
#include "shims.hpp"

using namespace llvm;

namespace herald::plans {
namespace {

constexpr std::uint64_t kInfoNull = 0x130;  // of the ABI

Constant* handle(LLVMContext& context, std::uint64_t value) {
  return ConstantExpr::getIntToPtr(ConstantInt::get(Type::getInt64Ty(context), value), pointer_type(context));
}

// Functions that the pass adds to a module: int f(MPI_Request*).
class Helpers {
 public:
  explicit Helpers(Module& module)
      : module_(module),
        context_(module.getContext()),
        pointer_(pointer_type(context_)),
        int_(Type::getInt32Ty(context_)),
        type_(FunctionType::get(int_, {pointer_}, false)) {}

  FunctionCallee start() { return mpi("MPI_Start", {pointer_}); }
  FunctionCallee run() {
    return make("herald_plan_run", [this](IRBuilder<>& build, Function& function) {
      Value* error = build.CreateCall(start(), {function.getArg(0)});
      auto* good = BasicBlock::Create(context_, "good", &function);
      auto* bad = BasicBlock::Create(context_, "bad", &function);
      build.CreateCondBr(build.CreateIsNull(error), good, bad);
      build.SetInsertPoint(bad);
      build.CreateRet(error);
      build.SetInsertPoint(good);
      build.CreateRet(wait_call(build, function));
    });
  }
  // Nothing to wait for if the call ran as it was.
  FunctionCallee wait() {
    return make("herald_plan_wait", [this](IRBuilder<>& build, Function& function) {
      if_request(build, function);
      build.CreateRet(wait_call(build, function));
    });
  }
  FunctionCallee free() {
    return make("herald_plan_free", [this](IRBuilder<>& build, Function& function) {
      Value* flag = build.CreateAlloca(int_);
      build.CreateStore(build.getInt32(0), flag);
      if_request(build, function);
      build.CreateCall(mpi("MPI_Finalized", {flag->getType()}), {flag});
      auto* live = BasicBlock::Create(context_, "live", &function);
      auto* done = BasicBlock::Create(context_, "done", &function);
      build.CreateCondBr(build.CreateIsNull(build.CreateLoad(int_, flag)), live, done);
      build.SetInsertPoint(live);
      build.CreateRet(build.CreateCall(mpi("MPI_Request_free", {pointer_}), {function.getArg(0)}));
      build.SetInsertPoint(done);
      build.CreateRet(build.getInt32(0));
    });
  }

 private:
  FunctionCallee mpi(StringRef name, ArrayRef<Type*> arguments) {
    return module_.getOrInsertFunction(name, FunctionType::get(int_, arguments, false));
  }
  Value* wait_call(IRBuilder<>& build, Function& function) {
    return build.CreateCall(mpi("MPI_Wait", {pointer_, pointer_}),
                            {function.getArg(0), ConstantPointerNull::get(pointer_)});
  }
  void if_request(IRBuilder<>& build, Function& function) {
    Value* at = build.CreatePointerCast(function.getArg(0), pointer_to(pointer_));
    auto* some = BasicBlock::Create(context_, "request", &function);
    auto* none = BasicBlock::Create(context_, "none", &function);
    build.CreateCondBr(build.CreateIsNotNull(build.CreateLoad(pointer_, at)), some, none);
    build.SetInsertPoint(none);
    build.CreateRet(build.getInt32(0));
    build.SetInsertPoint(some);
  }
  template <class Body>
  FunctionCallee make(StringRef name, Body body) {
    if (Function* made = module_.getFunction(name)) return made;
    Function* made = Function::Create(type_, GlobalValue::LinkOnceODRLinkage, name, module_);
    made->setVisibility(GlobalValue::HiddenVisibility);
    made->addFnAttr(Attribute::NoUnwind);
    IRBuilder<> build(BasicBlock::Create(context_, "", made));
    body(build, *made);
    return made;
  }

  Module& module_;
  LLVMContext& context_;
  PointerType* pointer_;
  Type* int_;
  FunctionType* type_;
};

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
