// SPDX-License-Identifier: BSD-3-Clause
// mpi/coll_shared.hpp: the collective segment of a communicator on a host, and the shared-memory steps of
// plans over it. The collective segment is made at the first persistent collective, or at the first other one
// after a few: short-lived communicators do without. All ranks agree on it (coll_agree.hpp): on every host
// all ranks get it or none does, and then messages serve as before. It goes with the communicator. Channel 0
// carries blocking and nonblocking collectives, numbered as the communicator counts them; the first
// persistent ones have a channel each, where their runs are numbered, so that they may be started in any
// order.
#pragma once
#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "coll/cache.hpp"
#include "coll/coll_spec.hpp"
#include "coll/plan.hpp"
#include "coll/shape.hpp"
#include "mpi/call_cache.hpp"
#include "mpi/objects.hpp"
#include "p2p/ops.hpp"
#include "path/shm/cma.hpp"
#include "path/shm/coll_segment.hpp"

namespace herald::mpi {

class Agreement;

// What a plan reduces with.
struct Reducer {
  const Op* op = nullptr;
  Datatype* datatype = nullptr;
};

// A channel, and which of its operations run here.
class SharedChannel {
 public:
  // `peers`: the processes of this host, by place. `second`: for the second part of plans that have two.
  SharedChannel(path::Channel channel, path::Channel second, const std::vector<p2p::PeerId>& peers,
                int place) noexcept
      : channels_{channel, second}, peers_(&peers), place_(place) {}
  // Numbers grow from call to call. `stream_writes`: it fills our ring of chunks; in the order of numbers,
  // one operation after another does.
  void begin(std::uint64_t number, bool stream_writes) noexcept;
  void end(std::uint64_t number) noexcept;
  std::uint64_t take_number() noexcept { return next_++; }

  // Does a step if it can be done now. `error` is set if it failed. `progress`: how far a stream has come; 0
  // at first.
  bool attempt(std::uint64_t number, const coll::Step& step, const coll::Places& places,
               const Reducer& reducer, std::uint64_t& progress, int& error) noexcept;
  // Steps leave it to the caller to ring the peers that may sleep: before it waits or returns, it does.
  void ring_wanted() noexcept {
    if (call_spec_ != coll::kNoRank) ring();
  }
  // An operation here waits for others, and the caller may sleep; and no longer.
  void watch() noexcept { channels_[0].watch(); }
  void unwatch() noexcept { channels_[0].unwatch(); }
  // Whether an operation before this one has found no free slot since new_turn(): this one will not either.
  bool is_known_full(std::uint64_t number) const noexcept { return full_in_ == turn_ && number > full_at_; }
  static void new_turn() noexcept { ++turn_; }
  // Whether a step that is not ready never will be, because a rank has gone without doing its part.
  bool is_lost(std::uint64_t number, const coll::Step& step) noexcept;

 private:
  path::Channel& channel_of(const coll::Step& step) noexcept { return channels_[step.second ? 1 : 0]; }
  void set_low(std::uint64_t low) noexcept;
  bool is_free(path::Channel& channel, std::uint64_t number) noexcept;
  bool post(std::uint64_t number, const coll::Step& step, const coll::Places& places) noexcept;
  bool fetch(std::uint64_t number, const coll::Step& step, const coll::Places& places,
             std::uint64_t& progress, int& error) noexcept;
  // `bytes` between another rank's memory and ours.
  using CmaCopy = Status (path::Cma::*)(pid_t, std::span<const iovec>, std::span<const iovec>) const noexcept;
  bool move(CmaCopy copy, int partner, std::uint64_t address, type::Cursor& here,
            std::uint64_t bytes) const noexcept;
  bool put(std::uint64_t number, const coll::Step& step, const coll::Places& places, int& error) noexcept;
  // coll_stream.cpp
  bool stream_write(std::uint64_t number, const coll::Step& step, const coll::Places& places,
                    std::uint64_t& progress) noexcept;
  bool draw(const path::Post& post, const coll::Step& step, const coll::Places& places,
            std::uint64_t& progress) noexcept;
  bool fold(std::uint64_t number, const coll::Step& step, const coll::Places& places, const Reducer& reducer,
            std::uint64_t& progress, int& error) noexcept;
  void publish(int whom) noexcept;
  void combine(std::uint64_t number, const coll::Step& step, const Reducer& reducer, int& error) noexcept;
  void wake(int whom) noexcept;
  void ring() noexcept;

  path::Channel channels_[2];
  const std::vector<p2p::PeerId>* peers_;
  int place_;
  bool two_parts_ = false;
  std::vector<std::uint64_t> running_;  // oldest first
  std::uint64_t next_ = 0;
  int call_spec_ = coll::kNoRank;  // whom to ring
  static inline std::uint64_t turn_ = 1;
  std::uint64_t full_in_ = 0, full_at_ = 0;  // the turn, and the first operation that found no free slot

  // Marks a post whose data comes as a stream, from this position on. No address has it.
  static constexpr std::uint64_t kStreamBit = std::uint64_t{1} << 63;
  path::Streams streams_;
  std::uint64_t stream_next_ = 0;              // position in our ring
  std::vector<std::uint64_t> stream_writers_;  // operations that fill it, oldest first: that one may

  friend struct CommColl;
  std::vector<std::int32_t>* pids_ = nullptr;  // by place
  const path::Cma* cma_ = nullptr;
};

// Past the caches: a line that is written whole need not be read from memory first, and nothing else is
// driven out.
void copy_cold(void* to, const void* from, std::size_t bytes) noexcept;

// What a communicator has of collectives.
struct CommColl : coll::CommState {
  path::CollSegment segment;
  std::vector<SharedChannel> channels;  // empty: no collective segment
  std::vector<p2p::PeerId> peers;       // who has it, by place
  std::vector<std::int32_t> pids;
  std::optional<path::Cma> cma;
  CallCache call_cache;
  bool tried = false;  // to agree on a collective segment
  bool reads_peers = false;
  std::unique_ptr<coll::Cluster> cluster;  // on which hosts its ranks are; null: not counted yet
  std::int32_t lane = -1;                  // one send reaches all leaders; -1: there is none, or not for us
  std::uint32_t fused_count = 0;           // on that lane, so far
  // Lanes of some ranks, by which this one sends, for plans that come again.
  struct Part {
    std::vector<int> members;
    std::int32_t lane = -1;
    std::uint32_t runs = 0;
  };
  std::vector<Part> parts;
  std::array<std::uint32_t, 2> copied_bytes;  // by a post, on any host: blocking and nonblocking; persistent
  bool oversubscribed = false;                // all on one host, and some rank found that it may not spin
  bool streams = false;
  std::unique_ptr<Agreement> agreement;  // under way

  CommColl() noexcept;
  ~CommColl();
  // Counts the hosts and opens the lane of their leaders, when first asked. Nobody is waited for.
  const coll::Cluster& hosts_of(Comm& comm) noexcept;
  // The lane of just these ranks. -1: there is none yet, or it does not pay yet; nobody is waited for.
  std::int32_t part_lane(Comm& comm, const std::vector<int>& members, bool at_once) noexcept;
  // One that nobody else gets; the caller closes it.
  std::int32_t open_part(Comm& comm, const std::vector<int>& members) const noexcept;
  // What algorithms may know of the communicator.
  coll::Shape shape_for(Comm& comm, const coll::CollSpec& ask) noexcept;
  // How much a post may copy; 0: plans must do without the collective segment.
  std::uint32_t shared_bytes(bool persistent) const noexcept;
  // What a plan is to know of the collective segment. Streams belong to channel 0, which persistent
  // collectives do not use.
  void tell(coll::CollSpec& ask, bool persistent) const noexcept;
  // Begins to agree on the collective segment of each host with all ranks of `comm`.
  void agree(Comm& comm) noexcept;
  void await_agreement() const noexcept;

  // For Agreement: the size of the collective segment, what it costs its maker, and the end.
  std::uint64_t most_bytes = 0, stream_bytes = 0;
  path::CollSegmentShape segment_shape(int host, std::uint64_t most, std::uint64_t stream) const noexcept;
  void charge(const path::CollSegmentShape& shape, std::uint64_t alike) noexcept;
  void settle(Comm& comm, bool agreed) noexcept;

 private:
  void discharge() noexcept;
  std::uint64_t charged_bytes_ = 0;
  bool charged_streams_ = false;
  bool agreed_ = false;  // every host with several ranks has a collective segment
};

// Shared memory that a new collective segment may take, of which this process is the maker: in all, and each
// of its two parts. `alike`: so many of this size may be made at the same time, by others too.
struct SegmentBudget {
  std::uint64_t all_bytes, segment_bytes, stream_bytes;
};
SegmentBudget segment_budget(std::uint64_t alike) noexcept;

CommColl& make_coll_state(Comm& comm) noexcept;
inline CommColl& coll_state(Comm& comm) noexcept {
  return comm.coll ? static_cast<CommColl&>(*comm.coll) : make_coll_state(comm);
}
// At the start of a collective: the ranks begin to agree on a collective segment if it is time. `waits`: and
// this goes on when they have.
inline constexpr std::uint64_t kSegmentAfter = 2;  // collectives
inline void consider_segment(Comm& comm, bool persistent, bool waits) noexcept {
  if (comm.size < 2 || (comm.collective_count < kSegmentAfter && !persistent)) return;
  CommColl& state = coll_state(comm);
  if (!state.tried) state.agree(comm);
  if (waits && state.agreement) state.await_agreement();
}

}  // namespace herald::mpi
