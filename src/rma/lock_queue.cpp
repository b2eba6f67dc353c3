// SPDX-License-Identifier: BSD-3-Clause
#include "rma/lock_queue.hpp"

#include <algorithm>

namespace herald::rma {

bool LockQueue::request(int origin, bool exclusive) noexcept {
  const Entry entry{origin, exclusive};
  if (!waiting_.empty() || !may_hold(entry)) {
    waiting_.push_back(entry);
    return false;
  }
  holders_.push_back(entry);
  return true;
}

std::vector<int> LockQueue::release(int origin) noexcept {
  const auto is_origin = [origin](const Entry& entry) { return entry.origin == origin; };
  if (std::erase_if(holders_, is_origin) == 0) std::erase_if(waiting_, is_origin);
  std::vector<int> granted;
  while (!waiting_.empty() && may_hold(waiting_.front())) {
    holders_.push_back(waiting_.front());
    granted.push_back(waiting_.front().origin);
    waiting_.pop_front();
  }
  return granted;
}

bool LockQueue::holds(int origin) const noexcept {
  return std::any_of(holders_.begin(), holders_.end(),
                     [origin](const Entry& entry) { return entry.origin == origin; });
}

}  // namespace herald::rma
