// SPDX-License-Identifier: BSD-3-Clause
// io/access.hpp: moves bytes between memory and the positions of a view, by one rank alone.
// Segments of a file that are close to each other are read as one range (data sieving); ranges are written
// back with their gaps only where no other process can write into a gap. All others are written one by one
// (list I/O).
#pragma once
#include <cstdint>

#include "io/storage.hpp"
#include "io/view.hpp"

namespace herald::io {

struct Sieve {
  std::int64_t buffer_bytes;  // of one range
  std::int64_t largest_gap;   // between two segments of a range; negative: no sieving
};

constexpr std::int64_t kAutomaticGap = 64 << 10;  // reading so much costs about as much as a system call
constexpr std::int64_t kAnyGap = std::int64_t{1} << 62;

// All bytes of `memory`, from `position` of the view on. A read ends at the end of the file; an error ends
// both.
Outcome read_view(Storage& storage, const View& view, std::int64_t position, type::Cursor memory,
                  const Sieve& sieve) noexcept;
Outcome write_view(Storage& storage, const View& view, std::int64_t position, type::Cursor memory,
                   const Sieve& sieve) noexcept;

}  // namespace herald::io
