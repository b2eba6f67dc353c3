// SPDX-License-Identifier: BSD-3-Clause
// engine/peers.hpp: the ranks of the job: where they run, and which of them have left or died.
// In:  lost peers of the network; local peers that closed, and the file locks of those that died.
// Out: operations with them fail; one call of the handler for each peer that died.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "engine/local_peers.hpp"
#include "node/node.hpp"
#include "path/shm/shm.hpp"

namespace herald::engine {

class Net;

class Peers {
 public:
  Peers(int rank, int size, node::Node& node, LocalPeers& local) noexcept
      : rank_(rank), size_(size), node_(node), local_(local) {}
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;
  void use(const path::ShmPath& shm) noexcept { shm_ = &shm; }
  void use(const Net& net) noexcept { net_ = &net; }

  int rank() const noexcept { return rank_; }
  int size() const noexcept { return size_; }
  // True if the peer shares this host's memory (proved by attaching its segment).
  bool is_local(p2p::PeerId peer) const noexcept { return local_.reaches(peer); }
  // Some peers are on other hosts.
  bool has_remote() const noexcept { return net_ != nullptr; }
  // Numbers the hosts of the job: the same number on all ranks, equal for peers that share a host. Other jobs
  // number theirs by themselves (engine/job_hosts.hpp).
  int host_number(p2p::PeerId peer) const noexcept {
    return shm_ != nullptr ? shm_->first_on_host_of(peer) : net_ != nullptr ? peer : 0;
  }
  // The name of the host where a peer runs, for messages.
  std::string host_of(p2p::PeerId peer) const;

  // Wakes a local peer that sleeps, after this process changed memory that both share.
  void ring(p2p::PeerId peer) noexcept { local_.ring(peer); }
  // Peers that have left or died so far, and whether this one has.
  std::uint32_t gone_count() const noexcept { return node_.core().counters().peers_gone; }
  bool is_gone(p2p::PeerId peer) const noexcept { return node_.core().is_gone(peer); }

  // Of a peer on another host that died: its host said so.
  bool was_refused(p2p::PeerId peer) const noexcept {
    return net_ != nullptr && node_.mesh().liveness().was_refused(peer);
  }
  // Called once for each peer that ended without a goodbye, within about a second of waiting. Everything it
  // had sent was delivered, and operations that need it have failed with peer_lost.
  using PeerDied = void (*)(p2p::PeerId peer);
  void when_peer_dies(PeerDied handler) noexcept { peer_died_ = handler; }

  // For turns of the engine.
  void lose(p2p::PeerId peer) noexcept;  // the network cannot reach it
  void report_death(p2p::PeerId peer) noexcept;
  void check_local() noexcept;  // finds local peers that died, some at a time
  bool some_depart() const noexcept { return !local_.closed().empty() || !departing_.empty(); }
  void drain_departing() noexcept;

 private:
  void depart(p2p::PeerId peer) noexcept;

  const int rank_, size_;
  node::Node& node_;
  LocalPeers& local_;
  const path::ShmPath* shm_ = nullptr;  // null: no shared memory
  const Net* net_ = nullptr;            // null: all peers are on this host
  PeerDied peer_died_ = nullptr;
  std::vector<p2p::PeerId> departing_;  // gone as soon as all is read that they wrote
  Instant next_check_{};
  p2p::PeerId next_checked_ = 0;
};

}  // namespace herald::engine
