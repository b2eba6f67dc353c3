// SPDX-License-Identifier: BSD-3-Clause
// mpi/coll_shared.hpp: the board of a communicator, and the shared-memory steps of plans over it.
// The board is made at the first persistent collective, or at the first blocking one after a few: short-lived
// communicators do without. All ranks get it or none does, and then messages serve as before. It goes with
// the communicator. Channel 0 carries blocking and nonblocking collectives, numbered as the communicator
// counts them; the first persistent ones have a channel each, where their runs are numbered, so that they may
// be started in any order.
#pragma once
#include <vector>

#include "coll/ask.hpp"
#include "coll/cache.hpp"
#include "coll/plan.hpp"
#include "coll/shape.hpp"
#include "mpi/coll_memo.hpp"
#include "mpi/objects.hpp"
#include "path/shm/board.hpp"

namespace herald::mpi {

// A channel, and which of its operations run here.
class SharedChannel {
 public:
  SharedChannel(path::Channel channel, Comm& comm) noexcept : channel_(channel), comm_(&comm) {}
  // Numbers grow from call to call.
  void begin(std::uint64_t number) noexcept;
  void end(std::uint64_t number) noexcept;
  std::uint64_t take_number() noexcept { return next_++; }

  // Does a step if it can be done now. `error` is set if it failed. `streamed`: how far a stream has come, in
  // bytes; 0 at the start of a run.
  bool attempt(std::uint64_t number, const coll::Step& step, const coll::Places& places,
               std::uint64_t& streamed, int& error) noexcept;
  // Steps leave it to the caller to ring the peers that may sleep: before it waits or returns, it does.
  void ring_wanted() noexcept {
    if (wanted_ != coll::kNobody) ring();
  }
  // Whether a step that is not ready never will be, because a rank has gone without doing its part.
  bool is_lost(std::uint64_t number, const coll::Step& step) noexcept;

 private:
  bool is_free(std::uint64_t number) noexcept;
  bool post(std::uint64_t number, const coll::Step& step, const coll::Places& places) noexcept;
  bool fetch(std::uint64_t number, const coll::Step& step, const coll::Places& places,
             std::uint64_t& streamed, int& error) noexcept;
  bool pour(std::uint64_t number, const coll::Step& step, const coll::Places& places,
            std::uint64_t& streamed) noexcept;
  bool draw(const path::Post& post, const coll::Step& step, const coll::Places& places,
            std::uint64_t& streamed) noexcept;
  void wake(int whom) noexcept;
  void ring() noexcept;

  path::Channel channel_;
  Comm* comm_;
  std::vector<std::uint64_t> running_;  // oldest first
  std::uint64_t next_ = 0;
  int wanted_ = coll::kNobody;  // whom to ring

  static constexpr std::uint64_t kNoNumber = ~std::uint64_t{0};
  path::Streams streams_;
  std::uint64_t stream_next_ = 0;      // position in our ring
  std::uint64_t pouring_ = kNoNumber;  // the operation that fills it

  friend struct CommColl;
  std::vector<std::int32_t>* pids_ = nullptr;  // by rank
};

// What a communicator has of collectives.
struct CommColl : coll::CommState {
  path::Board board;
  std::vector<SharedChannel> channels;  // empty: no board
  std::vector<std::int32_t> pids;
  Memos memos;
  bool tried = false;
  bool reads_peers = false;
  int hosts = 0;           // on which its ranks are; 0: not counted yet
  std::int32_t lane = -1;  // one send reaches all; -1: there is none
  bool streams = false;
  bool made_streams = false;  // by this rank

  ~CommColl();
  // Counts the hosts and opens the lane, when first asked. Nobody is waited for.
  void consider_lane(Comm& comm) noexcept;
  // What algorithms may know of the communicator.
  coll::Shape shape_for(Comm& comm, const coll::Ask& ask) noexcept;
  // How much a post may copy; 0: plans must do without the board.
  std::uint32_t shared_bytes(bool persistent) const noexcept;
  // Makes the board, together with all ranks of `comm`.
  void open(Comm& comm) noexcept;

 private:
  bool meet(Comm& comm) noexcept;
};

CommColl& make_coll_state(Comm& comm) noexcept;
inline CommColl& coll_state(Comm& comm) noexcept {
  return comm.coll ? static_cast<CommColl&>(*comm.coll) : make_coll_state(comm);
}
// At the start of a collective that may wait: makes the board if it is time.
inline constexpr std::uint64_t kBoardAfter = 2;  // collectives
inline void consider_board(Comm& comm, bool persistent) noexcept {
  if (comm.size < 2 || (comm.collective_count < kBoardAfter && !persistent)) return;
  CommColl& state = coll_state(comm);
  if (!state.tried) state.open(comm);
}

}  // namespace herald::mpi
