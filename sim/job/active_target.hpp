// SPDX-License-Identifier: BSD-3-Clause
// sim/job/active_target.hpp: one-sided communication in epochs of MPI_Win_fence and of MPI_Win_post, start,
// complete and wait, on a window of its own.
// In:  the epochs of the script, equal at all processes; a seed. Out: service calls, and messages in place of
// the collectives of a fence; what differs from the memory that a serial program leaves after each epoch.
//
//   begin -> opening -> begin                        (the fence before a first epoch with fences)
//   begin -> replies -> counting -> applying -> local -> closing -> begin      (fence)
//   begin -> posting -> replies -> local -> waiting -> begin                   (post, start, complete, wait)
#pragma once
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "p2p/core.hpp"
#include "rma/endpoint.hpp"
#include "sim/job/script.hpp"
#include "sim/net/transit.hpp"

namespace herald::sim {

class ActiveTarget {
 public:
  using Words = std::vector<std::int64_t>;
  static constexpr std::size_t kMostProcesses = 8;

  ActiveTarget(const Script& script, HostId me, std::uint64_t seed, p2p::Core& core, rma::Endpoint& endpoint);
  ActiveTarget(const ActiveTarget&) = delete;
  ActiveTarget& operator=(const ActiveTarget&) = delete;

  void start() noexcept { phase_ = script_.active.empty() ? Phase::idle : Phase::begin; }
  bool advance();  // true if it went on
  bool is_pending() const noexcept { return phase_ != Phase::idle; }
  const std::vector<std::string>& wrong() const noexcept { return wrong_; }
  // Epochs that ended.
  std::size_t ended() const noexcept { return epoch_; }
  std::string state() const;

 private:
  enum class Phase : std::uint8_t {
    idle,
    begin,
    opening,
    posting,
    replies,
    counting,
    applying,
    local,
    waiting,
    closing
  };
  struct Access;
  struct Running {  // an operation and its memory
    Words data, result, wanted;
  };
  struct Note {  // between two processes, one for each exchange
    p2p::SendOp send;
    p2p::RecvOp recv;
    std::uint32_t sent = 0, received = 0;
  };

  bool step();
  bool is_fence() const { return script_.active[epoch_] == ActiveKind::fence; }
  bool accesses(std::size_t origin, std::size_t target) const;
  std::vector<Access> accesses_of(std::size_t origin) const;
  void apply(const Access& access, Words& memory) const;
  void post();
  bool start_accesses();
  void operate(const Access& access);
  void begin_exchange(bool counts);
  bool is_exchanged() const;
  void pass_fence();
  void complete();
  bool all_complete();
  void end_epoch();
  template <class Test>
  bool all_targets(Test test) const;

  const Script& script_;
  const std::size_t me_, processes_;
  const std::uint64_t seed_, range_;  // words that a process writes in a window, twice
  p2p::Core& core_;
  Words memory_;
  std::vector<Words> model_;  // memory of all processes after the last epoch
  rma::Window window_;
  type::LayoutRef gappy_;
  Phase phase_ = Phase::idle;
  std::size_t epoch_ = 0;
  bool fenced_ = false;  // the last epoch ended with a fence, which began this one
  std::deque<Running> running_;
  std::deque<Note> notes_;
  std::int32_t exchanges_ = 0;
  std::vector<std::string> wrong_;
};

}  // namespace herald::sim
