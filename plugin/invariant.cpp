// SPDX-License-Identifier: BSD-3-Clause
#include "invariant.hpp"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

#include "mpi_calls.hpp"
#include "options.hpp"
#include "shims.hpp"

using namespace llvm;

namespace herald::plans {
namespace {

constexpr int kDeepest = 6;  // instructions that a value may need

bool is_variable(const Value* pointer) {
  const Value* object = getUnderlyingObject(pointer);
  if (isa<AllocaInst>(object)) return pointer->stripPointerCasts() == object;
  return isa<GlobalVariable>(object) && pointer->stripPointerCasts() == object;
}

// The call is not given the variable, and no other call has kept its address.
bool is_unknown_to(const CallBase& call, const Value* pointer) {
  const Value* object = getUnderlyingObject(pointer, 0);
  if (!isa<AllocaInst>(object)) return false;
  for (const Value* argument : call.args())
    if (argument->getType()->isPointerTy() && getUnderlyingObject(argument, 0) == object) return false;
  SmallVector<const Value*, 8> names{object};
  for (int steps = 0; !names.empty(); ++steps) {
    if (steps > kMostNames) return false;
    for (const Use& use : names.pop_back_val()->uses()) {
      const User* user = use.getUser();
      if (isa<LoadInst>(user)) continue;
      if (isa<CastInst>(user) || isa<GetElementPtrInst>(user)) {
        names.push_back(user);
        continue;
      }
      if (isa<StoreInst>(user) && use.getOperandNo() == StoreInst::getPointerOperandIndex()) continue;
      const auto* other = dyn_cast<CallBase>(user);
      if (other == nullptr || !other->isArgOperand(&use)) return false;
      const auto* intrinsic = dyn_cast<IntrinsicInst>(other);
      if (intrinsic != nullptr && (intrinsic->isLifetimeStartOrEnd() || is_debug_info(*intrinsic))) continue;
      if (!forgets_argument(*other, other->getArgOperandNo(&use))) return false;
    }
  }
  return true;
}

bool is_cheap(const Instruction& instruction) {
  if (isa<CastInst>(instruction) || isa<GetElementPtrInst>(instruction)) return true;
  if (const auto* binary = dyn_cast<BinaryOperator>(&instruction))
    return binary->getType()->isIntegerTy() && !binary->isIntDivRem();
  return false;
}

}  // namespace

bool may_touch(AAResults& alias, const Instruction& instruction, Value* pointer, bool read,
               bool ignore_calls) {
  if (!(read ? instruction.mayReadOrWriteMemory() : instruction.mayWriteToMemory())) return false;
  const MemoryLocation where(pointer, LocationSize::beforeOrAfterPointer());
  if (const auto* call = dyn_cast<CallBase>(&instruction)) {
    if (is_debug_info(*call)) return false;
    const auto* intrinsic = dyn_cast<IntrinsicInst>(call);
    if (intrinsic != nullptr && (intrinsic->isLifetimeStartOrEnd() || intrinsic->isAssumeLikeIntrinsic()))
      return false;
    if (ignore_calls && intrinsic == nullptr) return false;
    if (intrinsic == nullptr && is_unknown_to(*call, pointer)) return false;
    if (touches_arguments_only(*call)) {
      if (read) return true;
      return any_of(written_arguments(*call), [&](const Value* written) {
        return !alias.isNoAlias(MemoryLocation(written, LocationSize::beforeOrAfterPointer()), where);
      });
    }
  }
  const ModRefInfo effect = alias.getModRefInfo(&instruction, where);
  return read ? isModOrRefSet(effect) : isModSet(effect);
}

const Instruction* Invariant::writer_of(Value* pointer) const {
  if (is_broken(Broken::stores)) return nullptr;
  for (const BasicBlock* block : loop_.blocks())
    for (const Instruction& instruction : *block)
      if (may_touch(alias_, instruction, pointer, false, !certain_)) return &instruction;
  return nullptr;
}

bool Invariant::unwritten(Value* pointer) const { return writer_of(pointer) == nullptr; }

bool Invariant::in_every_iteration(const Instruction& instruction) const {
  if (is_broken(Broken::iterations)) return true;
  SmallVector<BasicBlock*, 8> leaving;
  loop_.getExitingBlocks(leaving);
  loop_.getLoopLatches(leaving);
  for (const BasicBlock* block : leaving)
    if (!tree_.dominates(instruction.getParent(), block)) return false;
  return true;
}

bool Invariant::always_runs(const Instruction& instruction) const {
  if (!in_every_iteration(instruction)) return false;
  for (const BasicBlock* block : loop_.blocks())
    for (const Instruction& other : *block) {
      const auto* call = dyn_cast<CallBase>(&other);
      if (call == nullptr || call == &instruction || isa<IntrinsicInst>(call) || call->willReturn() ||
          call->isInlineAsm())
        continue;
      StringRef name = name_of_callee(*call);
      if (!name.consume_front("MPI_") && !tree_.dominates(&instruction, call)) return false;
    }
  return true;
}

bool Invariant::holds(Value* value, int depth) const {
  auto* instruction = dyn_cast<Instruction>(value);
  if (instruction == nullptr || !loop_.contains(instruction)) return true;
  if (depth > kDeepest) return false;
  if (auto* load = dyn_cast<LoadInst>(instruction)) {
    Value* from = load->getPointerOperand();
    return load->isSimple() && (is_variable(from) || always_runs(*load)) && holds(from, depth + 1) &&
           unwritten(from);
  }
  if (!is_cheap(*instruction)) return false;
  for (Value* operand : instruction->operands())
    if (!holds(operand, depth + 1)) return false;
  return true;
}

Value* Invariant::copy_before(Value* value, Instruction* at) {
  auto* instruction = dyn_cast<Instruction>(value);
  if (instruction == nullptr || !loop_.contains(instruction)) return value;
  if (Value* made = copies_.lookup(value)) return made;
  Instruction* copy = instruction->clone();
  copy->dropUnknownNonDebugMetadata();
  for (Use& operand : copy->operands()) operand.set(copy_before(operand.get(), at));
  copy->insertBefore(place_before(at));
  copy->setName(instruction->getName());
  copies_[value] = copy;
  return copy;
}

}  // namespace herald::plans
