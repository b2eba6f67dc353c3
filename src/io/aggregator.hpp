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

  // Bytes of each rank in the window. The calls below are about this window.
  const std::vector<std::int64_t>& set_window(const Segment& window) noexcept;
  // `data`: the bytes of all ranks, one rank after another. Returns an errno value.
  int write(const char* data) noexcept;
  // Bytes beyond the end of the file become zero.
  int read(char* data) noexcept;

 private:
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
  Segment window_{};
  std::vector<Positions> positions_;
  std::vector<std::int64_t> bytes_;
};

}  // namespace herald::io
