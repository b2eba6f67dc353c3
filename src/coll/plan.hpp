// SPDX-License-Identifier: BSD-3-Clause
// coll/plan.hpp: a plan is a collective made ready for one rank: a graph of steps with all partners and sizes
// known. It speaks of three buffers (send, receive, scratch) without knowing where they are, so one plan runs
// again with the same or with other buffers.
// Immutable once made (coll/builder.hpp). Steps are in an order in which they could run one after another.
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

// A part of a buffer: `bytes` bytes of data, after the first `first` ones, of `count` items of a layout.
struct Piece {
  const type::Layout* layout = nullptr;  // null: plain bytes
  std::int64_t offset =
      0;                   // from the start of the buffer to the item at displacement 0, or to the first byte
  std::int64_t count = 0;  // items; plain bytes: not used
  std::uint64_t first = 0;
  std::uint64_t bytes = 0;
  Buffer buffer = Buffer::send;
};

enum class StepKind : std::uint8_t {
  send,  // a to partner
  recv,  // a from partner
  cast,  // a to all others, over the communicator's lane; each receives it as from a send
  // A fused exchange over the communicator's lane: all report to its first member, which tells all
  // (rel/fused_exchange.hpp). A plan has at most one; its members count them, so these steps need calls in
  // the same order everywhere.
  report,   // a to the first, and what it tells to b
  collect,  // the parts of all others to a, which has room for a part of each of `partner` members
  tell,     // a to all others
  copy,     // a to b
  reduce,   // b = a op b, item by item: a is the left operand
  check,    // a holds what every rank calls (coll/check.hpp): the run goes on only if they match
  // Shared-memory steps, over a collective segment that all ranks of the communicator on this host see
  // (path/shm/coll_segment.hpp); partner counts those. A step that must wait for another rank does not block:
  // it is tried again.
  post,  // a becomes readable by all, as post `tag` of this rank; `copied`: at once free again. Wakes partner
  fetch,   // from post `tag` of partner, after its first b.first bytes, to a; `whole`: it should be no longer
  put,     // a, to where post `tag` of partner lies, which is room for it, posted by address
  arrive,  // this rank is counted at split copy `tag`; the last one wakes partner
  meet,    // all ranks have arrived at split copy `tag`
  // As arrive; and the last one reduces all that was posted as number 0, each as long as a, in the order of
  // ranks, onto the last rank's post. All of them then count as arrived at the next split copy.
  combine,
  // As post and fetch (number 0), through chunks of shared memory, a few at a time (path/shm/stream.hpp). A
  // plan pours or folds at most once. `unit`: what is cut is cut between runs of so many bytes.
  stream_write,  // a, to partner, or to all other ranks
  draw,          // from partner, to a
  fold,  // what all others pour here and a, reduced in the order of ranks, to b; also poured to partner
};
constexpr std::int32_t kNobody = -1, kEverybody = -2;  // whom a post or an arrival wakes
constexpr int kPosts = 2, kBarrierWords = 3;           // of one rank, and in all, in one part of a run
constexpr std::size_t kInlineScratch = 8192;           // bytes
constexpr std::size_t kInlineMessages = 8;
constexpr std::uint32_t kStreamChunk = 16384;  // bytes that a stream moves at a time

struct Step {
  StepKind kind = StepKind::copy;
  std::uint8_t tag = 0;          // tells messages between the same two ranks apart
  bool copied = false;           // post
  bool whole = false;            // fetch
  bool second = false;           // shared-memory steps: of the second part of a plan that has two
  bool bundled = false;          // send: over the communicator's lane, in packets with others
  bool cold = false;             // draw, copy: nobody reads it soon enough to find it in a cache
  std::uint32_t slot = 0;        // send, recv: where the operation lives while it is under way
  std::int32_t partner = -1;     // rank in the communicator
  std::uint32_t unit = 1;        // pour, draw, fold
  std::uint32_t needs = 0;       // steps that must complete before this one starts
  std::uint32_t successors = 0;  // index in Plan::next of the first step that needs this one
  Piece a, b;
};

struct Plan {
  std::vector<Step> steps;  // one more than there are: its `successors` ends the last list
  std::vector<StepId> next;
  std::vector<type::LayoutRef> layouts;  // keeps what the pieces point to
  std::uint32_t slots = 0;
  std::uint64_t scratch_bytes = 0;
  // Bundled sends go over a lane of just these ranks, we among them; empty: over the communicator's.
  std::vector<int> members;
  bool checked = false;        // begins with a check
  bool shared = false;         // has shared-memory steps
  bool stream_writes = false;  // one of them pours or folds
  bool fused_count = false;    // has a fused exchange
  // Few steps, in little memory, which can run one after another without holding up others: of a fused
  // exchange, or sends only, or one receive; and copies and reductions, none of which waits for a send.
  bool inline_plan = false;
  const char* operation = "";
  const char* algorithm = "";

  std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(steps.size()) - 1; }
  std::size_t memory() const noexcept {
    return sizeof(Plan) + steps.capacity() * sizeof(Step) + next.capacity() * sizeof(StepId) +
           layouts.capacity() * sizeof(type::LayoutRef);
  }
};

// Where the buffers of one run are. Integers, because MPI_BOTTOM is the address 0.
struct Places {
  std::uintptr_t at[3] = {0, 0, 0};
  void* of(const Piece& piece) const noexcept {
    return reinterpret_cast<void*>(at[static_cast<int>(piece.buffer)] +
                                   static_cast<std::uintptr_t>(piece.offset));
  }
};

inline type::Cursor cursor(const Piece& piece, const Places& places) noexcept {
  if (piece.layout == nullptr) return type::Cursor::bytes(places.of(piece), piece.bytes);
  type::Cursor all(*piece.layout, places.of(piece), piece.count);
  if (piece.first != 0 || piece.bytes != all.total()) all.narrow(piece.first, piece.bytes);
  return all;
}

}  // namespace herald::coll
