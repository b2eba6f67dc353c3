// SPDX-License-Identifier: BSD-3-Clause
#include "engine/job_hosts.hpp"

#include <algorithm>
#include <set>

namespace herald::engine {

void JobHosts::set(p2p::PeerId peer, const ProcessHome& home) {
  if (static_cast<std::size_t>(peer) >= homes_.size()) homes_.resize(static_cast<std::size_t>(peer) + 1);
  homes_[static_cast<std::size_t>(peer)] = home;
}

bool JobHosts::span_jobs(std::span<const p2p::PeerId> peers) const noexcept {
  return std::any_of(peers.begin(), peers.end(), [this](p2p::PeerId peer) { return peer >= ranks_; });
}

// The first process of a host names it. One whose host is not known has its own.
int JobHosts::first_on_host(std::span<const p2p::PeerId> peers, std::size_t of) const noexcept {
  const std::uint64_t host = home_of(peers[of]).host;
  std::size_t first = 0;
  while (first < of && (host == 0 || home_of(peers[first]).host != host)) ++first;
  return static_cast<int>(first);
}

int JobHosts::number(std::span<const p2p::PeerId> peers, int of) const noexcept {
  const auto at = static_cast<std::size_t>(of);
  return span_jobs(peers) ? first_on_host(peers, at) : peers_.host_number(peers[at]);
}

std::vector<int> JobHosts::numbers(std::span<const p2p::PeerId> peers) const {
  const bool several_jobs = span_jobs(peers);
  std::vector<int> numbers;
  for (std::size_t i = 0; i < peers.size(); ++i)
    numbers.push_back(several_jobs ? first_on_host(peers, i) : peers_.host_number(peers[i]));
  return numbers;
}

std::vector<bool> JobHosts::casters(std::span<const p2p::PeerId> peers, std::span<const int> numbers) const {
  const std::size_t hosts = std::set<int>(numbers.begin(), numbers.end()).size();
  std::set<std::uint64_t> seen;
  for (const p2p::PeerId candidate : peers) {
    const ProcessHome home = home_of(candidate);
    if (!home.casts || !seen.insert(home.job).second) continue;
    std::vector<bool> found(peers.size());
    std::set<int> reached;
    for (std::size_t i = 0; i < peers.size(); ++i) {
      const ProcessHome other = home_of(peers[i]);
      found[i] = other.casts && other.job == home.job;
      if (found[i]) reached.insert(numbers[i]);
    }
    if (reached.size() == hosts) return found;
  }
  return {};
}

}  // namespace herald::engine
