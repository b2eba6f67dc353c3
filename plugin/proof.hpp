// SPDX-License-Identifier: BSD-3-Clause
// plugin/proof.hpp: why one call in one loop cannot become persistent, as far as this rank matters: what
// other ranks do is the business of uniform.hpp. The request of a collective is made before the loop, so the
// call must run in every iteration; that of a message is made by the first call (messages.hpp).
#pragma once
#include <string>

#include "invariant.hpp"
#include "prepare.hpp"

namespace herald::plans {

class Proof {
 public:
  Proof(const Pattern& pattern, const Analyses& analyses, llvm::Loop& loop)
      : pattern_(pattern), loop_(loop), invariant_(loop, analyses.alias, analyses.tree, true) {}

  // The first reason, for a remark; empty: it can.
  std::string why_not() const;

 private:
  std::string changes(Role role, llvm::Value* value) const;
  std::string jumps() const;
  // A request is freed at every exit.
  std::string exits() const;

  const Pattern& pattern_;
  llvm::Loop& loop_;
  Invariant invariant_;
};

// " (line 12)", for a remark; empty: not known.
std::string line_of(const llvm::Instruction* instruction);

}  // namespace herald::plans
