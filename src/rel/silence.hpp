// SPDX-License-Identifier: BSD-3-Clause
// rel/silence.hpp: how long a peer may be silent.
#pragma once
#include <algorithm>

#include "base/instant.hpp"

namespace herald::rel {

// A peer is lost when it has not answered for the detection time and a tenth: who could not be reached for
// all of the detection time, and then can, is asked once more and answers within that tenth.
constexpr Duration give_up_after(Duration detect) noexcept { return {detect.ns + detect.ns / 10}; }
// Who comes so late after a deadline was stopped meanwhile, with its process or its machine, and could not
// hear; peers may have been stopped with it. Such time does not count as their silence.
constexpr Duration most_late(Duration detect) noexcept {
  return {std::max(detect.ns / 16, milliseconds(200).ns)};
}

}  // namespace herald::rel
