// SPDX-License-Identifier: BSD-3-Clause
// coll/sample.hpp: a collective call as any rank would make it: equal blocks, plain types, root 0.
// From one call at this rank the plans of all others follow, so that their cost can be predicted.
#pragma once
#include <cstdint>
#include <vector>

#include "coll/coll_spec.hpp"
#include "coll/shape.hpp"

namespace herald::coll {

class Sample {
 public:
  // `bytes`: as CollSpec::bytes; of v-collectives whose sizes are not known to all: of one block. `cluster`:
  // placement of the ranks; must outlive this.
  Sample(Op op, std::uint64_t bytes, const Shape& shape, const Cluster* cluster) noexcept;
  CollSpec spec_of(int rank) const noexcept;

 private:
  void spread(std::uint64_t total_items, bool equal_blocks) noexcept;

  CollSpec common_;
  std::int64_t block_ = 0;  // items of one block
  std::vector<std::int64_t> counts_, displacements_;
  std::vector<std::int64_t> byte_displacements_;  // alltoallw
  std::vector<const type::Layout*> layouts_;
};

}  // namespace herald::coll
