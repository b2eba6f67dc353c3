// SPDX-License-Identifier: BSD-3-Clause
// engine/job_hosts.hpp: which processes share a host, whichever jobs they belong to, and which of them can
// multicast to each other. Each job numbers its hosts by itself; the cards of processes name them by a number
// that all jobs know alike. Lanes have the key of one job.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "engine/peers.hpp"

namespace herald::engine {

struct ProcessHome {
  std::uint64_t job = 0;
  std::uint64_t host = 0;  // 0: not known
  bool casts = false;      // its job has lanes
};

class JobHosts {
 public:
  JobHosts(const Peers& peers, int ranks) noexcept : peers_(peers), ranks_(ranks) {}

  // By the card of a process: of a rank of our job, too, for none knows by itself what the other job sees.
  void set(p2p::PeerId peer, const ProcessHome& home);
  bool span_jobs(std::span<const p2p::PeerId> peers) const noexcept;
  // Numbers the hosts of these processes: the same numbers at all of them, equal for those that may share
  // memory.
  std::vector<int> numbers(std::span<const p2p::PeerId> peers) const;
  int number(std::span<const p2p::PeerId> peers, int of) const noexcept;
  // Of processes of several jobs: those of the first job that has lanes and a process on each of these hosts.
  // Empty: there is no such job.
  std::vector<bool> casters(std::span<const p2p::PeerId> peers, std::span<const int> numbers) const;

 private:
  ProcessHome home_of(p2p::PeerId peer) const noexcept {
    return static_cast<std::size_t>(peer) < homes_.size() ? homes_[static_cast<std::size_t>(peer)]
                                                          : ProcessHome{};
  }
  int first_on_host(std::span<const p2p::PeerId> peers, std::size_t of) const noexcept;

  const Peers& peers_;
  const int ranks_;
  std::vector<ProcessHome> homes_;  // by id
};

}  // namespace herald::engine
