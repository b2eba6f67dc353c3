// SPDX-License-Identifier: BSD-3-Clause
// coll/plan.hpp: a plan is a collective prepared for one rank: a graph of steps with all partners and sizes
// known. It refers to three abstract buffers (send, receive, scratch), so one plan runs again with the same
// or with other buffers.
// Immutable once made (coll/builder.hpp). Steps are in topological order.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "type/cursor.hpp"
#include "type/layout.hpp"

namespace herald::coll {

using StepId = std::uint32_t;
constexpr StepId kNone = ~StepId{0};

enum class Buffer : std::uint8_t { send, recv, scratch };

// Of block lists (coll/block_list.hpp): no block, but plain memory; as much of a list as it holds; a block
// that is not in its list. Other values: the index of a block.
constexpr std::int32_t kNoBlock = -1, kFilledPart = -2, kLeftOut = -3;

// `bytes` bytes of data of a buffer, after the first `first` ones, of `count` items of a layout.
struct Piece {
  const type::Layout* layout = nullptr;  // null: plain bytes
  std::int64_t offset = 0;               // of displacement 0 of the first item, or of the first byte
  std::int64_t count = 0;                // items; of a block list, its blocks; other plain bytes: not used
  std::uint64_t first = 0;
  std::uint64_t bytes = 0;
  std::int32_t block = kNoBlock;
  Buffer buffer = Buffer::send;
};

enum class StepKind : std::uint8_t {
  send,  // a to partner
  recv,  // a from partner
  cast,  // a to all others, over the communicator's lane; each receives it as from a send
  // A fused exchange over the communicator's lane (rel/fused_exchange.hpp): all members contribute to its
  // root, which announces the result. At most one in a plan; members number them, so all must make these
  // calls in the same order.
  contribute,  // a to the root, and the result to b
  gather,      // the contributions of all others to a, which has room for one of each of `partner` members
  announce,    // a to all others
  copy,        // a to b
  reduce,      // b = a op b, item by item: a is the left operand
  check,       // a holds the calls of all ranks (coll/check.hpp): the run continues only if they match
  // Shared-memory steps, over a collective segment that all ranks of the communicator on this host map
  // (path/shm/coll_segment.hpp); partner is an index among those. A step that cannot complete yet is tried
  // again.
  post,    // a becomes readable by all, as post `tag` of this rank, and wakes partner; `copied`: a may be
           // reused
  fetch,   // from post `tag` of partner, after its first b.first bytes, to a; `whole`: it should be no longer
  put,     // a to the memory that partner posted by address as post `tag`
  arrive,  // this rank is counted at barrier word `tag`; the last one wakes partner
  wait_arrived,  // all ranks have arrived at barrier word `tag`
  // As arrive; the last rank also reduces all posts of number 0, each as long as a, in rank order, into the
  // post of the highest rank. All ranks then count as arrived at the next barrier word.
  combine,
  // As post and fetch (number 0), through chunks of shared memory, a few at a time (path/shm/stream.hpp). A
  // plan writes at most one stream. `unit`: data is cut only between runs of so many bytes.
  stream_write,   // a, to partner, or to all other ranks
  stream_read,    // from partner, to a
  stream_reduce,  // the streams of all others and a, reduced in rank order, to b; and streamed to partner
};
constexpr std::int32_t kNoRank = -1, kAllRanks = -2;  // woken by a post or an arrival
constexpr int kPosts = 2, kBarrierWords = 3;          // of one rank, and in all, in one part of a run
constexpr std::uint32_t kStreamChunk = 16384;         // bytes

struct Step {
  StepKind kind = StepKind::copy;
  std::uint8_t tag = 0;          // distinguishes messages between the same two ranks
  bool copied = false;           // post
  bool whole = false;            // fetch
  bool second = false;           // shared-memory steps: of the second part of a plan with two
  bool acknowledged = false;     // send: complete when the receiver has it, not when it has left
  bool bundled = false;          // send: over the communicator's lane, packed with others
  bool cold = false;             // stream_read, copy: not read again soon: bypass the caches
  std::uint32_t slot = 0;        // send, recv: index of the operation while it is pending
  std::int32_t partner = -1;     // rank in the communicator
  std::uint32_t unit = 1;        // stream steps
  std::uint32_t needs = 0;       // steps that must complete before this one starts
  std::uint32_t successors = 0;  // index in Plan::next of the first step that needs this one
  Piece a, b;
};

struct Plan {
  std::vector<Step> steps;  // and a sentinel, whose `successors` ends the last list
  std::vector<StepId> next;
  std::vector<type::LayoutRef> layouts;  // keeps alive what the pieces point to
  std::uint32_t slots = 0;
  std::uint64_t scratch_bytes = 0;
  std::uint64_t timed_bytes = 0;  // over the busiest link; not 0: the duration of a run tells its speed
  std::uint64_t call_bytes = 0;   // CollSpec::bytes, or those of this rank
  std::uint32_t trial = 0;        // that the duration of a run belongs to (coll/trials.hpp); 0: none
  int root = -1;                  // -1: none
  // Bundled sends use a lane of just these ranks, this one included; empty: the communicator's.
  std::vector<int> members;
  bool checked = false;        // begins with a check
  bool shared = false;         // has shared-memory steps
  bool stream_writes = false;  // one of them writes a stream
  bool has_fused = false;      // has a fused exchange
  const char* operation = "";
  const char* algorithm = "";

  std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(steps.size()) - 1; }
  std::size_t memory() const noexcept {
    return sizeof(Plan) + steps.capacity() * sizeof(Step) + next.capacity() * sizeof(StepId) +
           layouts.capacity() * sizeof(type::LayoutRef);
  }
};

// Buffer addresses of one run. Integers, because MPI_BOTTOM is the address 0.
struct Places {
  std::uintptr_t at[3] = {0, 0, 0};
  void* of(const Piece& piece) const noexcept {
    return reinterpret_cast<void*>(at[static_cast<int>(piece.buffer)] +
                                   static_cast<std::uintptr_t>(piece.offset));
  }
};

type::Cursor filled_cursor(const Piece& list, const Places& places) noexcept;  // block_list.cpp

// Of a piece that is no block of a list.
inline type::Cursor cursor(const Piece& piece, const Places& places) noexcept {
  if (piece.block == kFilledPart) [[unlikely]]
    return filled_cursor(piece, places);
  if (piece.layout == nullptr) return type::Cursor::bytes(places.of(piece), piece.bytes);
  type::Cursor all(*piece.layout, places.of(piece), piece.count);
  if (piece.first != 0 || piece.bytes != all.total()) all.narrow(piece.first, piece.bytes);
  return all;
}

}  // namespace herald::coll
