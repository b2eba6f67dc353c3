// SPDX-License-Identifier: BSD-3-Clause
#include "path/rank_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.hpp"

namespace herald::path {

void RankMemory::open() noexcept {
  if (page_ != nullptr) return;
  fd_ = safe_fd(::memfd_create(kRankPageName, MFD_CLOEXEC));
  if (fd_ < 0) return;
  void* memory = MAP_FAILED;
  if (::ftruncate(fd_, sizeof(RankPage)) == 0)
    memory = ::mmap(nullptr, sizeof(RankPage), PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
  if (memory != MAP_FAILED)
    page_ = static_cast<RankPage*>(memory);
  else
    fd_ = (::close(fd_), -1);
}

RankMemory::~RankMemory() {
  if (page_ != nullptr) ::munmap(page_, sizeof *page_);
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace herald::path
