// SPDX-License-Identifier: BSD-3-Clause
// rma/target.hpp: serves the operations of other ranks on this rank's part of a window.
// In:  service calls of origins, their bulk payloads.
// Out: updates of the memory; replies, grants and acknowledgements by Services.
// Invariant: the calls of an origin take effect in order. A call waits while an earlier one waits for its
// bulk payload or for the lock, or while this rank is in a fence that the origin has left. Bulk payloads of
// puts that need not wait go straight to the window.
#pragma once
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "p2p/services.hpp"
#include "rma/accumulate.hpp"
#include "rma/conflicts.hpp"
#include "rma/lock_queue.hpp"
#include "rma/memory.hpp"
#include "wire/rma_packet.hpp"

namespace herald::rma {

constexpr auto kService = p2p::ServiceId::rma;
// Replies up to this many bytes are copied before later calls take effect.
constexpr std::uint64_t kCopiedReply = 65536;

class Target {
 public:
  // `peers`: the processes of the window, by rank.
  Target(p2p::Services& services, std::uint64_t window, std::vector<p2p::PeerId> peers, int rank) noexcept;
  Memory& memory() noexcept { return memory_; }
  const Guard& guard() const noexcept { return guard_; }
  void set_guard(const Guard& guard) noexcept { guard_ = guard; }

  // As ServiceHandler; the source has been checked.
  bool on_call(const wire::RmaHeader& header, const p2p::ServiceCall& call, type::Cursor& into) noexcept;
  void on_bulk(const wire::RmaHeader& header, Status status) noexcept;

  // This process as an origin: no message is sent.
  bool request_own_lock(bool exclusive) noexcept { return locks_.request(rank_, exclusive); }
  void release_own_lock() noexcept { release_lock(rank_); }
  bool holds_own_lock() const noexcept { return locks_.holds(rank_); }
  void complete_own() noexcept { ++source(rank_).completes; }

  // HERALD_CHECK=rma: from now on accesses are compared; null: they are not. Those of this process are added
  // by the caller.
  void check_conflicts() noexcept { conflicts_ = std::make_unique<Conflicts>(rank_); }
  Conflicts* conflicts() noexcept { return conflicts_.get(); }

  // Operations that have taken effect, of all origins since the window was made.
  std::uint64_t applied() const noexcept { return applied_; }
  // This rank leaves a fence: calls of origins that left it earlier take effect now.
  void pass_fence() noexcept;
  // Ends of access epochs by `origin` that were not taken.
  bool has_completed(int origin) noexcept { return source(origin).completes != 0; }
  void take_complete(int origin) noexcept { --source(origin).completes; }
  // Tells `origin` that the exposure epoch has begun.
  void post_to(int origin) noexcept { answer(origin, wire::RmaKind::posted, 0); }

 private:
  struct Record {
    wire::RmaHeader header;
    std::vector<std::byte> payload;
    bool arrived = true;
    bool applied = false;  // its payload went straight to the window
  };
  struct Source {
    std::deque<Record> waiting;
    type::LayoutRef type;
    std::uint32_t completes = 0;
    bool awaits_lock = false;
  };
  Source& source(int origin) noexcept { return sources_[static_cast<std::size_t>(origin)]; }
  void apply(const wire::RmaHeader& header, std::span<const std::byte> payload) noexcept;
  void run(int origin) noexcept;
  bool find(const wire::RmaHeader& header, type::Cursor& out) noexcept;
  void update(const wire::RmaHeader& header, const type::Cursor& at,
              std::span<const std::byte> payload) noexcept;
  void check(const wire::RmaHeader& header, const type::Cursor& at) noexcept;
  void end_epoch(int origin) noexcept {
    if (conflicts_) conflicts_->end(origin);
  }
  void lock(const wire::RmaHeader& header) noexcept;
  void release_lock(int origin) noexcept;
  void reply(const wire::RmaHeader& header, type::Cursor data, std::vector<std::byte> copy) noexcept;
  void post_reply(const wire::RmaHeader& header, wire::RmaKind kind, const type::Cursor& data,
                  std::vector<std::byte> copy) noexcept;
  void answer(int origin, wire::RmaKind kind, std::uint32_t id) noexcept;
  p2p::PeerId peer(int origin) const noexcept { return peers_[static_cast<std::size_t>(origin)]; }

  p2p::Services& services_;
  const std::uint64_t window_;
  const std::vector<p2p::PeerId> peers_;
  const int rank_;
  Memory memory_;
  Guard guard_;
  LockQueue locks_;
  std::vector<Source> sources_;
  std::uint64_t applied_ = 0;
  bool odd_fence_ = false;
  std::unique_ptr<Conflicts> conflicts_;  // null: not checked
};

}  // namespace herald::rma
