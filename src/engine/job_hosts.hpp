// SPDX-License-Identifier: BSD-3-Clause
// engine/job_hosts.hpp: which processes share a host, whichever jobs they belong to. Each job numbers its
// hosts by itself; the cards of processes name them by a number that all jobs know alike.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "engine/peers.hpp"

namespace herald::engine {

class JobHosts {
 public:
  JobHosts(const Peers& peers, int ranks) noexcept : peers_(peers), ranks_(ranks) {}

  // By the card of a process: of a rank of our job, too, for none knows by itself what the other job sees.
  void set(p2p::PeerId peer, std::uint64_t host);
  bool span_jobs(std::span<const p2p::PeerId> peers) const noexcept;
  // Numbers the hosts of these processes: the same numbers at all of them, equal for those that may share
  // memory.
  std::vector<int> numbers(std::span<const p2p::PeerId> peers) const;
  int number(std::span<const p2p::PeerId> peers, int of) const noexcept;

 private:
  std::uint64_t host_of(p2p::PeerId peer) const noexcept {
    return static_cast<std::size_t>(peer) < hosts_.size() ? hosts_[static_cast<std::size_t>(peer)] : 0;
  }
  int first_on_host(std::span<const p2p::PeerId> peers, std::size_t of) const noexcept;

  const Peers& peers_;
  const int ranks_;
  std::vector<std::uint64_t> hosts_;  // by id; 0: not known
};

}  // namespace herald::engine
