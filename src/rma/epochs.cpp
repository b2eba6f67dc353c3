// SPDX-License-Identifier: BSD-3-Clause
#include "rma/epochs.hpp"

#include <algorithm>

namespace herald::rma {
namespace {

constexpr const char* kFenceOpen =
    "the epoch that MPI_Win_fence opened has operations; call MPI_Win_fence first";
constexpr const char* kStarted = "an epoch of MPI_Win_start is open; call MPI_Win_complete first";
constexpr const char* kLocks = "this rank holds a lock; call MPI_Win_unlock first";
constexpr const char* kLockAll = "this rank holds MPI_Win_lock_all; call MPI_Win_unlock_all first";
constexpr const char* kPosted = "an epoch of MPI_Win_post is open; call MPI_Win_wait first";

}  // namespace

// A fence without operations behind it need not have opened an epoch.
Epochs::Refusal Epochs::may_begin_access() const noexcept {
  switch (access_) {
    case Access::none:
    case Access::fence_issued: return nullptr;
    case Access::fence_used: return kFenceOpen;
    case Access::started: return kStarted;
    case Access::locks: return kLocks;
    case Access::lock_all: return kLockAll;
  }
  return nullptr;
}

Epochs::Refusal Epochs::use(int target) noexcept {
  const bool listed = targets_[static_cast<std::size_t>(target)] != 0;
  switch (access_) {
    case Access::none:
      return "no epoch is open; call MPI_Win_fence, MPI_Win_start, MPI_Win_lock or MPI_Win_lock_all first";
    case Access::fence_issued: access_ = Access::fence_used; return nullptr;
    case Access::fence_used:
    case Access::lock_all: return nullptr;
    case Access::started: return listed ? nullptr : "it is not in the group of MPI_Win_start";
    case Access::locks: return listed ? nullptr : "its lock is not held; call MPI_Win_lock for it first";
  }
  return nullptr;
}

Epochs::Refusal Epochs::use_passive_all() const noexcept {
  if (is_lock_all() || access_ == Access::locks) return nullptr;
  return "no lock is held; call MPI_Win_lock or MPI_Win_lock_all first";
}

Epochs::Refusal Epochs::fence(bool opens) noexcept {
  if (access_ == Access::started) return kStarted;
  if (access_ == Access::locks) return kLocks;
  if (access_ == Access::lock_all) return kLockAll;
  if (posted_) return kPosted;
  access_ = opens ? Access::fence_issued : Access::none;
  return nullptr;
}

Epochs::Refusal Epochs::start(const std::vector<int>& targets) noexcept {
  if (Refusal refusal = may_begin_access()) return refusal;
  access_ = Access::started;
  for (const int target : targets) targets_[static_cast<std::size_t>(target)] = 1;
  return nullptr;
}

Epochs::Refusal Epochs::complete() noexcept {
  if (access_ != Access::started) return "no epoch of MPI_Win_start is open";
  access_ = Access::none;
  std::fill(targets_.begin(), targets_.end(), std::uint8_t{0});
  return nullptr;
}

Epochs::Refusal Epochs::post() noexcept {
  if (posted_) return kPosted;
  if (access_ == Access::fence_used) return kFenceOpen;
  posted_ = true;
  return nullptr;
}

Epochs::Refusal Epochs::end_exposure() noexcept {
  if (!posted_) return "no epoch of MPI_Win_post is open";
  posted_ = false;
  return nullptr;
}

Epochs::Refusal Epochs::lock(int target) noexcept {
  if (no_locks_) return kNoLocks;
  if (is_locked(target)) return "this rank holds its lock already";
  if (access_ != Access::locks)
    if (Refusal refusal = may_begin_access()) return refusal;
  access_ = Access::locks;
  targets_[static_cast<std::size_t>(target)] = 1;
  ++locked_;
  return nullptr;
}

Epochs::Refusal Epochs::unlock(int target) noexcept {
  if (!is_locked(target)) return "this rank does not hold its lock";
  targets_[static_cast<std::size_t>(target)] = 0;
  if (--locked_ == 0) access_ = Access::none;
  return nullptr;
}

Epochs::Refusal Epochs::lock_all() noexcept {
  if (no_locks_) return kNoLocks;
  if (Refusal refusal = may_begin_access()) return refusal;
  access_ = Access::lock_all;
  return nullptr;
}

Epochs::Refusal Epochs::unlock_all() noexcept {
  if (!is_lock_all()) return "this rank does not hold MPI_Win_lock_all";
  access_ = Access::none;
  return nullptr;
}

Epochs::Refusal Epochs::free() const noexcept {
  if (posted_) return kPosted;
  return access_ == Access::fence_used ? nullptr : may_begin_access();
}

}  // namespace herald::rma
