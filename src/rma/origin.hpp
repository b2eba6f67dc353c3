// SPDX-License-Identifier: BSD-3-Clause
// rma/origin.hpp: operations of this rank on the memory of ranks that it reaches by service calls only.
// In:  operations, locks, flushes; answers of the targets.
// Out: service calls; counts that tell what is complete.
// An operation is locally complete when its payload has left and its reply has come.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "op/op.hpp"
#include "p2p/id_table.hpp"
#include "p2p/services.hpp"
#include "wire/rma_packet.hpp"

namespace herald::rma {

// Items of the target's memory.
struct Place {
  int target;
  std::uint64_t offset;  // bytes
  const type::Layout* type;
  std::int64_t count;
};

struct Operation {
  wire::RmaKind kind = wire::RmaKind::put;
  op::Kind op = op::Kind::replace;
  type::Basic basic = type::Basic::byte;  // elements of an accumulate
  type::Cursor data;                      // sent
  type::Cursor result;                    // received
  std::vector<std::byte> copy;            // memory of `data`, if the operation owns it
  // Called when it is locally complete. May be null.
  void (*on_complete)(void* context, Status status) = nullptr;
  void* context = nullptr;
};

class Origin {
 public:
  Origin(p2p::Services& services, std::uint64_t window, std::vector<p2p::PeerId> peers, int rank) noexcept;

  void start(const Place& place, Operation operation) noexcept;
  void lock(int target, bool exclusive) noexcept;
  // The target acknowledges when everything before has taken effect; the lock is then released.
  void unlock(int target) noexcept;
  void flush(int target, bool keeps_epoch = false) noexcept;
  void complete(int target) noexcept { tell(target, wire::RmaKind::complete, 0, 0); }
  // Later calls belong to the epoch after a fence: a target that has not left it yet keeps them.
  void pass_fence() noexcept { odd_fence_ = !odd_fence_; }

  bool on_call(const wire::RmaHeader& header, const p2p::ServiceCall& call, type::Cursor& into) noexcept;
  void on_bulk(const wire::RmaHeader& header, Status status) noexcept;
  // The target has gone: what waits for its replies fails.
  void abandon(int target) noexcept;

  bool is_locally_complete(int target) const noexcept { return state(target).open == 0; }
  // Replies that the target sends from the window itself: the memory must not change before they have come.
  bool awaits_long_reply(int target) const noexcept { return state(target).long_replies != 0; }
  bool is_flushed(int target) const noexcept { return state(target).flushes == state(target).flushed; }
  // Whether operations since the last flush are not followed by one with a reply, which is a flush too once
  // it is locally complete.
  bool needs_flush(int target) const noexcept { return state(target).unflushed; }
  bool is_granted(int target) const noexcept { return state(target).granted; }
  std::uint64_t sent(int target) const noexcept { return state(target).sent; }
  bool is_posted(int target) const noexcept { return state(target).posts != 0; }
  void take_post(int target) noexcept { --state(target).posts; }
  void add_post(int target) noexcept { ++state(target).posts; }
  // Whether an operation was out of range, since the last call.
  bool take_failure(int target) noexcept { return std::exchange(state(target).failed, false); }
  // HERALD_CHECK=rma: about an operation that conflicts with another, since the last call; or empty.
  std::string take_conflict() noexcept { return std::exchange(conflict_, {}); }

 private:
  struct Pending;
  struct State {
    std::uint64_t sent = 0;  // operations
    std::uint32_t open = 0, long_replies = 0;
    std::uint32_t number = 0;
    std::uint32_t flushes = 0, flushed = 0, posts = 0;
    bool unflushed = false, granted = false, failed = false;
    type::LayoutRef type;  // the last one described to the target
  };
  State& state(int target) noexcept { return states_[static_cast<std::size_t>(target)]; }
  const State& state(int target) const noexcept { return states_[static_cast<std::size_t>(target)]; }
  wire::RmaHeader header_to(int target, wire::RmaKind kind) noexcept;
  void place_in(wire::RmaHeader& header, const Place& place, type::Basic basic, bool accumulates) noexcept;
  void describe_to(int target, const type::Layout& type) noexcept;
  Pending* post(int target, const wire::RmaHeader& header, Operation operation) noexcept;
  void tell(int target, wire::RmaKind kind, std::uint8_t flags, std::uint32_t id) noexcept;
  void end_part(Pending& pending, Status status) noexcept;

  p2p::Services& services_;
  const std::uint64_t window_;
  const std::vector<p2p::PeerId> peers_;
  const int rank_;
  std::vector<State> states_;
  p2p::IdTable<Pending> replies_;  // operations that await one
  std::string conflict_;
  bool odd_fence_ = false;
};

}  // namespace herald::rma
