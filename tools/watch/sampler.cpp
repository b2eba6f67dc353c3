// SPDX-License-Identifier: BSD-3-Clause
#include "watch/sampler.hpp"

#include <algorithm>
#include <chrono>
#include <set>
#include <thread>
#include <utility>

namespace herald::watch {
namespace {

constexpr int kLookEvery = 5;         // samples; a job may get ranks later
constexpr int kAnswerMs = 150;        // a rank that blocks looks at its page every 100 ms
constexpr int kFirstFeedMs = 10'000;  // the remote shell has to connect
constexpr int kFeedMs = 2'000;

}  // namespace

Sampler::Sampler(std::string job, int levels) : job_(std::move(job)), levels_(levels) {}

void Sampler::look_for_ranks() {
  const bool gone =
      std::any_of(ranks_.begin(), ranks_.end(), [](const RankReader& each) { return !each.is_alive(); });
  if (!ranks_.empty() && !gone && ++age_ < kLookEvery) return;
  ranks_ = open_ranks(job_);
  age_ = 0;
}

void Sampler::wait_for_answers() const {
  using Clock = std::chrono::steady_clock;
  const auto limit = Clock::now() + std::chrono::milliseconds(kAnswerMs);
  while (Clock::now() < limit && !std::all_of(ranks_.begin(), ranks_.end(),
                                              [](const RankReader& each) { return each.has_answered(); }))
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
}

// Hosts whose ranks cannot be seen from here. In containers and namespaces one host may see all of them.
void Sampler::open_feeds(const std::vector<RankView>& seen) {
  fed_ = true;
  if (!seen.empty() && seen.size() >= static_cast<std::size_t>(seen[0].size)) return;
  for (const RemoteHost& host : remote_hosts(job_)) feeds_.emplace_back(host, job_, levels_ - 1);
}

std::vector<RankView> Sampler::sample() {
  look_for_ranks();
  for (Feed& feed : feeds_) feed.request();
  for (const RankReader& each : ranks_) each.want_counters();
  wait_for_answers();
  std::vector<RankView> out;
  std::set<int> seen;
  const auto add = [&](RankView&& view) {
    if (view.job == job_ && seen.insert(view.rank).second) out.push_back(std::move(view));
  };
  for (const RankReader& each : ranks_)
    if (each.is_alive()) add(each.read());
  const bool first = !fed_ && levels_ > 0;
  if (first) {
    open_feeds(out);
    for (Feed& feed : feeds_) feed.request();
  }
  silent_.clear();
  for (Feed& feed : feeds_) {
    std::vector<RankView> views;
    if (!feed.take(first ? kFirstFeedMs : kFeedMs, views)) silent_.push_back(feed.host());
    for (RankView& view : views) add(std::move(view));
  }
  std::sort(out.begin(), out.end(), [](const RankView& a, const RankView& b) { return a.rank < b.rank; });
  return out;
}

}  // namespace herald::watch
