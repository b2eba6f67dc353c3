// SPDX-License-Identifier: BSD-3-Clause
#include "options.hpp"

#include <llvm/IR/Constants.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/Support/CommandLine.h>

#include <optional>
#include <string>

using namespace llvm;

namespace herald::plans {
namespace {

constexpr const char* kRecord = "herald-plans";  // attribute of functions

cl::opt<Mode> option("herald-plans", cl::desc("what herald-plans does with collectives in loops"),
                     cl::values(clEnumValN(Mode::none, "none", "nothing"),
                                clEnumValN(Mode::prepare, "prepare", "hints before the loop"),
                                clEnumValN(Mode::convert, "convert",
                                           "persistent calls where it is proven safe")),
                     cl::init(Mode::prepare));

cl::opt<Broken> broken("herald-plans-break", cl::Hidden,
                       cl::desc("a proof to leave out, for tests of the tests"),
                       cl::values(clEnumValN(Broken::stores, "stores", "that nothing writes an argument"),
                                  clEnumValN(Broken::iterations, "iterations", "that a call always runs"),
                                  clEnumValN(Broken::branches, "branches", "that all ranks go the same way"),
                                  clEnumValN(Broken::overlap, "overlap", "that work needs no result"),
                                  clEnumValN(Broken::requests, "requests", "that a message completes")),
                       cl::init(Broken::none));

std::optional<Mode> mode_in(StringRef text) {
  const std::size_t at = text.find("herald plan ");
  if (at == StringRef::npos) return std::nullopt;
  StringRef word = text.substr(at + 12);
  if (word.consume_front("none")) return Mode::none;
  if (word.consume_front("prepare")) return Mode::prepare;
  if (word.consume_front("convert")) return Mode::convert;
  return std::nullopt;
}

// MPIX_PLAN(x); in a loop is an empty assembler statement.
std::optional<Mode> mark_in(const Loop& loop) {
  for (const BasicBlock* block : loop.blocks())
    for (const Instruction& instruction : *block) {
      const auto* call = dyn_cast<CallBase>(&instruction);
      const auto* text = call == nullptr ? nullptr : dyn_cast<InlineAsm>(call->getCalledOperand());
      if (text == nullptr) continue;
      if (const std::optional<Mode> mode = mode_in(text->getAsmString())) return mode;
    }
  return std::nullopt;
}

// MPIX_PLAN_FUNCTION(x) is an annotation.
std::optional<Mode> mark_on(const Function& function) {
  const GlobalVariable* all = function.getParent()->getNamedGlobal("llvm.global.annotations");
  const auto* rows = all == nullptr ? nullptr : dyn_cast<ConstantArray>(all->getInitializer());
  if (rows == nullptr) return std::nullopt;
  for (const Use& use : rows->operands()) {
    const auto* row = dyn_cast<ConstantStruct>(use.get());
    if (row == nullptr || row->getOperand(0)->stripPointerCasts() != &function) continue;
    const auto* string = dyn_cast<GlobalVariable>(row->getOperand(1)->stripPointerCasts());
    const auto* text = string == nullptr ? nullptr : dyn_cast<ConstantDataArray>(string->getInitializer());
    if (text == nullptr || !text->isCString()) continue;
    if (const std::optional<Mode> mode = mode_in(text->getAsCString())) return mode;
  }
  return std::nullopt;
}

}  // namespace

Mode mode_of(const Function& function) {
  const Attribute recorded = function.getFnAttribute(kRecord);
  if (!recorded.isValid()) return option;
  return static_cast<Mode>(recorded.getValueAsString().front() - '0');
}

void record_mode(Module& module) {
  for (Function& function : module)
    if (!function.isDeclaration() && !function.hasFnAttribute(kRecord))
      function.addFnAttr(kRecord, std::to_string(static_cast<int>(Mode{option})));
}

bool is_broken(Broken proof) { return broken == proof; }

Permission permission(const Function& function, const Loop* loop) {
  for (; loop != nullptr; loop = loop->getParentLoop())
    if (const std::optional<Mode> mode = mark_in(*loop)) return {*mode, *mode == Mode::convert};
  if (const std::optional<Mode> mode = mark_on(function)) return {*mode, *mode == Mode::convert};
  return {mode_of(function), false};
}

}  // namespace herald::plans
