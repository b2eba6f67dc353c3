// SPDX-License-Identifier: BSD-3-Clause
// tools/doctor/multicast.hpp: tests whether multicast reaches all hosts. Each leader sends probes over every
// physical interface, and counts those it receives, and those that its own socket had no room for.
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "doctor/doctor.hpp"

namespace herald::tools::doctor {

class Multicast {
 public:
  // The group, 239.192.x.y, and its port are a hash of all leaders' random numbers: they differ between runs.
  Multicast(int rank, const std::vector<HostLeader>& leaders);
  ~Multicast();
  Multicast(const Multicast&) = delete;
  Multicast& operator=(const Multicast&) = delete;

  int fd() const noexcept { return fd_; }  // -1: no multicast here
  void send_probes() noexcept;
  void receive_probes() noexcept;
  bool is_complete() const noexcept { return fd_ < 0 || next_ >= most_; }  // all probes were sent
  // [{"from": rank, "to": our rank, "count": n, "sent": m, "overflow": k}] for every other leader: of the m
  // probes between the first and the last that arrived, n arrived. The socket dropped k, of all senders.
  json results() const;

 private:
  struct Probe {
    char magic[8];
    std::uint64_t run;
    std::int32_t from, number;
  };

  int rank_;
  int fd_ = -1;
  std::uint64_t run_ = 0;
  std::uint32_t group_ = 0;  // network order
  std::uint16_t port_ = 0;
  std::vector<int> interfaces_;                     // with a membership
  std::int32_t next_ = 0;                           // number of our next probe
  std::int32_t most_ = 0;                           // probes to send
  std::uint32_t overflow_ = 0;                      // probes that the socket dropped
  std::map<int, std::set<std::int32_t>> received_;  // by rank: the numbers that came
};

}  // namespace herald::tools::doctor
