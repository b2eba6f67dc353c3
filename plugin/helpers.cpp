// SPDX-License-Identifier: BSD-3-Clause
#include "helpers.hpp"

#include <string>

#include "shims.hpp"

using namespace llvm;

namespace herald::plans {
namespace {

constexpr std::uint64_t kRequestNull = 0x180;  // of the ABI

// MPI_Isend -> MPI_Send_init, MPI_Recv_c -> MPI_Recv_init_c.
std::string init_name(const Procedure& message, bool large) {
  StringRef name = message.name;
  std::string base = name.str();
  if (name.consume_front("I")) base = name.take_front().upper() + name.drop_front().str();
  return "MPI_" + base + "_init" + (large ? "_c" : "");
}

}  // namespace

Constant* handle(LLVMContext& context, std::uint64_t value) {
  return ConstantExpr::getIntToPtr(ConstantInt::get(Type::getInt64Ty(context), value), pointer_type(context));
}

// Local to the module: after a link step with ThinLTO no other module has to keep a copy of it.
Function* own_function(Module& module, const std::string& name, FunctionType* type, bool& is_new) {
  Function* made = module.getFunction(name);
  is_new =
      made == nullptr || made->isDeclaration() || !made->hasLocalLinkage() || made->getFunctionType() != type;
  if (!is_new) return made;
  made = Function::Create(type, GlobalValue::InternalLinkage, name, module);
  made->addFnAttr(Attribute::NoUnwind);
  return made;
}

Helpers::Helpers(Module& module)
    : module_(module),
      context_(module.getContext()),
      pointer_(pointer_type(context_)),
      int_(Type::getInt32Ty(context_)),
      type_(FunctionType::get(int_, {pointer_}, false)),
      build_(context_) {}

FunctionCallee Helpers::start() { return mpi("MPI_Start", {pointer_}); }

FunctionCallee Helpers::run() {
  return make("herald_plan_run", type_, [this](Function& function) {
    return_if(build_.CreateCall(start(), {function.getArg(0)}));
    build_.CreateRet(wait_call(function.getArg(0), ConstantPointerNull::get(pointer_)));
  });
}

FunctionCallee Helpers::wait() {
  return make("herald_plan_wait", type_, [this](Function& function) {
    if_request(function);
    build_.CreateRet(wait_call(function.getArg(0), ConstantPointerNull::get(pointer_)));
  });
}

FunctionCallee Helpers::free() {
  return make("herald_plan_free", type_, [this](Function& function) {
    Value* flag = build_.CreateAlloca(int_);
    build_.CreateStore(build_.getInt32(0), flag);
    if_request(function);
    build_.CreateCall(mpi("MPI_Finalized", {flag->getType()}), {flag});
    auto* live = BasicBlock::Create(context_, "live", &function);
    auto* done = BasicBlock::Create(context_, "done", &function);
    build_.CreateCondBr(build_.CreateIsNull(build_.CreateLoad(int_, flag)), live, done);
    build_.SetInsertPoint(live);
    build_.CreateRet(build_.CreateCall(mpi("MPI_Request_free", {pointer_}), {function.getArg(0)}));
    build_.SetInsertPoint(done);
    build_.CreateRet(build_.getInt32(0));
  });
}

FunctionCallee Helpers::message(const CallBase& call, const Procedure& message) {
  const ArrayRef<Type*> own = call.getFunctionType()->params();
  SmallVector<Type*, 16> types(own.begin(), own.end());
  types.push_back(pointer_);
  const bool large = is_large(call);
  return make("herald_plan_" + name_of_callee(call).drop_front(4).str(),
              FunctionType::get(int_, types, false), [&, this](Function& function) {
                Value* const plan = function.getArg(function.arg_size() - 1);
                const auto argument_of = [&](Role role) -> Value* {
                  const std::size_t at = StringRef(message.roles).find(static_cast<char>(role));
                  return at == StringRef::npos ? nullptr : function.getArg(static_cast<unsigned>(at));
                };
                make_request(function, message, large, plan);
                return_if(build_.CreateCall(start(), {plan}));
                if (Value* request = argument_of(Role::request)) {
                  build_.CreateStore(load_plan(plan),
                                     build_.CreatePointerCast(request, pointer_to(pointer_)));
                  build_.CreateRet(build_.getInt32(0));
                  return;
                }
                Value* status = argument_of(Role::status);
                if (status == nullptr) status = ConstantPointerNull::get(pointer_);
                build_.CreateRet(wait_call(plan, build_.CreatePointerCast(status, pointer_)));
              });
}

FunctionCallee Helpers::complete(const CallBase& call) {
  const StringRef name = name_of_callee(call);
  const ArrayRef<Type*> own = call.getFunctionType()->params();
  return make(name == "MPI_Wait" ? "herald_plan_complete" : "herald_plan_complete_all",
              call.getFunctionType(), [&, this](Function& function) {
                SmallVector<Value*, 3> arguments;
                for (Argument& argument : function.args()) arguments.push_back(&argument);
                Value* error = build_.CreateCall(mpi(name, own), arguments);
                const bool one = name == "MPI_Wait";
                // A request that failed is gone; of several some may be pending still.
                if (!one) return_if(error);
                forget_requests(function, one ? static_cast<Value*>(build_.getInt32(1)) : function.getArg(0),
                                function.getArg(one ? 0 : 1));
                build_.CreateRet(error);
              });
}

void Helpers::forget_requests(Function& function, Value* count, Value* requests) {
  BasicBlock* before = build_.GetInsertBlock();
  auto* test = BasicBlock::Create(context_, "test", &function);
  auto* next = BasicBlock::Create(context_, "next", &function);
  auto* done = BasicBlock::Create(context_, "done", &function);
  Value* first = build_.CreatePointerCast(requests, pointer_to(pointer_));
  build_.CreateBr(test);
  build_.SetInsertPoint(test);
  PHINode* index = build_.CreatePHI(int_, 2);
  index->addIncoming(build_.getInt32(0), before);
  build_.CreateCondBr(build_.CreateICmpSLT(index, count), next, done);
  build_.SetInsertPoint(next);
  build_.CreateStore(handle(context_, kRequestNull), build_.CreateGEP(pointer_, first, index));
  index->addIncoming(build_.CreateAdd(index, build_.getInt32(1)), next);
  build_.CreateBr(test);
  build_.SetInsertPoint(done);
}

// A plan that cannot be made gives the error that the call would have given.
void Helpers::make_request(Function& function, const Procedure& message, bool large, Value* plan) {
  SmallVector<Type*, 8> types;
  SmallVector<Value*, 8> arguments;
  for (unsigned i = 0; message.roles[i] != '\0'; ++i) {
    if (is_left_out(static_cast<Role>(message.roles[i])) && static_cast<Role>(message.roles[i]) != Role::tag)
      continue;
    arguments.push_back(function.getArg(i));
    types.push_back(arguments.back()->getType());
  }
  arguments.push_back(plan);
  types.push_back(pointer_);
  auto* none = BasicBlock::Create(context_, "none", &function);
  auto* failed = BasicBlock::Create(context_, "failed", &function);
  auto* made = BasicBlock::Create(context_, "made", &function);
  build_.CreateCondBr(build_.CreateIsNull(load_plan(plan)), none, made);
  build_.SetInsertPoint(none);
  Value* error = build_.CreateCall(mpi(init_name(message, large), types), arguments);
  build_.CreateCondBr(build_.CreateIsNull(error), made, failed);
  build_.SetInsertPoint(failed);
  build_.CreateStore(ConstantPointerNull::get(pointer_),
                     build_.CreatePointerCast(plan, pointer_to(pointer_)));
  build_.CreateRet(error);
  build_.SetInsertPoint(made);
}

FunctionCallee Helpers::mpi(StringRef name, ArrayRef<Type*> arguments) {
  return module_.getOrInsertFunction(name, FunctionType::get(int_, arguments, false));
}

Value* Helpers::load_plan(Value* plan) {
  return build_.CreateLoad(pointer_, build_.CreatePointerCast(plan, pointer_to(pointer_)));
}

Value* Helpers::wait_call(Value* plan, Value* status) {
  return build_.CreateCall(mpi("MPI_Wait", {pointer_, pointer_}), {plan, status});
}

void Helpers::if_request(Function& function) {
  auto* some = BasicBlock::Create(context_, "request", &function);
  auto* none = BasicBlock::Create(context_, "none", &function);
  build_.CreateCondBr(build_.CreateIsNotNull(load_plan(function.getArg(0))), some, none);
  build_.SetInsertPoint(none);
  build_.CreateRet(build_.getInt32(0));
  build_.SetInsertPoint(some);
}

void Helpers::return_if(Value* error) {
  Function& function = *build_.GetInsertBlock()->getParent();
  auto* good = BasicBlock::Create(context_, "good", &function);
  auto* bad = BasicBlock::Create(context_, "bad", &function);
  build_.CreateCondBr(build_.CreateIsNull(error), good, bad);
  build_.SetInsertPoint(bad);
  build_.CreateRet(error);
  build_.SetInsertPoint(good);
}

template <class Body>
FunctionCallee Helpers::make(const std::string& name, FunctionType* type, Body body) {
  bool is_new = false;
  Function* made = own_function(module_, name, type, is_new);
  if (is_new) {
    build_.SetInsertPoint(BasicBlock::Create(context_, "", made));
    body(*made);
  }
  return made;
}

}  // namespace herald::plans
