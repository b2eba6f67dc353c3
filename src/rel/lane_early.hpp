// SPDX-License-Identifier: BSD-3-Clause
// rel/lane_early.hpp: datagrams of lanes that are not open here: not yet (EarlyCasts keeps them for a while),
// or no longer (ClosedLanes, which answers their sources). Invariants: bounded in number, in time, and to a
// share of the pool.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/instant.hpp"
#include "rel/lane_context.hpp"
#include "wire/datagram.hpp"

namespace herald::rel {

class EarlyCasts {
 public:
  explicit EarlyCasts(LaneContext& context) noexcept : context_(context) {}

  // Nothing is kept if there is no room: the source repairs it.
  void keep(Instant now, bool by_group, const wire::DatagramView& view, std::uint64_t name) noexcept;
  void on_opened(std::uint64_t name) noexcept;
  bool is_replay_due() const noexcept { return replay_due_; }
  void end_replay() noexcept { replay_due_ = false; }
  struct Cast {
    std::uint64_t name = 0;
    Instant at{};
    PacketPool::Slot slot = PacketPool::kNone;  // the body
    bool by_group = false;
    wire::DatagramView view;
  };
  // The oldest of a lane, whose slot is the caller's then; false: none.
  bool take(std::uint64_t name, Cast& out) noexcept;
  void expire(Instant now) noexcept;
  void drop(std::uint64_t name) noexcept;

 private:
  static constexpr std::size_t kMaxKept = 512;
  static constexpr Duration kKeepFor = milliseconds(3000);
  bool has_room(std::size_t bytes) const noexcept;
  template <class F>
  void erase_if(F&& condition) noexcept;

  LaneContext& context_;
  std::vector<Cast> kept_;
  bool replay_due_ = false;  // a lane was opened of which casts are kept
};

class ClosedLanes {
 public:
  // Tells a source that a lane is not open here, or not any more.
  struct Reply {
    std::uint64_t name = 0;
    PeerId to = 0;
    bool closed = false;
  };
  void on_opened(std::uint64_t name) noexcept;
  void on_closed(const LaneInfo& lane) noexcept {
    names_[next_++ % kMaxNames] = {lane.name, true,
                                   lane.numbers.is_far() ? std::make_unique<LaneInfo>(lane) : nullptr};
  }
  // Of a lane whose numbers have come far; null: of no such lane.
  const LaneInfo* find_far(std::uint64_t name) const noexcept;
  bool contains(std::uint64_t name) const noexcept;

  void reply(const Reply& reply) noexcept {
    if (replies_.size() < kMaxReplies) replies_.push(reply);
  }
  bool has_replies() const noexcept { return !replies_.empty(); }
  void fill(LaneContext& context, TxBatch& out) noexcept;

 private:
  static constexpr std::size_t kMaxReplies = 64;
  static constexpr std::size_t kMaxNames = 256;
  struct Name {
    std::uint64_t name = 0;
    bool used = false;
    std::unique_ptr<const LaneInfo> far;
  };
  std::array<Name, kMaxNames> names_{};
  std::size_t next_ = 0;
  LaneFifo<Reply> replies_;
};

}  // namespace herald::rel
