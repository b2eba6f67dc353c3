// SPDX-License-Identifier: BSD-3-Clause
#include "coll/trials.hpp"

#include <algorithm>
#include <numeric>

#include "base/fatal.hpp"

namespace herald::coll {

bool Trial::on_run(Duration took) noexcept {
  if (settled_) return false;
  const int run = runs_++;
  if (run > 0) took_ns_[static_cast<std::size_t>(run) - 1] = took.ns;
  return runs_ == kRuns;
}

double Trial::own_ns() const noexcept {
  const auto longest = *std::max_element(took_ns_.begin(), took_ns_.end());
  const auto sum = std::accumulate(took_ns_.begin(), took_ns_.end(), -longest);
  return std::max(1.0, static_cast<double>(sum) / static_cast<double>(took_ns_.size() - 1));
}

void Trial::compare(double slowest_ns) noexcept {
  candidates_[current_].measured_ns = slowest_ns;
  runs_ = 0;
  ++tried_;
  std::size_t best = 0, next = candidates_.size();
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    const Candidate& each = candidates_[i];
    if (each.measured_ns == 0) {
      if (next == candidates_.size() || each.predicted_ns < candidates_[next].predicted_ns) next = i;
    } else if (each.measured_ns < kClearly * candidates_[best].measured_ns) {
      best = i;
    }
  }
  const bool more = tried_ < kMost && next != candidates_.size() &&
                    candidates_[next].predicted_ns < kClose * candidates_[best].measured_ns;
  current_ = more ? next : best;
  settled_ = !more;
}

Trial* Trials::find(const Kind& kind, Id& id) noexcept {
  const auto found =
      std::find_if(all_.begin(), all_.end(), [&](const Entry& one) { return one.kind == kind; });
  id = found == all_.end() ? 0 : found->id;
  return found == all_.end() ? nullptr : &found->trial;
}

Trial* Trials::find(Id id) noexcept {
  const auto found = std::find_if(all_.begin(), all_.end(), [&](const Entry& one) { return one.id == id; });
  return found == all_.end() ? nullptr : &found->trial;
}

Trials::Id Trials::add(const Kind& kind, Trial trial) noexcept {
  if (all_.size() == kMost) return 0;
  all_.push_back({kind, ++last_, std::move(trial)});
  return last_;
}

const Trials::Kind& Trials::kind_of(Id id) const noexcept {
  const auto found = std::find_if(all_.begin(), all_.end(), [&](const Entry& one) { return one.id == id; });
  HERALD_ASSERT(found != all_.end());
  return found->kind;
}

}  // namespace herald::coll
