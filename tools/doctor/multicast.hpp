// SPDX-License-Identifier: BSD-3-Clause
// tools/doctor/multicast.hpp: whether one datagram to a group reaches all hosts. Each speaker calls by every
// interface that a cable may be in, and notes whom it hears.
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "doctor/doctor.hpp"

namespace herald::tools::doctor {

class Multicast {
 public:
  // The group, 239.192.x.y, and its port come from the secrets of all: other runs have others.
  Multicast(int rank, const std::vector<Speaker>& speakers);
  ~Multicast();
  Multicast(const Multicast&) = delete;
  Multicast& operator=(const Multicast&) = delete;

  int fd() const noexcept { return fd_; }  // -1: no multicast here
  void call() noexcept;
  void listen() noexcept;
  // [{"from": rank, "to": our rank, "count": n, "sent": m}], of all others, also of those that were not
  // heard: of the m calls from the first to the last that came, n came.
  json heard() const;

 private:
  struct Call {
    char magic[8];
    std::uint64_t run;
    std::int32_t from, number;
  };

  int rank_;
  int fd_ = -1;
  std::uint64_t run_ = 0;
  std::uint32_t group_ = 0;  // network order
  std::uint16_t port_ = 0;
  std::vector<int> interfaces_;                  // that we have joined on
  std::int32_t next_ = 0;                        // number of our next call
  std::map<int, std::set<std::int32_t>> heard_;  // by rank: the numbers that came
};

}  // namespace herald::tools::doctor
