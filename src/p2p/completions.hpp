// SPDX-License-Identifier: BSD-3-Clause
// p2p/completions.hpp: operations that have finished, and what is counted of them.
// Invariant: `done` is set and on_done called by run() (at once if there is no on_done), never while Core
// handles a packet or starts an operation.
#pragma once
#include <cstdint>

#include "base/list.hpp"
#include "base/trace.hpp"
#include "p2p/counters.hpp"
#include "p2p/ops.hpp"

namespace herald::p2p {

class Completions {
 public:
  void finish(Op& op, Status status) noexcept {
    op.status = status;
    ++counters.finished;
    if (op.on_done == nullptr)
      op.done = true;
    else
      finished_.push_back(op);
  }
  // True if there was anything.
  bool run() noexcept { return !finished_.empty() && run_all(); }
  // A packet that makes no sense is dropped: it is as good as handled.
  Status bad_packet() noexcept {
    ++counters.bad_packets;
    return Status::ok;
  }

  CoreCounters counters;
  std::uint64_t sends_under_way = 0, receives_under_way = 0;
  Trace* trace = nullptr;

 private:
  bool run_all() noexcept {
    if (running_) return false;
    running_ = true;
    while (Op* op = finished_.pop_front()) {
      op->done = true;
      op->on_done(*op);
    }
    running_ = false;
    return true;
  }
  List<Op> finished_;
  bool running_ = false;
};

}  // namespace herald::p2p
