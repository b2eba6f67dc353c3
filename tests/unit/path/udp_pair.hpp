// SPDX-License-Identifier: BSD-3-Clause
// Several connected UDP paths in one process, over loopback or the interface of the test.
#pragma once
#include <poll.h>

#include <memory>
#include <string>
#include <vector>

#include "path/udp/udp.hpp"

using Bytes = std::vector<std::byte>;

inline Bytes pattern(std::size_t size, std::size_t seed) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(seed * 37 + i * 11 + i / 256);
  return bytes;
}

struct Came {
  int from;
  int link;
  Bytes bytes;
};

class Team {
 public:
  Team(int size, bool segment, const std::string& networks, std::uint32_t socket_bytes = 4 << 20,
       const std::string& interfaces = "lo") {
    for (int rank = 0; rank < size; ++rank) {
      herald::path::UdpConfig config;
      config.rank = rank;
      config.size = size;
      config.interfaces = interfaces;
      config.networks = networks;
      config.socket_bytes = socket_bytes;
      config.segment = segment;
      paths_.push_back(herald::path::UdpPath::open(config, why_));
      if (!paths_.back()) return;
    }
    for (int rank = 0; rank < size; ++rank)
      for (int peer = 0; peer < size; ++peer)
        if (peer != rank && path(rank).add_peer(peer, path(peer).card(), why_) == 0) return;
    ready_ = true;
  }

  // False, with why(): there is no such network here.
  bool ready() const { return ready_; }
  const std::string& why() const { return why_; }
  herald::path::UdpPath& path(int rank) { return *paths_[static_cast<std::size_t>(rank)]; }
  void close(int rank) { paths_[static_cast<std::size_t>(rank)].reset(); }

  std::size_t send(int rank, const std::vector<herald::path::UdpSend>& batch) {
    std::ptrdiff_t failed = -1;
    const std::size_t left = path(rank).send(batch, failed);
    return failed == -1 ? left : 0;
  }

  // Receives until `least` have arrived; gives up after 10 s.
  std::vector<Came> receive(int rank, std::size_t least) {
    std::vector<Came> came;
    for (int waits = 0; waits < 100 && came.size() < least;) {
      const auto batch = path(rank).receive();
      for (const auto& each : batch)
        came.push_back({each.from, each.link, Bytes(each.bytes.begin(), each.bytes.end())});
      if (!batch.empty()) continue;
      pollfd entry{path(rank).descriptors()[0], POLLIN, 0};
      (void)::poll(&entry, 1, 100);
      ++waits;
    }
    return came;
  }

 private:
  std::vector<std::unique_ptr<herald::path::UdpPath>> paths_;
  std::string why_;
  bool ready_ = false;
};
