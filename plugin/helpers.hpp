// SPDX-License-Identifier: BSD-3-Clause
// plugin/helpers.hpp: functions that the pass adds to a module, each its own: what a converted call does.
// A plan is a variable with a persistent request; null: there is none.
#pragma once
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include "mpi_calls.hpp"

namespace herald::plans {

llvm::Constant* handle(llvm::LLVMContext& context, std::uint64_t value);

// The function of the module, if the pass has made it; else a new one without a body.
llvm::Function* own_function(llvm::Module& module, const std::string& name, llvm::FunctionType* type,
                             bool& is_new);

class Helpers {
 public:
  explicit Helpers(llvm::Module& module);

  llvm::FunctionCallee start();  // MPI_Start(plan)
  llvm::FunctionCallee run();    // (plan): MPI_Start, MPI_Wait
  llvm::FunctionCallee wait();   // (plan): nothing to wait for if the call ran as it was
  llvm::FunctionCallee free();   // (plan)

  // (arguments of the call, plan): makes the request at the first call, then starts it, and waits for it if
  // the call is blocking.
  llvm::FunctionCallee message(const llvm::CallBase& call, const Procedure& message);
  // (arguments of MPI_Wait or MPI_Waitall): the requests become null, as after the call that was converted.
  llvm::FunctionCallee complete(const llvm::CallBase& call);

 private:
  llvm::FunctionCallee mpi(llvm::StringRef name, llvm::ArrayRef<llvm::Type*> arguments);
  llvm::Value* load_plan(llvm::Value* plan);
  llvm::Value* wait_call(llvm::Value* plan, llvm::Value* status);
  void if_request(llvm::Function& function);
  void return_if(llvm::Value* error);
  void make_request(llvm::Function& function, const Procedure& message, bool large, llvm::Value* plan);
  void forget_requests(llvm::Function& function, llvm::Value* count, llvm::Value* requests);
  template <class Body>
  llvm::FunctionCallee make(const std::string& name, llvm::FunctionType* type, Body body);

  llvm::Module& module_;
  llvm::LLVMContext& context_;
  llvm::PointerType* pointer_;
  llvm::Type* int_;
  llvm::FunctionType* type_;  // int f(plan)
  llvm::IRBuilder<> build_;
};

}  // namespace herald::plans
