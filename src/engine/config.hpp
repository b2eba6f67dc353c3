// SPDX-License-Identifier: BSD-3-Clause
// engine/config.hpp: turns knobs and limits of the sockets into the configuration of Core and the node. The
// knob `baseline` selects published protocols, to compare with them.
#pragma once
#include "base/knobs.hpp"
#include "node/config.hpp"
#include "p2p/config.hpp"
#include "path/shm/shm.hpp"
#include "path/udp/udp.hpp"
#include "wire/cipher.hpp"

namespace herald::engine {

// The ranks agreed on this when they exchanged their cards.
struct NetStart {
  wire::JobKey key{};       // of tags
  wire::JobKey pool_key{};  // of multicast addresses, not secret
  wire::SecretKey job_secret{};
  const wire::CipherSuite* suite = nullptr;  // null: no cryptographic library
  std::uint32_t epoch = 0;
  std::uint64_t seed = 0;
  std::uint32_t local_ranks = 1;   // on this host, ourselves included
  std::uint32_t window_bytes = 0;  // on their way to this host; 0: as Tuning::net_switch_bytes
};

std::size_t packet_bytes(const Knobs& knobs) noexcept;  // of packets within a host, the header included
path::ShmConfig shm_config(int rank, int size, const Knobs& knobs);
p2p::CoreConfig core_config(int rank, int size, const Knobs& knobs);
node::NodeConfig node_config(int rank, int size, const Knobs& knobs, const path::UdpPath& udp,
                             const NetStart& start, const group::Pool& pool) noexcept;

}  // namespace herald::engine
