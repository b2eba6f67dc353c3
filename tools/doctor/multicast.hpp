// SPDX-License-Identifier: BSD-3-Clause
// tools/doctor/multicast.hpp: whether one datagram to a group reaches all hosts. Each speaker calls by every
// interface that a cable may be in, and notes whom it hears.
#pragma once
#include <cstdint>
#include <map>
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
  // [{"from": rank, "to": our rank, "count": n}], of all others, also of those that were not heard.
  json heard() const;

 private:
  struct Call {
    char magic[8];
    std::uint64_t run;
    std::int32_t from, pad;
  };

  int rank_;
  int fd_ = -1;
  std::uint64_t run_ = 0;
  std::uint32_t group_ = 0;  // network order
  std::uint16_t port_ = 0;
  std::vector<int> interfaces_;  // that we have joined on
  std::map<int, int> heard_;     // by rank
};

}  // namespace herald::tools::doctor
