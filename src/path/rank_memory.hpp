// SPDX-License-Identifier: BSD-3-Clause
// path/rank_memory.hpp: the memory of this rank's page (base/rank_page.hpp), a memfd that stays open.
// In:  nothing. Out: zeroed memory that tools of the same user can map through /proc.
#pragma once
#include "base/rank_page.hpp"

namespace herald::path {

class RankMemory {
 public:
  RankMemory() noexcept = default;
  ~RankMemory();
  RankMemory(const RankMemory&) = delete;
  RankMemory& operator=(const RankMemory&) = delete;
  // Without memory or where memfd_create() is forbidden page() stays null, and tools do not see this rank.
  void open() noexcept;
  RankPage* page() const noexcept { return page_; }

 private:
  RankPage* page_ = nullptr;
  int fd_ = -1;
};

}  // namespace herald::path
