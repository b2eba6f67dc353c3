// SPDX-License-Identifier: BSD-3-Clause
// engine/near.hpp: moves bytes between our memory and that of peers on this host, for p2p::Core: memory that
// is mapped here is copied, other memory is reached through the kernel.
#pragma once
#include <memory>
#include <vector>

#include "p2p/split_copy.hpp"
#include "path/shm/region.hpp"
#include "path/shm/shm.hpp"

namespace herald::engine {

// What lies beside an inbox: split copies, then the table of regions.
p2p::SplitCopy* split_copies_in(std::byte* side) noexcept;
path::RegionTable& regions_in(std::byte* side) noexcept;

class NearMover final : public p2p::Mover {
 public:
  explicit NearMover(path::ShmPath& shm) noexcept : shm_(shm) {}
  Status read(std::int32_t peer, std::span<const type::Run> here,
              std::span<const type::Run> there) noexcept override;
  Status write(std::int32_t peer, std::span<const type::Run> here,
               std::span<const type::Run> there) noexcept override;
  void tell(std::int32_t peer) noexcept override;
  std::uint64_t mapped_bytes() const noexcept { return mapped_bytes_; }
  std::uint64_t kernel_bytes() const noexcept { return kernel_bytes_; }

 private:
  // As runs of our own memory; false: not all of it is in regions.
  bool map(std::int32_t peer, std::span<const type::Run> there, std::span<type::Run> mapped) noexcept;
  path::ShmPath& shm_;
  std::vector<std::unique_ptr<path::PeerRegions>> regions_;  // by peer, when it has any
  std::uint64_t mapped_bytes_ = 0, kernel_bytes_ = 0;        // moved so far
};

}  // namespace herald::engine
