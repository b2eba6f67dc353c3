// SPDX-License-Identifier: BSD-3-Clause
// engine/foreign_memory.hpp: memory that this process shares with processes of other jobs on its host: they
// exchange packets by the same inboxes and rings as the ranks of a job. Two processes share memory if each
// has attached that of the other; all others use the network.
// In:  cards of such processes. Out: packets to and from them, by LocalPeers; copies, by LocalMemory.
//
//   attach --use--> packets go this way --forget--> detached
//        \-------(the other one could not)---forget--^
#pragma once
#include <string>

#include "base/knobs.hpp"
#include "p2p/ops.hpp"

namespace herald::engine {

class Engine;

class ForeignMemory {
 public:
  ForeignMemory(Engine& engine, int rank, int size, const Knobs& knobs) noexcept
      : engine_(engine), knobs_(knobs), rank_(rank), size_(size) {}
  ForeignMemory(const ForeignMemory&) = delete;
  ForeignMemory& operator=(const ForeignMemory&) = delete;

  // Before the network opens. A process that is alone in its job makes its inbox now.
  void open();
  // How others attach our memory: one word.
  std::string card() const;
  // False: the process runs on another host, or the system does not let us.
  bool attach(p2p::PeerId peer, const std::string& card);
  // Both have attached. `own_id`: our number there.
  void use(p2p::PeerId peer, p2p::PeerId own_id);
  void forget(p2p::PeerId peer) noexcept;

 private:
  bool make_inbox();

  Engine& engine_;
  const Knobs& knobs_;
  const int rank_, size_;
  bool open_ = false;
};

}  // namespace herald::engine
