// SPDX-License-Identifier: BSD-3-Clause
// model/sizes.hpp: the sizes that suit a measured network: of the part of a message that its sender pushes
// before the receiver pulls the rest, of the segments of a pipeline, and of all that is on its way to one
// host.
#pragma once
#include <cstdint>

#include "model/parameters.hpp"

namespace herald::model {

// Beyond the first packet, by this path: the sender's port is busy with it until the receiver's pull comes.
std::uint32_t push_bytes(const PathParameters& path) noexcept;

struct Sizes {
  std::uint32_t push_bytes = 0;     // as the file says, between bounds
  std::uint32_t window_bytes = 0;   // from all senders together; 0: the buffer of the switch is not known
  std::uint64_t segment_bytes = 0;  // a power of two
};

Sizes sizes_between_hosts(const Parameters& parameters) noexcept;

}  // namespace herald::model
