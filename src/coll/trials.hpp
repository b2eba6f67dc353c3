// SPDX-License-Identifier: BSD-3-Clause
// coll/trials.hpp: run times correct predictions: candidates whose predicted times are close, or better than
// what the first one really took, are tried in turns until one is known to be the fastest. [pure]
// In:  candidates with predicted times; durations of blocking calls. Out: the candidate of the next call.
// Predictions are equal at all ranks, and each compares the times of the slowest rank: so all ranks switch at
// the same call.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/instant.hpp"
#include "coll/table.hpp"

namespace herald::coll {

// Of one collective of one length.
class Trial {
 public:
  struct Candidate {
    const Algorithm* algorithm = nullptr;
    double predicted_ns = 0;
    double measured_ns = 0;  // 0: not tried
  };
  static constexpr std::size_t kMost = 4;  // candidates that are tried
  static constexpr int kRuns = 6;  // of each; the first opens lanes and touches memory, and does not count
  static constexpr double kClose = 1.25;   // a candidate is tried if it may be so much slower than predicted
  static constexpr double kClearly = 0.9;  // of the time of another one: it takes its place

  // The first is taken until another one is known to be faster.
  explicit Trial(std::vector<Candidate> candidates) noexcept : candidates_(std::move(candidates)) {}

  const Algorithm& current() const noexcept { return *candidates_[current_].algorithm; }
  bool is_settled() const noexcept { return settled_; }
  std::span<const Candidate> candidates() const noexcept { return candidates_; }

  // A call by the current candidate took so long here. True: all ranks compare now, at the same call.
  bool on_run(Duration took) noexcept;
  // Of the current candidate at this rank: the mean without the longest, which may have been preempted.
  double own_ns() const noexcept;
  // `slowest_ns`: the greatest of all ranks.
  void compare(double slowest_ns) noexcept;

 private:
  std::vector<Candidate> candidates_;
  std::size_t current_ = 0;
  std::array<std::int64_t, kRuns - 1> took_ns_{};
  int runs_ = 0;
  std::size_t tried_ = 0;
  bool settled_ = false;
};

// Of a communicator.
class Trials {
 public:
  struct Kind {
    Op op;
    bool commutes;
    std::uint64_t bytes;
    bool operator==(const Kind&) const = default;
  };
  using Id = std::uint32_t;  // never given twice; 0: none

  Trial* find(const Kind& kind, Id& id) noexcept;
  Trial* find(Id id) noexcept;
  // 0: there are too many.
  Id add(const Kind& kind, Trial trial) noexcept;
  const Kind& kind_of(Id id) const noexcept;
  void clear() noexcept { all_.clear(); }

 private:
  static constexpr std::size_t kMost = 64;
  struct Entry {
    Kind kind;
    Id id;
    Trial trial;
  };
  std::vector<Entry> all_;
  Id last_ = 0;
};

}  // namespace herald::coll
