// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/coll/call_cache.hpp"

namespace herald::mpi {

void CallCache::add(const CallKey& call_key, coll::CachedPlan* cached) noexcept {
  if (call_key.reduction != nullptr && call_key.reduction->kind != Op::Kind::predefined) return;
  Entry& entry = entries_[place(call_key)];
  coll::retain(cached);
  if (entry.cached != nullptr) coll::release(entry.cached);
  entry = {call_key, call_key.type == nullptr ? type::LayoutRef() : call_key.type->layout, cached};
}

void CallCache::drop_trial(std::uint32_t trial) noexcept {
  for (Entry& entry : entries_)
    if (entry.cached != nullptr && entry.cached->plan.trial == trial) {
      coll::release(entry.cached);
      entry = {};
    }
}

void CallCache::clear() noexcept {
  for (Entry& entry : entries_)
    if (entry.cached != nullptr) {
      coll::release(entry.cached);
      entry = {};
    }
}

}  // namespace herald::mpi
