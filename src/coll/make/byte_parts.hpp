// SPDX-License-Identifier: BSD-3-Clause
// coll/make/byte_parts.hpp: data cut by bytes into one part per rank, and the owner of each part after a
// binomial scatter. By bytes, because ranks may describe the same data by different types.
#pragma once
#include "coll/coll_spec.hpp"
#include "coll/make/tree.hpp"

namespace herald::coll {

struct ByteParts {
  Tree tree;
  std::uint64_t total, each;

  ByteParts(int ranks, std::uint64_t bytes) noexcept
      : tree{ranks},
        total(bytes),
        each((bytes + static_cast<std::uint64_t>(ranks) - 1) / static_cast<std::uint64_t>(ranks)) {}
  std::uint64_t at(int part) const noexcept {
    return std::min(total, each * static_cast<std::uint64_t>(part));
  }
  bool empty(int begin, int end) const noexcept { return at(begin) == at(end); }
  Piece piece(const Piece& data, int begin, int end) const noexcept {
    return bytes_of(data, at(begin), at(end) - at(begin));
  }
  // Place v has parts [v, end(v)) after the scatter.
  int end(int v) const noexcept { return tree.end(v); }
  bool has(int v, int part) const noexcept { return part >= v && part < end(v); }
};

}  // namespace herald::coll
