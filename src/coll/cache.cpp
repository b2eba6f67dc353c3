// SPDX-License-Identifier: BSD-3-Clause
#include "coll/cache.hpp"

#include <algorithm>
#include <utility>

namespace herald::coll {

void Key::write_layout(const type::Layout* layout, std::int64_t* words) noexcept {
  const bool dense = layout != nullptr && layout->dense();
  words[0] = dense ? layout->size() * 2 + 1  // odd: not an address
                   : static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(layout));
  words[1] = dense ? layout->true_lb() : 0;
}

std::uint64_t Key::hash() const noexcept {
  // One independent product per word; the factors differ, so the order of the words counts.
  std::uint64_t hash = used_, factor = 0x9e3779b97f4a7c15u;
  for (const std::int64_t word : words()) {
    hash += static_cast<std::uint64_t>(word) * factor;
    factor += 0x6a09e667f3bcc908u;  // even: the factor stays odd
  }
  hash = (hash ^ (hash >> 32)) * 0xff51afd7ed558ccdu;
  return hash ^ (hash >> 32);
}

void PlanCache::clear() noexcept {
  for (Set& set : sets_)
    for (CachedPlan*& cached : set)
      if (cached != nullptr) release(std::exchange(cached, nullptr));
}

void PlanCache::drop_trial(std::uint32_t trial) noexcept {
  for (Set& set : sets_) {
    const auto end = std::remove_if(set.begin(), set.end(), [&](CachedPlan* cached) {
      if (cached == nullptr || cached->plan.trial != trial) return false;
      release(cached);
      return true;
    });
    std::fill(end, set.end(), nullptr);
  }
}

void PlanCache::release_prepared(const char* operation) noexcept {
  for (Set& set : sets_)
    for (CachedPlan* cached : set)
      if (cached != nullptr && cached->plan.operation == operation) cached->prepared = false;
}

std::size_t PlanCache::victim(const Set& set) noexcept {
  if (set.back() == nullptr) return kWays - 1;
  for (std::size_t way = kWays; way-- > 0;)
    if (!set[way]->prepared) return way;
  return kWays - 1;
}

CachedPlan* PlanCache::find(const Key& key, std::uint64_t hash) noexcept {
  Set& set = sets_[hash % kSets];
  for (std::size_t way = 0; way < kWays && set[way] != nullptr; ++way) {
    CachedPlan* cached = set[way];
    if (cached->hash != hash || !std::ranges::equal(cached->key, key.words())) continue;
    if (way != 0) std::rotate(set.begin(), set.begin() + way, set.begin() + way + 1);
    ++counters_.found;
    retain(cached);
    return cached;
  }
  return nullptr;
}

CachedPlan* PlanCache::add(Plan plan, const Key& key, std::uint64_t hash,
                           std::span<const type::Layout* const> named) noexcept {
  ++counters_.made;
  CachedPlan* cached = new CachedPlan;
  cached->plan = std::move(plan);
  if (cached->plan.memory() + key.words().size_bytes() > kLargestPlan) return cached;
  cached->hash = hash;
  cached->key.assign(key.words().begin(), key.words().end());
  for (const type::Layout* layout : named)
    if (layout != nullptr && !layout->dense()) cached->named.emplace_back(layout);
  Set& set = sets_[hash % kSets];
  const std::size_t way = victim(set);
  if (set[way] != nullptr) release(set[way]);
  std::move_backward(set.begin(), set.begin() + way, set.begin() + way + 1);
  set.front() = cached;
  retain(cached);
  return cached;
}

}  // namespace herald::coll
