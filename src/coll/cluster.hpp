// SPDX-License-Identifier: BSD-3-Clause
// coll/cluster.hpp: which ranks of a communicator share a host. Hosts are numbered in the order of their
// first ranks; the first rank of a host is its leader, unless others shall lead. The same at every rank.
#pragma once
#include <algorithm>
#include <span>
#include <vector>

namespace herald::coll {

class Cluster {
 public:
  // `numbers`: by rank, equal for ranks of one host. `leads`: not empty: the first of these ranks on each
  // host is its leader, and comes first there. For several hosts: on a single one, plans take ranks for
  // places.
  explicit Cluster(std::span<const int> numbers, const std::vector<bool>& leads = {}) noexcept {
    std::vector<int> seen;  // numbers of hosts so far
    for (const int number : numbers) {
      const auto found = std::find(seen.begin(), seen.end(), number);
      host_.push_back(static_cast<int>(found - seen.begin()));
      if (found == seen.end()) seen.push_back(number);
    }
    ranks_.resize(seen.size());
    for (int rank = 0; rank < static_cast<int>(host_.size()); ++rank) {
      std::vector<int>& mine = ranks_[static_cast<std::size_t>(host_of(rank))];
      in_order_ = in_order_ && (mine.empty() || mine.back() == rank - 1);
      mine.push_back(rank);
    }
    place_.resize(host_.size());
    for (std::vector<int>& mine : ranks_) {
      if (!leads.empty()) put_first(mine, leads);
      for (std::size_t place = 0; place < mine.size(); ++place)
        place_[static_cast<std::size_t>(mine[place])] = static_cast<int>(place);
      first_.push_back(
          leaders_.empty() ? 0 : first_.back() + static_cast<int>(ranks_[leaders_.size() - 1].size()));
      leaders_.push_back(mine.front());
      largest_ = std::max(largest_, static_cast<int>(mine.size()));
      equal_ = equal_ && mine.size() == ranks_.front().size();
    }
  }

  int ranks() const noexcept { return static_cast<int>(host_.size()); }
  int hosts() const noexcept { return static_cast<int>(ranks_.size()); }
  int host_of(int rank) const noexcept { return host_[static_cast<std::size_t>(rank)]; }
  // The rank's index on its host.
  int place_of(int rank) const noexcept { return place_[static_cast<std::size_t>(rank)]; }
  const std::vector<int>& on_host(int host) const noexcept { return ranks_[static_cast<std::size_t>(host)]; }
  int count(int host) const noexcept { return static_cast<int>(on_host(host).size()); }
  // Ranks on the hosts before this one.
  int before(int host) const noexcept { return first_[static_cast<std::size_t>(host)]; }
  const std::vector<int>& leaders() const noexcept { return leaders_; }
  int largest() const noexcept { return largest_; }     // ranks on one host
  bool equal() const noexcept { return equal_; }        // the same count on each host
  bool in_order() const noexcept { return in_order_; }  // ranks are numbered host by host

  bool lane = false;         // a multicast reaches all leaders
  bool reads_peers = false;  // ranks of a host can read each other's memory

 private:
  void put_first(std::vector<int>& mine, const std::vector<bool>& leads) noexcept {
    const auto leader = std::find_if(mine.begin(), mine.end(),
                                     [&](int rank) { return leads[static_cast<std::size_t>(rank)]; });
    if (leader == mine.begin() || leader == mine.end()) return;
    std::rotate(mine.begin(), leader, leader + 1);
    in_order_ = false;
  }

  std::vector<int> host_, place_, leaders_, first_;
  std::vector<std::vector<int>> ranks_;  // by host
  int largest_ = 0;
  bool equal_ = true, in_order_ = true;
};

}  // namespace herald::coll
