// SPDX-License-Identifier: BSD-3-Clause
#include "path/self/self.hpp"

#include <cstdlib>
#include <cstring>

namespace herald::path {

void SelfPath::Free::operator()(void* memory) const noexcept { std::free(memory); }

bool SelfPath::open(std::uint32_t cells, std::size_t packet_bytes, std::uint32_t producers) noexcept {
  const InboxShape shape = InboxShape::make(cells, packet_bytes, producers);
  memory_.reset(std::aligned_alloc(kCacheLine, shape.bytes()));
  if (!memory_) return false;
  std::memset(memory_.get(), 0, shape.cells_at());
  inbox_ = Inbox(memory_.get(), shape);
  inbox_.create();
  return true;
}

}  // namespace herald::path
