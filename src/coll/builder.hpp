// SPDX-License-Identifier: BSD-3-Clause
// coll/builder.hpp: builds a plan step by step.
// A step may depend only on steps added before it, so a plan has no cycles. Add the receive of a round before
// its send, so that it is posted first.
// Empty copies and reductions are omitted (kNone is returned, and a dependency on kNone is none). Empty
// messages are sent: omit them where both sides know.
#pragma once
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

#include "coll/coll_spec.hpp"
#include "coll/plan.hpp"

namespace herald::coll {

// Whether other processes can access it by its address.
bool is_one_run(const Piece& piece) noexcept;

class Builder {
 public:
  using After = std::initializer_list<StepId>;

  // bundled: packed with all others that may start at the same time; only where there is a lane.
  // acknowledged: complete when the receiver has acknowledged the data, but for its last packets.
  enum class How : std::uint8_t { plain, bundled, acknowledged };
  StepId send(int to, const Piece& from, After after = {}, How how = How::plain) noexcept;
  StepId recv(int from, const Piece& to, After after = {}) noexcept;
  // Bundled sends of this plan use a lane of just these ranks.
  void set_bundle_members(std::vector<int> ranks) noexcept { plan_.members = std::move(ranks); }
  StepId cast(const Piece& from, After after = {}) noexcept;
  // A fused exchange: members of the lane other than the root contribute; the root gathers, then announces.
  StepId contribute(const Piece& from, const Piece& to, After after = {}) noexcept;
  StepId gather(int members, const Piece& to, After after = {}) noexcept;
  StepId announce(const Piece& from, After after = {}) noexcept;
  StepId copy(const Piece& from, const Piece& to, After after = {}, bool cold = false) noexcept;
  StepId reduce(const Piece& left, const Piece& inout, After after = {}) noexcept;
  // Compares the calls of all ranks (coll/check.hpp).
  StepId check(const Piece& facts) noexcept;
  // Shared-memory steps (coll/plan.hpp). Data posted without a copy must not change until all have read it.
  StepId post(int number, const Piece& from, bool copied, int wake, After after = {}) noexcept;
  StepId fetch(int from, int number, const Piece& to, std::uint64_t first, bool whole,
               After after = {}) noexcept;
  // Into the memory that `to` posted by address.
  StepId put(int to, int number, const Piece& from, After after = {}) noexcept;
  StepId stream_write(int to, const Piece& from, std::uint32_t unit = 1) noexcept;
  StepId stream_read(int from, const Piece& to, std::uint32_t unit = 1, bool cold = false) noexcept;
  // Dense items, each at most a chunk.
  StepId stream_reduce(const Piece& own, const Piece& to, int stream_to) noexcept;
  StepId arrive(int barrier_word, int wake, After after = {}) noexcept;
  StepId wait_arrived(int barrier_word, After after = {}) noexcept;
  StepId combine(int barrier_word, const Piece& like, After after) noexcept;  // dense items
  // `step` also depends on `earlier`. Only for the step added last.
  void depend(StepId step, StepId earlier) noexcept;

  // Plans made of parts (make/two_level.hpp). From here on partners of messages are indices of `ranks`, which
  // must outlive its use; empty: they are ranks again. Shared-memory steps of the `second` part have posts
  // and barrier words of their own.
  void map_ranks(std::span<const int> ranks, bool second = false) noexcept;
  // All later steps wait for all earlier ones; windows begin anew.
  void fence() noexcept;

  // Scratch memory: plain bytes, or room for `count` items of a layout.
  Piece scratch(std::uint64_t bytes) noexcept;
  Piece scratch_items(const type::Layout& layout, std::int64_t count) noexcept;

  // Tags of the messages that follow: both sides number their rounds alike.
  void round(int number) noexcept { tag_ = static_cast<std::uint8_t>(number); }
  // At most so many sends and so many receives outstanding; 0: no limit. Call it before the first message.
  // Safe only if every message is sent in the same round in which it is received, or one side has no limit.
  void window(std::uint32_t sends, std::uint32_t recvs) noexcept;

  // Ends the building; `algorithm` must be a string literal.
  Plan finish(const char* algorithm) noexcept;

 private:
  struct Lane {  // sends or receives: their slots and their order
    std::uint32_t limit = 0;
    std::vector<StepId> steps;
  };
  Step& add(StepKind kind, const Piece& a, After after) noexcept;
  Step& add_shared(StepKind kind, int number, int partner, const Piece& a, After after) noexcept;
  StepId message(Lane& lane, Step& step, int partner) noexcept;

  struct Edge {
    StepId from, to;
  };
  Plan plan_;
  std::vector<Edge> edges_;
  Lane sends_, recvs_;
  StepId gate_ = kNone;
  StepId part_ = 0;  // first of the steps that fence() waits for
  std::span<const int> ranks_;
  std::uint8_t tag_ = 0;
  bool second_ = false;
};

}  // namespace herald::coll
