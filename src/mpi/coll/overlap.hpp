// SPDX-License-Identifier: BSD-3-Clause
// mpi/coll/overlap.hpp: whether pieces that a collective sends and receives share memory, for calls whose two
// buffers are the same address.
#pragma once
#include <cstdint>
#include <vector>

#include "mpi/core/counts.hpp"
#include "type/layout.hpp"

namespace herald::mpi {

class Overlap {
 public:
  // A block of `count` items at byte `at` of the common buffer.
  void add(bool sent, std::int64_t at, MPI_Count count, const type::Layout& layout);
  // Counts only bytes that certainly hold data: of a layout with gaps, the first byte of a block.
  bool found();

 private:
  struct Piece {
    std::int64_t begin, end;
    bool sent;
  };
  std::vector<Piece> pieces_;
};

}  // namespace herald::mpi
