// SPDX-License-Identifier: BSD-3-Clause
// boot/local_peers.hpp: PMIx's list of the ranks on this host.
#pragma once
#include <string_view>
#include <vector>

namespace herald::boot {

// "0,2,5" or "0-3,8" as ascending ranks. Empty if the text is malformed, lacks `rank` or contains
// a rank that is not below `size`.
std::vector<int> parse_local_peers(std::string_view text, int rank, int size);

}  // namespace herald::boot
