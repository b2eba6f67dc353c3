// SPDX-License-Identifier: BSD-3-Clause
#include "uniform.hpp"

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

#include "mpi_calls.hpp"
#include "options.hpp"
#include "shims.hpp"

using namespace llvm;

namespace herald::plans {
namespace {

// Functions of the C library whose result depends on their arguments only (strings of the command line too).
constexpr const char* kPure[] = {"atoi", "atol", "atoll", "atof",  "strtol", "strtoll", "strtoul", "strtod",
                                 "abs",  "sqrt", "fabs",  "floor", "ceil",   "pow",     "strcmp",  "strlen"};

bool is_one_of(StringRef name, ArrayRef<const char*> names) {
  return any_of(names, [&](const char* one) { return name == one; });
}

// The program ends on every way from here.
bool ends_program(const BasicBlock* block) {
  for (int steps = 0; block != nullptr && steps < 8; ++steps, block = block->getSingleSuccessor())
    if (isa<UnreachableInst>(block->getTerminator())) return true;
  return false;
}

}  // namespace

Uniform::Trees& Uniform::trees(const Function& function) {
  std::unique_ptr<Trees>& made = trees_[&function];
  if (!made) made = std::make_unique<Trees>(const_cast<Function&>(function));
  return *made;
}

Uniform::Branches Uniform::governing(const BasicBlock& block) {
  const PostDominatorTree& after = trees(*block.getParent()).after;
  Branches found;
  SmallPtrSet<const BasicBlock*, 16> seen;
  SmallVector<const BasicBlock*, 16> open{&block};
  while (!open.empty()) {
    const BasicBlock* governed = open.pop_back_val();
    if (!seen.insert(governed).second) continue;
    for (const BasicBlock& from : *block.getParent()) {
      const Instruction* end = from.getTerminator();
      if (end->getNumSuccessors() < 2) continue;
      bool one_way = false, passes_always = true;
      for (unsigned i = 0; i < end->getNumSuccessors(); ++i) {
        const BasicBlock* next = end->getSuccessor(i);
        if (ends_program(next)) continue;
        const bool reaches = after.dominates(governed, next);
        one_way |= reaches;
        passes_always &= reaches;
      }
      if (!one_way || passes_always) continue;
      found.push_back(end);
      open.push_back(&from);
    }
  }
  return found;
}

bool Uniform::runs_alike(const BasicBlock& block) {
  const auto [place, is_new] = blocks_.try_emplace(&block, true);
  if (!is_new) return place->second;
  bool alike = true;
  for (const Instruction* branch : governing(block)) {
    const Value* condition = nullptr;
    if (const auto* conditional = dyn_cast<BranchInst>(branch)) condition = conditional->getCondition();
    if (const auto* choice = dyn_cast<SwitchInst>(branch)) condition = choice->getCondition();
    if (condition != nullptr && is_equal(condition)) continue;
    if (isa<InvokeInst>(branch)) continue;  // exceptions are the business of convert.cpp
    branch_ = branch;
    alike = false;
    break;
  }
  if (!alike) ++unequal_;
  return blocks_[&block] = alike;
}

const char* Uniform::called_alike(const Function& function) {
  if (function.getName() == "main") return nullptr;
  const auto [place, is_new] = functions_.try_emplace(&function, nullptr);
  if (!is_new) return place->second;
  const char* why = nullptr;
  if (!function.hasLocalLinkage())
    why =
        "other modules may call this function at some ranks only; make it static, or mark the loop with "
        "MPIX_PLAN(convert)";
  for (const Use& use : function.uses()) {
    if (why != nullptr) break;
    const auto* call = dyn_cast<CallBase>(use.getUser());
    if (call == nullptr || !call->isCallee(&use))
      why = "the function is called through a pointer; mark the loop with MPIX_PLAN(convert)";
    else
      why = look(*call->getParent());
  }
  if (why != nullptr) ++unequal_;
  return functions_[&function] = why;
}

// Values count as equal until the opposite is found, so what was derived meanwhile is derived again.
const char* Uniform::why_not(const BasicBlock& block) {
  if (is_broken(Broken::branches)) return nullptr;
  for (;;) {
    const std::size_t found = unequal_;
    const char* why = look(block);
    if (found == unequal_) return why;
    forget_equal();
  }
}

const char* Uniform::look(const BasicBlock& block) {
  branch_ = nullptr;
  if (const char* why = called_alike(*block.getParent())) return why;
  if (runs_alike(block)) return nullptr;
  return "a branch may go another way at other ranks; move the call out of it, or mark the loop with "
         "MPIX_PLAN(convert) if all ranks run it alike";
}

void Uniform::forget_equal() {
  std::erase_if(values_, [](const auto& entry) { return entry.second; });
  std::erase_if(texts_, [](const auto& entry) { return entry.second; });
  std::erase_if(blocks_, [](const auto& entry) { return entry.second; });
  std::erase_if(functions_, [](const auto& entry) { return entry.second == nullptr; });
}

bool Uniform::is_equal(const Value* value) {
  if (isa<Constant>(value)) return !isa<UndefValue>(value);
  // While it is being computed a value counts as equal: a loop variable depends on itself.
  const auto [place, is_new] = values_.try_emplace(value, true);
  if (!is_new) return place->second;
  const bool equal = compute(value);
  if (!equal) ++unequal_;
  return values_[value] = equal;
}

bool Uniform::compute(const Value* value) {
  if (const auto* argument = dyn_cast<Argument>(value)) return is_equal_argument(*argument);
  const auto* instruction = dyn_cast<Instruction>(value);
  if (instruction == nullptr) return false;
  if (const auto* load = dyn_cast<LoadInst>(instruction))
    return load->isSimple() && is_equal_load(load->getPointerOperand());
  if (const auto* call = dyn_cast<CallBase>(instruction)) return is_equal_call(*call);
  if (isa<AllocaInst>(instruction) || isa<AtomicRMWInst>(instruction) ||
      isa<AtomicCmpXchgInst>(instruction) || isa<VAArgInst>(instruction) || isa<LandingPadInst>(instruction))
    return false;
  for (const Value* operand : instruction->operands())
    if (!isa<BasicBlock>(operand) && !is_equal(operand)) return false;
  // The way to a phi decides its value.
  if (const auto* phi = dyn_cast<PHINode>(instruction))
    for (const BasicBlock* from : phi->blocks())
      if (!runs_alike(*from)) return false;
  return true;
}

// A variable whose address goes nowhere but to loads, stores of equal values and MPI calls that write equal
// values.
bool Uniform::is_equal_load(const Value* pointer) {
  const Value* object = getUnderlyingObject(pointer);
  if (const auto* global = dyn_cast<GlobalVariable>(object)) {
    if (global->isConstant()) return true;
    if (!global->hasLocalLinkage()) return false;
  } else if (!isa<AllocaInst>(object)) {
    return is_command_line(object);
  }
  SmallVector<const Value*, 8> names{object};
  for (int steps = 0; !names.empty(); ++steps) {
    if (steps > kMostNames) return false;
    const Value* name = names.pop_back_val();
    for (const Use& use : name->uses()) {
      const User* user = use.getUser();
      if (isa<LoadInst>(user)) continue;
      if (isa<CastInst>(user) || isa<GetElementPtrInst>(user) || isa<ConstantExpr>(user)) {
        names.push_back(user);
        continue;
      }
      if (!writes_equal(use)) return false;
    }
  }
  return true;
}

// argv, its strings, and copies of it: a job has one command line.
bool Uniform::is_command_line(const Value* value) {
  const Value* object = getUnderlyingObject(value);
  const auto [place, is_new] = texts_.try_emplace(object, true);
  if (!is_new) return place->second;
  const bool is = compute_command_line(object);
  if (!is) ++unequal_;
  return texts_[object] = is;
}

bool Uniform::compute_command_line(const Value* object) {
  if (const auto* argument = dyn_cast<Argument>(object)) return argument->getParent()->getName() == "main";
  const auto is_text = [this](const Value* one) { return isa<Constant>(one) || is_command_line(one); };
  if (const auto* select = dyn_cast<SelectInst>(object))
    return is_equal(select->getCondition()) && is_text(select->getTrueValue()) &&
           is_text(select->getFalseValue());
  if (const auto* phi = dyn_cast<PHINode>(object))
    return all_of(phi->incoming_values(), is_text) &&
           all_of(phi->blocks(), [this](const BasicBlock* from) { return runs_alike(*from); });
  const auto* load = dyn_cast<LoadInst>(object);
  if (load == nullptr) return false;
  const Value* from = getUnderlyingObject(load->getPointerOperand());
  if (!isa<AllocaInst>(from)) return is_command_line(from);
  return is_equal_load(from);
}

bool Uniform::writes_equal(const Use& use) {
  const User* user = use.getUser();
  if (const auto* store = dyn_cast<StoreInst>(user))
    return use.getOperandNo() == StoreInst::getPointerOperandIndex() && is_equal(store->getValueOperand()) &&
           runs_alike(*store->getParent());
  const auto* call = dyn_cast<CallBase>(user);
  if (call == nullptr || !call->isArgOperand(&use)) return false;
  if (const auto* intrinsic = dyn_cast<IntrinsicInst>(call))
    return intrinsic->isLifetimeStartOrEnd() || is_debug_info(*intrinsic);
  StringRef name = name_of_callee(*call);
  if (!name.consume_front("MPI_")) return false;
  (void)name.consume_back("_c");
  if (is_one_of(name, {"Init", "Init_thread"})) return true;
  if (name == "Comm_size") return is_world(call->getArgOperand(0));
  const KnownCall known = known_call(*call);
  if (known.collective == nullptr) return name == "Send" || name == "Ssend";
  const Value* recvbuf = argument(*call, *known.collective, Role::recvbuf);
  if (use.get() != recvbuf) return true;  // MPI reads it only
  return is_one_of(known.collective->name, {"Bcast", "Allreduce", "Allgather", "Allgatherv"}) &&
         is_world(argument(*call, *known.collective, Role::comm)) && runs_alike(*call->getParent());
}

bool Uniform::is_equal_call(const CallBase& call) {
  StringRef name = name_of_callee(call);
  const auto* intrinsic = dyn_cast<IntrinsicInst>(&call);
  if (name.consume_front("MPI_"))  // error codes: a call that fails at one rank fails the job
    return name != "Wtime" && name != "Wtick" && call.getType()->isIntegerTy(32);
  if (!(intrinsic != nullptr && intrinsic->doesNotAccessMemory()) && !is_one_of(name, kPure)) return false;
  return all_of(call.args(), [&](const Use& use) {
    if (!use->getType()->isPointerTy()) return is_equal(use.get());
    return isa<Constant>(use.get()) || is_equal_load(use.get());
  });
}

bool Uniform::is_equal_argument(const Argument& argument) {
  const Function& function = *argument.getParent();
  if (function.getName() == "main") return true;
  if (!function.hasLocalLinkage()) return false;
  return all_of(function.uses(), [&](const Use& use) {
    const auto* call = dyn_cast<CallBase>(use.getUser());
    return call != nullptr && call->isCallee(&use) && argument.getArgNo() < call->arg_size() &&
           is_equal(call->getArgOperand(argument.getArgNo()));
  });
}

}  // namespace herald::plans
