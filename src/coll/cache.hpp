// SPDX-License-Identifier: BSD-3-Clause
// coll/cache.hpp: the plan cache of a communicator, keyed by everything that went into a plan.
// Bounded: kSets * kWays plans of at most kLargestPlan bytes; each set evicts its least recently used plan,
// those that were prepared last. A plan that runs or belongs to a persistent request outlives its eviction.
// Everything happens under the engine's lock, so reference counts are plain integers.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "coll/check.hpp"
#include "coll/coll_spec.hpp"
#include "coll/plan.hpp"

namespace herald::coll {

// The key of a plan: a sequence of words.
class Key {
 public:
  void clear() noexcept { used_ = 0; }
  void add(std::int64_t word) noexcept { *grow(1) = word; }
  void add_layout(const type::Layout* layout) noexcept { write_layout(layout, grow(kLayoutWords)); }
  // Dense layouts of the same size give the same plan for any type.
  static constexpr std::size_t kLayoutWords = 2;
  static void write_layout(const type::Layout* layout, std::int64_t* words) noexcept;
  // For the caller to fill; valid until the next add or grow.
  std::int64_t* grow(std::size_t words) noexcept {
    used_ += words;
    if (used_ > words_.size()) words_.resize(used_);
    return words_.data() + used_ - words;
  }
  std::int64_t* data() noexcept { return words_.data(); }
  std::span<const std::int64_t> words() const noexcept { return {words_.data(), used_}; }
  std::uint64_t hash() const noexcept;

 private:
  std::vector<std::int64_t> words_;  // never shrinks
  std::size_t used_ = 0;
};

// A plan with references from the cache and from its runs.
struct CachedPlan {
  Plan plan;
  Facts facts;  // of a checked plan
  std::uint64_t hash = 0;
  std::vector<std::int64_t> key;
  // Layouts that the key names by address: held, so that no new layout can get the same address.
  std::vector<type::LayoutRef> named;
  std::uint32_t refs = 1;
  std::uint32_t prepared_runs = 0;
  bool prepared = false;  // ahead of a call that is expected: evicted last
  // An idle runner, ready to run this plan again, and its destructor.
  void* idle = nullptr;
  void (*drop_idle)(void*) = nullptr;

  CachedPlan() = default;
  CachedPlan(const CachedPlan&) = delete;
  CachedPlan& operator=(const CachedPlan&) = delete;
  ~CachedPlan() {
    if (idle != nullptr) drop_idle(idle);
  }
};
inline void retain(CachedPlan* cached) noexcept { ++cached->refs; }
inline void release(CachedPlan* cached) noexcept {
  if (--cached->refs == 0) delete cached;
}

class PlanCache {
 public:
  static constexpr std::size_t kSets = 16, kWays = 4, kLargestPlan = 256 * 1024;

  PlanCache() = default;
  PlanCache(const PlanCache&) = delete;
  PlanCache& operator=(const PlanCache&) = delete;
  ~PlanCache() { clear(); }

  // Null if there is none. The caller gets a reference.
  CachedPlan* find(const Key& key, std::uint64_t hash) noexcept;
  // Caches a plan, unless it is too large. The caller gets a reference.
  CachedPlan* add(Plan plan, const Key& key, std::uint64_t hash,
                  std::span<const type::Layout* const> named) noexcept;

  // Running plans keep their references.
  void clear() noexcept;
  // The plans of a trial.
  void drop_trial(std::uint32_t trial) noexcept;
  // Plans of this operation (name_of) are evicted as any other again.
  void release_prepared(const char* operation) noexcept;

  struct Counters {
    std::uint64_t found = 0, made = 0;
  };
  const Counters& counters() const noexcept { return counters_; }

 private:
  using Set = std::array<CachedPlan*, kWays>;  // most recently used first
  static std::size_t victim(const Set& set) noexcept;

  std::array<Set, kSets> sets_{};
  Counters counters_;
};

// Collective state of a communicator. Made at its first collective.
struct CommState {
  PlanCache plans;
  Key key;  // of the call being looked up; reused to save allocations
};

}  // namespace herald::coll
