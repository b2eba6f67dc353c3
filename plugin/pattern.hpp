// SPDX-License-Identifier: BSD-3-Clause
// plugin/pattern.hpp: what is known of a collective or message at a place of a function: of its own calls,
// and of calls in the functions that it calls.
#pragma once
#include <llvm/IR/Instructions.h>

#include <map>
#include <vector>

#include "mpi_calls.hpp"

namespace herald::plans {

struct Known {
  llvm::Value* value = nullptr;
  llvm::Type* loaded = nullptr;  // not null: `value` is a global variable, and this the type of its content
};

struct Pattern {
  const Procedure* procedure = nullptr;
  bool large = false, in_place = false;
  bool always = true;                    // whenever `at` runs
  std::map<Role, Known> arguments;       // those that are missing are not known
  llvm::CallBase* at = nullptr;          // in this function
  const llvm::CallBase* call = nullptr;  // the call itself; may be in another function
};

using Patterns = std::vector<Pattern>;

// Finds the patterns of functions, through the functions that they call.
class PatternFinder {
 public:
  // Of every call in the function.
  Patterns in(llvm::Function& function);

 private:
  // Those outside of loops, in terms of the arguments of the function.
  const Patterns& summary(llvm::Function& function);

  struct Entry {
    Patterns patterns;
    bool done = false;
  };
  std::map<llvm::Function*, Entry> summaries_;
};

}  // namespace herald::plans
