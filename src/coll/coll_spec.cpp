// SPDX-License-Identifier: BSD-3-Clause
#include "coll/coll_spec.hpp"

namespace herald::coll {
namespace {

Piece items(Buffer buffer, const type::Layout& layout, std::int64_t offset, std::int64_t count) noexcept {
  Piece piece;
  piece.layout = &layout;
  piece.offset = offset;
  piece.count = count;
  piece.bytes = static_cast<std::uint64_t>(layout.size()) * static_cast<std::uint64_t>(count);
  piece.buffer = buffer;
  return piece;
}

}  // namespace

const char* name_of(Op op) noexcept {
  switch (op) {
    case Op::barrier: return "barrier";
    case Op::bcast: return "bcast";
    case Op::gather: return "gather";
    case Op::gatherv: return "gatherv";
    case Op::scatter: return "scatter";
    case Op::scatterv: return "scatterv";
    case Op::allgather: return "allgather";
    case Op::allgatherv: return "allgatherv";
    case Op::alltoall: return "alltoall";
    case Op::alltoallv: return "alltoallv";
    case Op::alltoallw: return "alltoallw";
    case Op::reduce: return "reduce";
    case Op::allreduce: return "allreduce";
    case Op::reduce_scatter: return "reduce_scatter";
    case Op::reduce_scatter_block: return "reduce_scatter_block";
    case Op::scan: return "scan";
    case Op::exscan: return "exscan";
    case Op::neighbor_allgather: return "neighbor_allgather";
    case Op::neighbor_allgatherv: return "neighbor_allgatherv";
    case Op::neighbor_alltoall: return "neighbor_alltoall";
    case Op::neighbor_alltoallv: return "neighbor_alltoallv";
    case Op::neighbor_alltoallw: return "neighbor_alltoallw";
  }
  return "";
}

Piece Blocks::block(int i) const noexcept {
  if (layouts != nullptr) return items(buffer, *layouts[i], offset + displacements[i], counts[i]);
  if (counts != nullptr)
    return items(buffer, *layout, offset + displacements[i] * layout->extent(), counts[i]);
  return range(i, i + 1);
}

Piece Blocks::range(int begin, int end) const noexcept {
  return items(buffer, *layout, offset + begin * count * layout->extent(), (end - begin) * count);
}

Piece bytes_of(Piece piece, std::uint64_t first, std::uint64_t bytes) noexcept {
  if (piece.layout == nullptr)
    piece.offset += static_cast<std::int64_t>(first);
  else
    piece.first += first;
  piece.bytes = bytes;
  return piece;
}

Piece items_of(Piece piece, std::int64_t first, std::int64_t count) noexcept {
  piece.offset += first * piece.layout->extent();
  piece.count = count;
  piece.bytes = static_cast<std::uint64_t>(piece.layout->size()) * static_cast<std::uint64_t>(count);
  return piece;
}

}  // namespace herald::coll
