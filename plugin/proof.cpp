// SPDX-License-Identifier: BSD-3-Clause
#include "proof.hpp"

#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

#include "shims.hpp"

using namespace llvm;

namespace herald::plans {
namespace {

bool is_jump(StringRef name) {
  return name == "longjmp" || name == "_longjmp" || name == "siglongjmp" || name == "__longjmp_chk";
}

}  // namespace

std::string line_of(const Instruction* instruction) {
  if (instruction == nullptr || !instruction->getDebugLoc()) return "";
  return " (line " + std::to_string(instruction->getDebugLoc().getLine()) + ")";
}

std::string Proof::why_not() const {
  if (loop_.getLoopPreheader() == nullptr) return "its loop has more than one entry; use a for or while loop";
  if (std::string why = jumps(); !why.empty()) return why;
  for (const auto& [role, known] : pattern_.arguments)
    if (role != Role::status && role != Role::request)
      if (std::string why = changes(role, known.value); !why.empty()) return why;
  if (!pattern_.procedure->is_message() && !invariant_.in_every_iteration(*pattern_.at))
    return "it does not run in every iteration, or the loop may end before it; call it unconditionally";
  return exits();
}

std::string Proof::changes(Role role, Value* value) const {
  if (!invariant_.holds(value))
    return std::string("the ") + name_of(role) +
           (is_buffer(role) ? " is another one in each iteration; use one buffer"
                            : " may change in the loop; compute it before the loop");
  if (!is_array(role)) return "";
  const Instruction* writer = invariant_.writer_of(value);
  if (writer == nullptr) return "";
  return std::string("the loop may write the array of ") + name_of(role) + line_of(writer) +
         "; fill it before the loop, and pass no pointer to it";
}

std::string Proof::jumps() const {
  if (isa<InvokeInst>(pattern_.at)) return "it is in a try block; move the try block out of the loop";
  const Function& function = *loop_.getHeader()->getParent();
  if (function.callsFunctionThatReturnsTwice()) return "the function calls setjmp";
  const bool module_jumps = any_of(*function.getParent(), [](const Function& one) {
    return !one.use_empty() && (is_jump(one.getName()) || one.hasFnAttribute(Attribute::ReturnsTwice));
  });
  for (const BasicBlock* block : loop_.blocks())
    for (const Instruction& instruction : *block) {
      const auto* call = dyn_cast<CallBase>(&instruction);
      if (call == nullptr || isa<IntrinsicInst>(call)) continue;
      StringRef name = name_of_callee(*call);
      if (is_jump(name)) return "longjmp may leave the loop" + line_of(call);
      if (module_jumps && !call->willReturn() && !call->isInlineAsm() && name.take_front(4) != "MPI_")
        return "a function that is called in the loop may call longjmp" + line_of(call);
      if (name == "MPI_Finalize" || name == "MPI_Abort")
        return name.str() + " is in the loop" + line_of(call);
      const bool leaves = !call->doesNotThrow() && !function.doesNotThrow() && !name.consume_front("MPI_");
      if (leaves || isa<ResumeInst>(block->getTerminator()))
        return "a function that may throw is called in the loop" + line_of(call) + "; declare it noexcept";
    }
  return "";
}

std::string Proof::exits() const {
  SmallVector<BasicBlock*, 4> blocks;
  loop_.getUniqueExitBlocks(blocks);
  for (const BasicBlock* block : blocks)
    if (block->isEHPad() || !loop_.hasDedicatedExits()) return "the loop may be left by an exception";
  return "";
}

}  // namespace herald::plans
