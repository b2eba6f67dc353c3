// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/coll/overlap.hpp"

#include <algorithm>

namespace herald::mpi {

void Overlap::add(bool sent, std::int64_t at, MPI_Count count, const type::Layout& layout) {
  if (count <= 0 || layout.size() == 0) return;
  const std::int64_t begin = at + layout.true_lb() + std::min<std::int64_t>(0, (count - 1) * layout.extent());
  const bool without_gaps = layout.true_ub() - layout.true_lb() == layout.size() &&
                            (count == 1 || layout.extent() == layout.size());
  pieces_.push_back({begin, begin + (without_gaps ? count * layout.size() : 1), sent});
}

bool Overlap::found() {
  std::sort(pieces_.begin(), pieces_.end(), [](const Piece& a, const Piece& b) { return a.begin < b.begin; });
  std::int64_t end[2] = {INT64_MIN, INT64_MIN};  // of the pieces so far: received, sent
  for (const Piece& piece : pieces_) {
    if (piece.begin < end[piece.sent ? 0 : 1]) return true;
    end[piece.sent] = std::max(end[piece.sent], piece.end);
  }
  return false;
}

}  // namespace herald::mpi
