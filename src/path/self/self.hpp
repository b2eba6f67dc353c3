// SPDX-License-Identifier: BSD-3-Clause
// path/self/self.hpp: messages of a process to itself: an inbox in private memory.
#pragma once
#include <memory>

#include "path/inbox.hpp"

namespace herald::path {

class SelfPath {
 public:
  // False: out of memory.
  bool open(std::uint32_t cells, std::size_t packet_bytes, std::uint32_t producers) noexcept;
  Inbox& inbox() noexcept { return inbox_; }

 private:
  struct Free {
    void operator()(void* memory) const noexcept;
  };
  std::unique_ptr<void, Free> memory_;
  Inbox inbox_;
};

}  // namespace herald::path
