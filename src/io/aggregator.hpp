// SPDX-License-Identifier: BSD-3-Clause
// io/aggregator.hpp: the part of collective access that the owner of a domain does: it has the bytes of all
// ranks in one window of the file, and moves that window with few long transfers. Ranks send their bytes in
// the order of their views. The aggregator knows the views, so no lists of offsets travel with the data
// (Worringen, Träff, Ritzdorf: Fast Parallel Non-Contiguous File Access, SC 2003).
#pragma once
#include <cstdint>
#include <vector>

#include "io/domains.hpp"
#include "io/scratch.hpp"
#include "io/storage.hpp"

namespace herald::io {

class Aggregator {
 public:
  // `views` and `ranks`: of all ranks of the file. `may_read`: the file is open for reading too.
  Aggregator(Storage& storage, const std::vector<View>& views, const std::vector<RankAccess>& ranks,
             bool may_read, WindowMemory& memory) noexcept
      : storage_(storage), views_(views), ranks_(ranks), may_read_(may_read), memory_(memory) {}

  // The bytes of this rank are in its memory, and are not exchanged.
  void set_own(int rank, const type::Cursor& memory) noexcept {
    own_ = static_cast<std::size_t>(rank);
    own_memory_ = memory;
  }
  // Bytes of each rank in the window that are exchanged. The calls below are about this window.
  std::vector<std::int64_t> set_window(const Segment& window) noexcept;
  std::int64_t window_bytes() const noexcept { return window_.bytes; }
  // `data`: the exchanged bytes, one rank after another. Returns an errno value.
  int write(const char* data) noexcept;
  // Bytes beyond the end of the file become zero.
  int read(char* data) noexcept;

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};
  // Calls `move` with each segment of the window's bytes, in the order of ranks, and where else they are: at
  // `data`, or, null, at the cursor of this rank's memory.
  template <class Byte, class Move>
  void for_each_segment(Byte* data, Move move) noexcept;
  void scatter(const char* data) noexcept;
  int write_covered() noexcept;
  int fill_gaps() noexcept;
  void cover(const Segment& segment) noexcept;
  std::int64_t find(std::int64_t from, bool covered) const noexcept;

  Storage& storage_;
  const std::vector<View>& views_;
  const std::vector<RankAccess>& ranks_;
  const bool may_read_;
  WindowMemory& memory_;
  std::size_t own_ = kNone;
  type::Cursor own_memory_;
  Segment window_{};
  std::vector<Positions> positions_;
  std::vector<std::int64_t> bytes_;
};

}  // namespace herald::io
