// SPDX-License-Identifier: BSD-3-Clause
// p2p/fused_ops.hpp: the fused exchanges of the program (rel/fused_exchange.hpp), from its memory and into
// it. In:  operations to start; look(), when something may have come. Out: contributions and results for
// rel::Lanes; operations that finish. No matching: the number of a fused exchange says which call it belongs
// to.
#pragma once
#include <array>
#include <vector>

#include "p2p/core.hpp"
#include "p2p/ops.hpp"
#include "rel/lanes.hpp"

namespace herald::p2p {

class FusedOps {
 public:
  FusedOps(Core& core, rel::Lanes& lanes) noexcept : done_(core.completions()), lanes_(lanes) {}

  // Its packets leave with the next poll_transmit() of the lanes.
  void start(Instant now, FusedOp& op) noexcept;
  bool waits() const noexcept { return !ops_.empty(); }
  // True if an operation has finished.
  bool look() noexcept;
  // The lane is about to be closed.
  void drop(rel::LaneId lane) noexcept;

 private:
  bool look_once() noexcept;
  bool attempt(FusedOp& op) noexcept;
  bool contribute(FusedOp& op) noexcept;
  bool gather(FusedOp& op) noexcept;
  std::span<const std::byte> packed(type::Cursor& data, std::size_t most) noexcept;

  Completions& done_;
  rel::Lanes& lanes_;
  std::vector<FusedOp*> ops_;  // not finished
  std::array<std::byte, wire::kMaxResult> room_;
};

}  // namespace herald::p2p
