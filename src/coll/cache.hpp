// SPDX-License-Identifier: BSD-3-Clause
// coll/cache.hpp: the plans that a communicator remembers, found by everything that went into making them.
// Bounded: kSets * kWays plans of at most kLargestPlan bytes; in each set the one not used for longest goes.
// Freed with the communicator; a plan that is running or belongs to a persistent request lives on until that
// lets go. Everything happens under the engine's lock, so counts are plain numbers.
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

// What a plan is found by: a row of words.
class Key {
 public:
  void clear() noexcept { used_ = 0; }
  void add(std::int64_t word) noexcept { *grow(1) = word; }
  void add_layout(const type::Layout* layout) noexcept { write_layout(layout, grow(kLayoutWords)); }
  // Dense layouts of the same size give the same plan, whatever type they belong to.
  static constexpr std::size_t kLayoutWords = 2;
  static void write_layout(const type::Layout* layout, std::int64_t* words) noexcept;
  // For the caller to write, each of them; valid until the next add or grow.
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

// A plan that is kept, by the cache and by whoever runs it.
struct CachedPlan {
  Plan plan;
  Facts facts;  // of a checked plan
  std::uint64_t hash = 0;
  std::vector<std::int64_t> key;
  // What the key names by address; held, so that no new layout can get the same address.
  std::vector<type::LayoutRef> named;
  std::uint32_t refs = 1;
  // A runner at rest, ready to run this plan again, and how to be rid of it.
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

  // Null if there is none. The caller gets a count of its own.
  CachedPlan* find(const Key& key, std::uint64_t hash) noexcept;
  // Remembers a plan, unless it is too large. The caller has a count of its own on what comes back.
  CachedPlan* add(Plan plan, const Key& key, std::uint64_t hash,
                  std::span<const type::Layout* const> named) noexcept;

  // Those who run a plan keep it.
  void clear() noexcept;

  struct Counters {
    std::uint64_t found = 0, made = 0;
  };
  const Counters& counters() const noexcept { return counters_; }

 private:
  using Set = std::array<CachedPlan*, kWays>;  // most recently used first
  std::array<Set, kSets> sets_{};
  Counters counters_;
};

// What a communicator has of collectives. Made at its first one.
struct CommState {
  PlanCache plans;
  Key key;                             // of the call being looked up: kept to save its memory
  std::uint32_t persistent_count = 0;  // persistent collectives made so far: what matches them
};

}  // namespace herald::coll
