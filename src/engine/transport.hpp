// SPDX-License-Identifier: BSD-3-Clause
// engine/transport.hpp: moves packets from Core to shared memory and to the network, and completes
// operations. In:  peers and lanes with something to send. Out: packets on the paths; operations that become
// done.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "engine/local_memory.hpp"
#include "engine/local_peers.hpp"
#include "engine/waiter.hpp"
#include "node/node.hpp"

namespace herald::engine {

class Net;

class Transport {
 public:
  Transport(int rank, node::Node& node, LocalPeers& local, LocalMemory& memory, Waiter& waiter) noexcept
      : rank_(rank), node_(node), core_(node.core()), local_(local), memory_(memory), waiter_(waiter) {}
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  // `remote`: by peer, whether the network reaches it.
  void open(Net& net, std::vector<bool> remote) noexcept {
    net_ = &net;
    remote_ = std::move(remote);
  }
  void add_remote(p2p::PeerId peer) {
    remote_.resize(static_cast<std::size_t>(peer) + 1);
    remote_.back() = true;
  }
  void close() noexcept { closed_ = true; }
  bool is_closed() const noexcept { return closed_; }

  // Each of them is true if anything moved.
  bool pump(p2p::PeerId peer) noexcept;
  bool pump_lane(std::int32_t lane) noexcept;
  bool pump_all() noexcept;
  bool move_direct() noexcept;  // copies between the memory of local peers and ours

  // Makes completions visible, and wakes blocked threads to look at them.
  void complete() noexcept {
    core_.run_finished();
    const std::uint64_t finished = core_.counters().finished;
    if (finished == completed_) return;
    completed_ = finished;
    wake_waiters();
  }
  void wake_waiters() noexcept {
    ++activity_;
    waiter_.wake();
  }
  // Changes when anything moves.
  std::uint64_t activity() const noexcept { return activity_; }
  void on_moved() noexcept { ++activity_; }

  bool is_under_way() const noexcept {
    return core_.sends_under_way() != 0 || core_.receives_under_way() != 0;
  }
  // Core has more to do although nothing arrives.
  bool wants_turn() const noexcept { return core_.wants_to_send() || core_.direct().busy(); }
  bool has_local_news() noexcept { return local_.has_news(); }
  // Receivers with full memory ring when they have room.
  void request_space() noexcept { local_.request_space(); }
  // A peer on another host that was never heard answers soon.
  void introduce(p2p::PeerId peer) noexcept;
  // Everything that was sent has left, and remote peers have acknowledged it.
  bool is_flushed() const noexcept {
    return core_.sends_under_way() == 0 && !core_.wants_to_send() && (net_ == nullptr || node_.is_flushed());
  }

 private:
  bool is_remote(p2p::PeerId peer) const noexcept {
    return net_ != nullptr && static_cast<std::size_t>(peer) < remote_.size() &&
           remote_[static_cast<std::size_t>(peer)];
  }

  const int rank_;
  node::Node& node_;
  p2p::Core& core_;
  LocalPeers& local_;
  LocalMemory& memory_;
  Waiter& waiter_;
  Net* net_ = nullptr;  // null: all peers are on this host
  std::vector<bool> remote_;
  std::uint64_t activity_ = 0;
  std::uint64_t completed_ = 0;  // operations that blocked threads were woken for
  bool closed_ = false;
};

}  // namespace herald::engine
