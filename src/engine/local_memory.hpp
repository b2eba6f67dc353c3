// SPDX-License-Identifier: BSD-3-Clause
// engine/local_memory.hpp: moves bytes between our memory and that of peers on this host, for p2p::Core.
// Memory that is mapped here is copied directly, other memory through the kernel (CMA). Also gives the
// program memory that peers can map.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "p2p/core.hpp"
#include "p2p/split_copy.hpp"
#include "path/shm/region.hpp"
#include "path/shm/shm.hpp"

namespace herald::engine {

// The memory beside an inbox holds split copies, then the table of regions.
p2p::SplitCopy* split_copies_in(std::byte* side) noexcept;
path::RegionTable& regions_in(std::byte* side) noexcept;

class LocalMover final : public p2p::Mover {
 public:
  explicit LocalMover(path::ShmPath& shm) noexcept : shm_(shm) {}
  Status read(std::int32_t peer, std::span<const type::Run> here,
              std::span<const type::Run> there) noexcept override;
  Status write(std::int32_t peer, std::span<const type::Run> here,
               std::span<const type::Run> there) noexcept override;
  void notify(std::int32_t peer) noexcept override;
  void forget(std::int32_t peer) noexcept {
    if (static_cast<std::size_t>(peer) < regions_.size()) regions_[static_cast<std::size_t>(peer)].reset();
  }
  bool reaches(std::int32_t peer) const noexcept { return shm_.can_reach(peer); }
  std::uint64_t mapped_bytes() const noexcept { return mapped_bytes_; }
  std::uint64_t kernel_bytes() const noexcept { return kernel_bytes_; }

 private:
  // As runs of our own memory; false: not all of it is in regions.
  bool map(std::int32_t peer, std::span<const type::Run> there, std::span<type::Run> mapped) noexcept;
  path::ShmPath& shm_;
  std::vector<std::unique_ptr<path::PeerRegions>> regions_;  // by peer, when it has any
  std::uint64_t mapped_bytes_ = 0, kernel_bytes_ = 0;        // moved so far
};

// The memory of peers that this process can reach, and its own that peers can map.
class LocalMemory {
 public:
  // Finds out once whose memory the kernel lets us reach. `alloc_bytes`: 0: the program gets none to map.
  void open(path::ShmPath& shm, p2p::Core& core, int rank, int size, std::size_t alloc_bytes);
  void close() noexcept;
  p2p::Mover* mover() noexcept { return mover_.get(); }  // null: no memory can be reached
  // Null: the kernel does not let us reach the memory of this peer.
  p2p::Mover* mover_to(std::int32_t peer) noexcept {
    return mover_ && peer < size_ && mover_->reaches(peer) ? mover_.get() : nullptr;
  }

  // Before the memory of a peer is unmapped.
  void forget(std::int32_t peer) noexcept {
    if (mover_) mover_->forget(peer);
  }

  // Memory for messages that peers on this host can map, so that they need no system call; zeroed, aligned to
  // a page. Null: use other memory.
  void* take(std::size_t bytes) noexcept {
    return alloc_bytes_ != 0 && bytes >= alloc_bytes_ ? regions_.take(bytes) : nullptr;
  }
  bool give_back(void* memory) noexcept { return regions_.give_back(memory); }  // false: it is other memory
  // The path of a new file in shared memory that is removed with this job; empty: there is no shared memory.
  std::string new_shm_path();
  std::uint64_t mapped_bytes() const noexcept { return mover_ ? mover_->mapped_bytes() : 0; }
  std::uint64_t kernel_bytes() const noexcept { return mover_ ? mover_->kernel_bytes() : 0; }

 private:
  std::unique_ptr<LocalMover> mover_;
  path::Regions regions_;
  std::size_t alloc_bytes_ = 0;
  int size_ = 0;
  const path::ShmPath* shm_ = nullptr;
  std::uint32_t files_ = 0;  // names given out by new_shm_path()
};

}  // namespace herald::engine
