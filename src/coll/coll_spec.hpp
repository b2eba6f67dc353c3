// SPDX-License-Identifier: BSD-3-Clause
// coll/coll_spec.hpp: the arguments of one collective call at this rank, from which a plan is made.
// No addresses: the same call again gives the same CollSpec.
#pragma once
#include <cstdint>

#include "coll/cluster.hpp"
#include "coll/incast.hpp"
#include "coll/plan.hpp"

namespace herald::coll {

enum class Op : std::uint8_t {
  barrier,
  bcast,
  gather,
  gatherv,
  scatter,
  scatterv,
  allgather,
  allgatherv,
  alltoall,
  alltoallv,
  alltoallw,
  reduce,
  allreduce,
  reduce_scatter,
  reduce_scatter_block,
  scan,
  exscan,
  neighbor_allgather,
  neighbor_allgatherv,
  neighbor_alltoall,
  neighbor_alltoallv,
  neighbor_alltoallw,
};
constexpr int kOps = 17;  // with algorithms to choose from; neighborhood collectives come after them
const char* name_of(Op op) noexcept;  // in lower case, as in HERALD_COLL

// Lane of a call from one rank to several. pick: the cheapest, maybe none; whole: the communicator's; part:
// one of just the ranks concerned.
enum class Groups : std::uint8_t { pick, whole, part };

// The blocks of one buffer, one for each rank (or a single one: bcast, reduce ...).
struct Blocks {
  Buffer buffer = Buffer::send;
  const type::Layout* layout = nullptr;  // null: not significant at this rank
  std::int64_t count = 0;                // of every block, unless counts is set
  const std::int64_t* counts = nullptr;
  const std::int64_t* displacements = nullptr;   // in extents; with layouts: in bytes
  const type::Layout* const* layouts = nullptr;  // one per block
  std::int64_t offset = 0;                       // of all blocks, in bytes

  Piece block(int i) const noexcept;
  // Blocks [begin, end) together; only without counts.
  Piece range(int begin, int end) const noexcept;
  std::uint64_t bytes(int i) const noexcept { return block(i).bytes; }
};

// The two groups of an inter-communicator (make/between.cpp). Messages name the ranks of both together, each
// group contiguous.
struct Sides {
  int own = 0, other = 0;  // first rank of each
  int other_count = 0;
};
constexpr int kRootSelf = -1, kRootOwnGroup = -2;  // CollSpec::root, as MPI_ROOT and MPI_PROC_NULL

struct Neighbors;  // coll/neighbors.hpp

struct CollSpec {
  Op op = Op::barrier;
  int rank = 0, size = 1, root = 0;
  bool in_place = false;  // MPI_IN_PLACE
  bool commutes = true;   // the reduction
  // Input to the choice of an algorithm; equal at every rank. bcast, reductions: all of the data; allgatherv:
  // of all ranks; others: of one block, 0 if not every rank knows it.
  std::uint64_t bytes = 0;
  std::uint32_t shared_bytes = 0;   // Shape::shared_bytes
  bool streams = false;             // Shape::streams
  bool oversubscribed = false;      // Shape::oversubscribed
  bool in_order = false;            // Shape::in_order
  bool fast = false;                // Shape::fast
  std::uint64_t segment_bytes = 0;  // Shape::segment_bytes
  Incast incast;                    // Shape::incast
  double link_byte_ns = 0;          // Shape::link_byte_ns
  Groups groups = Groups::pick;
  const Cluster* cluster = nullptr;  // placement of ranks; null: one per host, or all on one
  // Not null: rank and size are those of this rank's group, and the root is a rank of the other one.
  const Sides* sides = nullptr;
  const Neighbors* neighbors = nullptr;  // of a neighborhood collective
  Blocks send, recv;

  // Where it was not measured, ports are taken to bear all that ranks send.
  Incast measured_incast() const noexcept { return incast.measured ? incast : Incast{}; }
  // This rank's contribution to a reduction, and the location of its result.
  Piece own() const noexcept { return in_place ? recv.range(0, 1) : send.range(0, 1); }
  Piece result() const noexcept { return recv.range(0, 1); }
  // Rank relative to the root, and back.
  int relative(int r) const noexcept { return r >= root ? r - root : r - root + size; }
  int absolute(int v) const noexcept { return v + root < size ? v + root : v + root - size; }
};

// Sub-ranges of pieces.
Piece bytes_of(Piece piece, std::uint64_t first, std::uint64_t bytes) noexcept;
// Blocks [begin, end) of the packed blocks of `block` bytes in `all`.
inline Piece blocks_of(const Piece& all, std::uint64_t block, int begin, int end) noexcept {
  return bytes_of(all, block * static_cast<std::uint64_t>(begin),
                  block * static_cast<std::uint64_t>(end - begin));
}
Piece items_of(Piece piece, std::int64_t first, std::int64_t count) noexcept;  // has a layout, and is whole

}  // namespace herald::coll
