// SPDX-License-Identifier: BSD-3-Clause
// coll/builder.hpp: puts a plan together, step by step.
// A step may need only steps added before it: a plan is free of cycles by construction. Add the receive of a
// round before its send, so that the receive is posted first.
// Empty copies and reductions are left out (kNone comes back, and needing kNone is needing nothing); messages
// are sent even if empty: leave them out where both sides know.
#pragma once
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

#include "coll/coll_spec.hpp"
#include "coll/plan.hpp"

namespace herald::coll {

class Builder {
 public:
  using After = std::initializer_list<StepId>;

  StepId send(int to, const Piece& from, After after = {}) noexcept;
  StepId recv(int from, const Piece& to, After after = {}) noexcept;
  // To one, in packets with all others that may start at the same time. Only where there is a lane.
  StepId bundle(int to, const Piece& from, After after = {}) noexcept;
  // Those of this plan want a lane of just these ranks.
  void bundle_among(std::vector<int> ranks) noexcept { plan_.members = std::move(ranks); }
  StepId cast(const Piece& from, After after = {}) noexcept;
  // A fused exchange: members of the lane other than the first report; the first collects, then tells.
  StepId report(const Piece& from, const Piece& to, After after = {}) noexcept;
  StepId collect(int members, const Piece& to, After after = {}) noexcept;
  StepId tell(const Piece& from, After after = {}) noexcept;
  StepId copy(const Piece& from, const Piece& to, After after = {}, bool cold = false) noexcept;
  StepId reduce(const Piece& left, const Piece& inout, After after = {}) noexcept;
  // The calls of all ranks are compared (coll/check.hpp); with gate(), all steps that follow wait for that.
  StepId check(const Piece& facts) noexcept;
  void gate(StepId step) noexcept;
  // Shared-memory steps (coll/plan.hpp). What is posted and not copied stays as it is until all have read it.
  StepId post(int number, const Piece& from, bool copied, int wake, After after = {}) noexcept;
  StepId fetch(int from, int number, const Piece& to, std::uint64_t first, bool whole,
               After after = {}) noexcept;
  // What `to` posted by address is room for it.
  StepId put(int to, int number, const Piece& from, After after = {}) noexcept;
  // Whether others can read or write it by its address.
  static bool is_one_run(const Piece& piece) noexcept;
  StepId stream_write(int to, const Piece& from, std::uint32_t unit = 1) noexcept;
  StepId draw(int from, const Piece& to, std::uint32_t unit = 1, bool cold = false) noexcept;
  // Dense items, each at most a chunk.
  StepId fold(const Piece& own, const Piece& to, int stream_write_to) noexcept;
  StepId arrive(int barrier_word, int wake, After after = {}) noexcept;
  StepId meet(int barrier_word, After after = {}) noexcept;
  StepId combine(int barrier_word, const Piece& like, After after) noexcept;  // dense items
  // `step` needs `earlier` too. Only for the step added last.
  void also(StepId step, StepId earlier) noexcept;

  // Plans out of parts (make/two_level.hpp). From here on partners of messages are indices of `ranks`; empty:
  // they are ranks again. `ranks` must live as long as it is in use. Shared-memory steps of the `second` part
  // have posts and split copies of their own.
  void among(std::span<const int> ranks, bool second = false) noexcept;
  // What follows waits for everything before; windows begin anew.
  void then() noexcept;

  // Scratch memory: plain bytes, or room for `count` items of a layout.
  Piece scratch(std::uint64_t bytes) noexcept;
  Piece scratch_items(const type::Layout& layout, std::int64_t count) noexcept;

  // Tags of the messages that follow: both sides count their rounds alike.
  void round(int number) noexcept { tag_ = static_cast<std::uint8_t>(number); }
  // At most so many sends and so many receives under way at once; 0: no limit. Call it before the first
  // message. Safe only where every message is sent in the same round in which it is received, or where one
  // side has no limit.
  void window(std::uint32_t sends, std::uint32_t recvs) noexcept;

  // Ends the building; `algorithm` must live for ever.
  Plan finish(const char* algorithm) noexcept;

 private:
  struct Lane {  // sends or receives: their slots and their order
    std::uint32_t limit = 0;
    std::vector<StepId> steps;
  };
  Step& add(StepKind kind, const Piece& a, After after) noexcept;
  Step& add_shared(StepKind kind, int number, int partner, const Piece& a, After after) noexcept;
  StepId message(Lane& lane, Step& step, int partner) noexcept;
  void keep(const type::Layout* layout) noexcept;
  StepId last() const noexcept { return static_cast<StepId>(plan_.steps.size() - 1); }

  struct Edge {
    StepId from, to;
  };
  Plan plan_;
  std::vector<Edge> edges_;
  Lane sends_, recvs_;
  StepId gate_ = kNone;
  StepId part_ = 0;  // where the steps begin that then() waits for
  std::span<const int> ranks_;
  std::uint8_t tag_ = 0;
  bool second_ = false;
};

}  // namespace herald::coll
