// SPDX-License-Identifier: BSD-3-Clause
#include "requests.hpp"

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

#include "mpi_calls.hpp"
#include "options.hpp"
#include "proof.hpp"
#include "shims.hpp"

using namespace llvm;

namespace herald::plans {
namespace {

constexpr std::int64_t kHandleBytes = 8;  // MPI_Request

constexpr const char* kStays =
    "it may not have completed when the iteration ends; wait for it in the same iteration";

// The variable, and the distance of the pointer from its beginning.
const AllocaInst* variable_of(const Value* pointer, std::int64_t& offset) {
  const auto* inside = dyn_cast<Instruction>(pointer);
  if (inside == nullptr) return nullptr;
  const DataLayout& layout = inside->getModule()->getDataLayout();
  APInt bytes(layout.getIndexTypeSizeInBits(pointer->getType()), 0);
  const auto* variable =
      dyn_cast<AllocaInst>(pointer->stripAndAccumulateConstantOffsets(layout, bytes, true));
  offset = bytes.getSExtValue();
  return variable;
}

// The requests that a call completes: where the first one is, and how many; none: it completes none.
struct Completed {
  const Value* first = nullptr;
  std::int64_t count = 0;
};

Completed completed_by(const CallBase& call) {
  const StringRef name = name_of_callee(call);
  if (name == "MPI_Wait" && call.arg_size() == 2) return {call.getArgOperand(0), 1};
  if (name != "MPI_Waitall" || call.arg_size() != 3) return {};
  const auto* count = dyn_cast<ConstantInt>(call.getArgOperand(0));
  return {call.getArgOperand(1), count == nullptr ? 0 : count->getSExtValue()};
}

bool is_request_argument(const CallBase& call, unsigned index) {
  const StringRef name = name_of_callee(call);
  if (name == "MPI_Wait") return index == 0;
  if (name == "MPI_Waitall") return index == 1;
  return any_of(messages_of(call), [index](const Procedure* message) {
    return message->roles[index] == static_cast<char>(Role::request);
  });
}

// Nothing else in the function knows the handles.
std::string other_use(const AllocaInst& variable) {
  SmallVector<const Value*, 8> names{&variable};
  for (int steps = 0; !names.empty(); ++steps) {
    if (steps > kMostNames) return "its request has too many uses";
    const Value* name = names.pop_back_val();
    for (const Use& use : name->uses()) {
      const auto* user = cast<Instruction>(use.getUser());
      if (isa<CastInst>(user) || isa<GetElementPtrInst>(user)) {
        names.push_back(user);
        continue;
      }
      const auto* store = dyn_cast<StoreInst>(user);
      if (store != nullptr && use.getOperandNo() == StoreInst::getPointerOperandIndex() &&
          isa<Constant>(store->getValueOperand()))
        continue;
      const auto* call = dyn_cast<CallBase>(user);
      const auto* intrinsic = dyn_cast<IntrinsicInst>(user);
      if (intrinsic != nullptr && (intrinsic->isLifetimeStartOrEnd() || is_debug_info(*intrinsic))) continue;
      if (call != nullptr && call->isArgOperand(&use) &&
          is_request_argument(*call, call->getArgOperandNo(&use)))
        continue;
      return "its request is used by more than sends, receives, MPI_Wait and MPI_Waitall" + line_of(user) +
             "; give it a variable of its own";
    }
  }
  return "";
}

}  // namespace

std::string find_waits(CallBase& start, Value* request, const Loop& loop, Waits& waits) {
  std::int64_t at = 0;
  const AllocaInst* variable = variable_of(request, at);
  if (variable == nullptr)
    return "its request is no local variable at a fixed place; declare one in the function";
  if (std::string why = other_use(*variable); !why.empty()) return why;
  const auto waits_for_it = [&](const Instruction& instruction) {
    const auto* call = dyn_cast<CallInst>(&instruction);
    const Completed done = call == nullptr ? Completed{} : completed_by(*call);
    std::int64_t first = 0;
    return done.first != nullptr && variable_of(done.first, first) == variable && first <= at &&
           at < first + done.count * kHandleBytes;
  };
  SmallPtrSet<BasicBlock*, 16> seen;
  SmallVector<Instruction*, 16> open{start.getNextNode()};
  while (!open.empty()) {
    Instruction* here = open.pop_back_val();
    for (; !here->isTerminator() && !waits_for_it(*here); here = here->getNextNode())
      if (here == &start) break;
    if (waits_for_it(*here)) {
      waits.insert(cast<CallBase>(here));
      continue;
    }
    if (here == &start) {
      if (!is_broken(Broken::requests)) return kStays;
      continue;
    }
    for (BasicBlock* next : successors(here->getParent())) {
      if (loop.contains(next) && seen.insert(next).second) open.push_back(&next->front());
      if (!loop.contains(next) && !isa<UnreachableInst>(next->getTerminator()) &&
          !is_broken(Broken::requests))
        return kStays;
    }
  }
  return waits.empty() ? "no call completes it" : "";
}

}  // namespace herald::plans
