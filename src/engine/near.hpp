// SPDX-License-Identifier: BSD-3-Clause
// engine/near.hpp: moves bytes between our memory and that of peers on this host, for p2p::Core.
#pragma once
#include "p2p/meeting.hpp"
#include "path/shm/shm.hpp"

namespace herald::engine {

class NearMover final : public p2p::Mover {
 public:
  explicit NearMover(path::ShmPath& shm) noexcept : shm_(shm) {}
  Status read(std::int32_t peer, std::span<const type::Run> here,
              std::span<const type::Run> there) noexcept override;
  Status write(std::int32_t peer, std::span<const type::Run> here,
               std::span<const type::Run> there) noexcept override;

 private:
  path::ShmPath& shm_;
};

}  // namespace herald::engine
