// SPDX-License-Identifier: BSD-3-Clause
// exec/shared_channel.hpp: the shared-memory steps of plans, over one channel of a collective segment.
// Channel 0 carries blocking and nonblocking collectives, numbered as their team counts them. The first
// persistent ones have a channel each, which numbers their runs, so that they may be started in any order.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "coll/coll_spec.hpp"
#include "coll/plan.hpp"
#include "engine/engine.hpp"
#include "exec/binding.hpp"
#include "p2p/ops.hpp"
#include "path/shm/cma.hpp"
#include "path/shm/coll_segment.hpp"

namespace herald::exec {

// The ranks of a team on this host, by place: their index among the ranks of the host.
struct HostRanks {
  engine::Engine* engine = nullptr;
  std::vector<p2p::PeerId> peers;
  std::vector<std::int32_t> pids;
  int place = 0;                 // of this rank
  std::optional<path::Cma> cma;  // nothing with HERALD_CMA=off

  int count() const noexcept { return static_cast<int>(peers.size()); }
};

class SharedChannel {
 public:
  // `second`: for the second part of plans that have two; null: there is none. `streams`: for channel 0.
  SharedChannel(const HostRanks& ranks, path::Channel first, const path::Channel* second,
                path::Streams streams) noexcept
      : ranks_(&ranks),
        channels_{first, second == nullptr ? first : *second},
        two_parts_(second != nullptr),
        streams_(streams) {}
  // Numbers grow from call to call. `stream_writes`: the run fills our ring of chunks; runs fill it one after
  // another, in the order of their numbers.
  void begin(std::uint64_t number, bool stream_writes) noexcept;
  void end(std::uint64_t number) noexcept;
  std::uint64_t take_number() noexcept { return next_++; }

  // The run that a step belongs to.
  struct Context {
    std::uint64_t number;  // of the run
    bool incomplete;       // data of a lost rank is missing in what it posts
    const coll::Places& places;
    const Reduction& reduction;
  };
  // Does a step if that is possible now. Sets `error` if it failed. `progress`: how far a stream has come; 0
  // at first.
  bool attempt(const Context& run, const coll::Step& step, std::uint64_t& progress, Status& error) noexcept;
  // Steps only note which peers may sleep. The caller rings them before it waits or returns.
  void ring_noted() noexcept {
    if (to_ring_ != coll::kNoRank) ring();
  }
  // A run waits for other ranks while the caller may sleep; and no longer.
  void watch() noexcept { channels_[0].watch(); }
  void unwatch() noexcept { channels_[0].unwatch(); }
  // An older run has found no free slot since new_turn(): this run will not find one either.
  bool is_known_full(std::uint64_t number) const noexcept { return full_in_ == turn_ && number > full_at_; }
  static void new_turn() noexcept { ++turn_; }
  // A step that is not ready never will be, because a rank has gone before it did its part.
  bool is_lost(std::uint64_t number, const coll::Step& step) noexcept;

 private:
  path::Channel& channel_of(const coll::Step& step) noexcept { return channels_[step.second ? 1 : 0]; }
  void set_low(std::uint64_t low) noexcept;
  bool is_free(path::Channel& channel, std::uint64_t number) noexcept;
  bool post(const Context& run, const coll::Step& step) noexcept;
  bool fetch(const Context& run, const coll::Step& step, std::uint64_t& progress, Status& error) noexcept;
  bool put(const Context& run, const coll::Step& step, Status& error) noexcept;
  void combine(const Context& run, const coll::Step& step, Status& error) noexcept;
  // Copies `bytes` between the memory of another rank and ours.
  using CmaCopy = Status (path::Cma::*)(pid_t, std::span<const iovec>, std::span<const iovec>) const noexcept;
  bool copy_memory(CmaCopy copy, int partner, std::uint64_t address, type::Cursor& here,
                   std::uint64_t bytes) const noexcept;
  // stream.cpp
  bool stream_write(const Context& run, const coll::Step& step, std::uint64_t& progress) noexcept;
  bool stream_read(const path::Post& post, const Context& run, const coll::Step& step,
                   std::uint64_t& progress) noexcept;
  bool stream_reduce(const Context& run, const coll::Step& step, std::uint64_t& progress,
                     Status& error) noexcept;
  std::uint64_t marked(const Context& run, std::uint64_t address) const noexcept {
    return run.incomplete ? address | path::Post::kIncomplete : address;
  }
  void publish(int reader) noexcept;
  void note_ring(int place) noexcept;
  void ring() noexcept;

  // Marks a post whose data comes as a stream, from this position on. No address has this bit.
  static constexpr std::uint64_t kStreamBit = std::uint64_t{1} << 63;

  const HostRanks* ranks_;
  path::Channel channels_[2];
  bool two_parts_;
  std::vector<std::uint64_t> running_;  // oldest first
  std::uint64_t next_ = 0;
  int to_ring_ = coll::kNoRank;
  static inline std::uint64_t turn_ = 1;
  std::uint64_t full_in_ = 0, full_at_ = 0;  // the turn, and the first run that found no free slot
  path::Streams streams_;
  std::uint64_t stream_next_ = 0;              // position in our ring
  std::vector<std::uint64_t> stream_writers_;  // runs that fill our ring; only the oldest may
};

// Bypasses the caches: a line that is written whole need not be read first, and nothing else is evicted.
void copy_cold(void* to, const void* from, std::size_t bytes) noexcept;

}  // namespace herald::exec
