// SPDX-License-Identifier: BSD-3-Clause
// coll/run.hpp: the scheduler of one run of a plan.
// In:  the plan; completed steps.
// Out: steps that may start, each once; whether all are complete.
// Invariant: a step is returned only after its dependencies are complete; steps that become ready together
// come in plan order. Memory: two words per step, given by the caller.
#pragma once
#include <cstddef>
#include <cstdint>

#include "base/fatal.hpp"
#include "coll/plan.hpp"

namespace herald::coll {

class Run {
 public:
  static std::size_t words(const Plan& plan) noexcept { return 2 * std::size_t{plan.size()}; }

  // `memory` holds words(plan) words and stays until the run is done.
  void begin(const Plan& plan, std::uint32_t* memory) noexcept {
    plan_ = &plan;
    left_ = plan.size();
    waiting_ = memory;
    queue_ = memory + left_;
    head_ = tail_ = 0;
    for (StepId step = 0; step < left_; ++step) {
      waiting_[step] = plan.steps[step].needs;
      if (waiting_[step] == 0) queue_[tail_++] = step;
    }
  }

  // A step that may start now; kNone: there is none.
  StepId next() noexcept { return head_ == tail_ ? kNone : queue_[head_++]; }

  void complete(StepId step) noexcept {
    HERALD_ASSERT(left_ != 0);
    --left_;
    const std::uint32_t end = plan_->steps[step + 1].successors;
    for (std::uint32_t i = plan_->steps[step].successors; i < end; ++i) {
      const StepId after = plan_->next[i];
      if (--waiting_[after] == 0) queue_[tail_++] = after;
    }
  }

  // Abandons the run; no step is pending.
  void abandon() noexcept {
    left_ = 0;
    head_ = tail_;
  }

  bool done() const noexcept { return left_ == 0; }

 private:
  const Plan* plan_ = nullptr;
  std::uint32_t* waiting_ = nullptr;
  std::uint32_t* queue_ = nullptr;
  std::uint32_t left_ = 0, head_ = 0, tail_ = 0;
};

}  // namespace herald::coll
