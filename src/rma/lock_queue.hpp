// SPDX-License-Identifier: BSD-3-Clause
// rma/lock_queue.hpp: the lock of one rank's part of a window: shared or exclusive, first come, first served.
// In:  requests and releases, by rank of the origin. Out: ranks that hold the lock from now on.
// Invariant: holders are one exclusive origin or any number of shared ones; a shared request does not
// overtake an exclusive one.
#pragma once
#include <deque>
#include <vector>

namespace herald::rma {

class LockQueue {
 public:
  // True: granted now. False: a later release() returns this origin.
  bool request(int origin, bool exclusive) noexcept;
  // Releases the lock of `origin`, or removes its request. Returns the origins that hold the lock now.
  std::vector<int> release(int origin) noexcept;
  bool holds(int origin) const noexcept;
  bool is_idle() const noexcept { return holders_.empty() && waiting_.empty(); }

 private:
  struct Entry {
    int origin;
    bool exclusive;
  };
  bool may_hold(const Entry& entry) const noexcept {
    return holders_.empty() || (!entry.exclusive && !holders_.front().exclusive);
  }
  std::vector<Entry> holders_;
  std::deque<Entry> waiting_;
};

}  // namespace herald::rma
