// SPDX-License-Identifier: BSD-3-Clause
// engine/open.hpp: opens an engine: exchanges cards through `boot`, attaches shared memory, opens the
// network, starts the threads. A card is what a rank publishes so that others can reach it.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "engine/engine.hpp"

namespace herald::engine {

class NetOpener;
struct NetStart;

class Opener {
 public:
  Opener(Engine& engine, boot::Boot& boot, const Knobs& knobs)
      : engine_(engine),
        boot_(boot),
        knobs_(knobs),
        rank_(boot.rank()),
        size_(boot.size()),
        remote_(static_cast<std::size_t>(size_)) {}
  bool open(std::string& why);
  // The lock is active.
  static bool start_keep_alive(Engine& engine, std::string& why);

 private:
  using Cards = std::vector<std::string>;  // by rank
  bool open_paths(std::string& why);
  bool open_shm(std::string& why);
  bool open_net(std::string& why);
  void use_sizes(NetStart& start);
  bool add_remote_peers(NetOpener& net, NetStart& start, const Cards& cards, std::string& why);
  bool exchange_cards(const std::string& own, Cards& cards, std::string& why);
  void open_waiter();
  bool shares_memory(int peer) const noexcept {
    return peer == rank_ || (engine_.shm_ && engine_.shm_->is_attached(peer));
  }

  // A process may open and close the engine several times, one after the other.
  inline static int exchanges_ = 0;

  Engine& engine_;
  boot::Boot& boot_;
  const Knobs& knobs_;
  const int rank_, size_;
  int generation_ = 0;                       // of the exchange of cards: the same on all ranks
  std::vector<bool> remote_;                 // by peer: the network reaches it
  std::map<int, path::CpuMask> co_located_;  // remote peers on our machine, and where they may run
  bool only_remote_ = false;                 // no other rank shares our memory
  bool has_model_ = false;                   // rank 0 has been asked for measured parameters
};

}  // namespace herald::engine
