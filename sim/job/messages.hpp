// SPDX-License-Identifier: BSD-3-Clause
// sim/job/messages.hpp: the point-to-point messages that the script of a simulated process sends and
// receives.
#pragma once
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "p2p/core.hpp"
#include "sim/job/script.hpp"
#include "sim/net/transit.hpp"

namespace herald::sim {

struct Send : p2p::SendOp {
  std::unique_ptr<std::byte[]> memory;
  bool recalled = false;
};

struct Recv : p2p::RecvOp {
  std::unique_ptr<std::byte[]> memory;
  bool unwanted = false;  // taken back: no message will come
};

class Messages {
 public:
  Messages(const Script& script, HostId me, std::uint64_t seed, p2p::Core& core);
  Messages(const Messages&) = delete;
  Messages& operator=(const Messages&) = delete;

  // `tells`: the first byte says whether the send before it was cancelled.
  void start_send(std::uint32_t index, bool tells);
  void start_receive(std::uint32_t index);
  void recall(std::uint32_t index);
  // Receives a recalled message if it will come; otherwise cancels its receive.
  void heed(std::uint32_t index);
  // Receives messages that a probe has found.
  bool look_for_probed();

  bool is_sent(std::uint32_t index) const { return sends_[index]->done; }
  bool is_received(std::uint32_t index) const { return has_recv(index) && recvs_[index]->done; }
  std::uint64_t pending() const noexcept { return pending_; }
  // Receives in the order in which they were started (or found their message, if probed).
  const std::vector<std::uint32_t>& order() const noexcept { return order_; }
  const Send& send_of(std::uint32_t index) const { return *sends_[index]; }
  const Recv& recv_of(std::uint32_t index) const { return *recvs_[index]; }
  bool has_send(std::uint32_t index) const { return sends_[index] != nullptr; }
  bool has_recv(std::uint32_t index) const { return recvs_[index] != nullptr; }
  std::string state() const;

 private:
  static void on_done(p2p::Op& op);
  static void on_send_done(p2p::Op& op) {  // a program may overwrite the buffer from now on
    std::fill_n(static_cast<Send&>(op).memory.get(), op.data.total(), std::byte{0xee});
    on_done(op);
  }

  const Script& script_;
  const HostId me_;
  const std::uint64_t seed_;
  p2p::Core& core_;
  std::vector<std::unique_ptr<Send>> sends_;  // of the script; null if not ours or not started
  std::vector<std::unique_ptr<Recv>> recvs_;
  std::vector<std::uint32_t> order_, probing_;
  std::uint64_t pending_ = 0;  // operations that are not done
};

}  // namespace herald::sim
