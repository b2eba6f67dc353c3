// SPDX-License-Identifier: BSD-3-Clause
// plugin/messages.hpp: sends and receives of loops become persistent, where arguments and buffers are the
// same in every iteration:
//
//   before the loop:   plan = null
//   in place:          if (!plan) MPI_Send_init(..., &plan); MPI_Start(&plan), MPI_Wait(&plan)
//   at exits:          if (plan) MPI_Request_free(&plan)
//
// The request is made by the first call and not before the loop. So the call may be governed by a branch,
// also by rank, and its arguments need not be valid where it does not run. A nonblocking call hands the
// persistent request to its own variable; MPI_Wait and MPI_Waitall make that null again (requests.hpp).
#pragma once
#include "prepare.hpp"
#include "requests.hpp"

namespace herald::plans {

class MessageConverter {
 public:
  explicit MessageConverter(const Analyses& analyses) : analyses_(analyses) {}

  // True: the call becomes persistent, once apply() is called.
  bool take(const Pattern& pattern);
  // The control flow of the function stays as it is.
  bool apply();

 private:
  struct Taken {
    llvm::CallBase* call;
    const Procedure* message;
    llvm::Instruction* before;  // in the preheader
    llvm::SmallVector<llvm::BasicBlock*, 4> exits;
  };
  std::string why_not(const Pattern& pattern, llvm::Loop& loop, Waits& waits) const;
  void rewrite(const Taken& taken);

  const Analyses& analyses_;
  std::vector<Taken> taken_;
  Waits waits_;
};

}  // namespace herald::plans
