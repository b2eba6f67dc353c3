// SPDX-License-Identifier: BSD-3-Clause
// coll/make/items.hpp: cuts the items of a reduction into `parts` nearly equal parts, the same at every rank.
#pragma once
#include <algorithm>

#include "coll/coll_spec.hpp"

namespace herald::coll {

struct ItemParts {
  std::int64_t items;
  int parts;

  std::int64_t at(int part) const noexcept {
    return part * (items / parts) + std::min<std::int64_t>(part, items % parts);
  }
  std::int64_t count(int begin, int end) const noexcept { return at(end) - at(begin); }
  Piece piece(const Piece& whole, int begin, int end) const noexcept {
    return items_of(whole, at(begin), count(begin, end));
  }
};

}  // namespace herald::coll
