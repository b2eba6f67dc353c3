// SPDX-License-Identifier: BSD-3-Clause
// rel/segment_sizes.hpp: the segment size of each link of a peer: when a search for it begins, and what it
// finds (rel/segment_search.hpp).
#pragma once
#include <cstddef>
#include <cstdint>

#include "rel/mesh_context.hpp"

namespace herald::rel {

// A datagram of this size was lost by this link several times. True: probes are to leave.
bool suspect_segment(LinkSet& links, Instant now, std::uint8_t link, std::size_t bytes) noexcept;
// The time for replies to probes of sizes is over. True: probes are to leave.
bool on_segment_time(MeshContext& mesh, Connection& ch, Instant now, std::uint8_t link) noexcept;

}  // namespace herald::rel
