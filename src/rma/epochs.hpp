// SPDX-License-Identifier: BSD-3-Clause
// rma/epochs.hpp: the epochs of one rank in a window, and which calls they allow.
//
//   access:    none <-> fence (issued, then used by an operation)
//              none <-> started (MPI_Win_start ... complete, a group of targets)
//              none <-> locks (some targets) | lock_all
//   exposure:  none <-> posted (MPI_Win_post ... wait)
//
// Each function returns null and changes the state, or returns the reason why the call is not allowed.
#pragma once
#include <cstdint>
#include <vector>

namespace herald::rma {

class Epochs {
 public:
  using Refusal = const char*;
  explicit Epochs(int ranks) noexcept : targets_(static_cast<std::size_t>(ranks), 0) {}

  Refusal use(int target) noexcept;  // an operation
  Refusal use_passive(int target) const noexcept {
    return is_lock_all() || is_locked(target) ? nullptr : kNotHeld;
  }
  Refusal use_passive_all() const noexcept;
  Refusal fence(bool opens) noexcept;
  Refusal start(const std::vector<int>& targets) noexcept;
  Refusal complete() noexcept;
  Refusal post() noexcept;
  Refusal end_exposure() noexcept;
  void forbid_locks() noexcept { no_locks_ = true; }
  Refusal lock(int target) noexcept;
  Refusal unlock(int target) noexcept;
  Refusal lock_all() noexcept;
  Refusal unlock_all() noexcept;
  Refusal free() const noexcept;

  // MPI_Win_wait and MPI_Win_test.
  bool is_posted() const noexcept { return posted_; }
  bool is_locked(int target) const noexcept {
    return access_ == Access::locks && targets_[static_cast<std::size_t>(target)] != 0;
  }
  bool is_lock_all() const noexcept { return access_ == Access::lock_all; }

 private:
  static constexpr Refusal kNoLocks = "the window was made with the info key no_locks=true";
  static constexpr Refusal kNotHeld = "its lock is not held; call MPI_Win_lock or MPI_Win_lock_all first";
  enum class Access : std::uint8_t { none, fence_issued, fence_used, started, locks, lock_all };
  Refusal may_begin_access() const noexcept;

  Access access_ = Access::none;
  bool posted_ = false, no_locks_ = false;
  std::vector<std::uint8_t> targets_;  // 1: started or locked
  int locked_ = 0;
};

}  // namespace herald::rma
