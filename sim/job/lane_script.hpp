// SPDX-License-Identifier: BSD-3-Clause
// sim/job/lane_script.hpp: programs that call collectives on communicators with lanes. All members of one
// call them in the same order; how many each has under way, where it waits, when it opens a lane and how soon
// it closes it, differ.
#pragma once
#include "sim/job/script.hpp"

namespace herald::sim {

struct LaneLimits {
  std::int32_t processes = 4;
  std::uint32_t lanes = 1;
  std::uint32_t collectives = 10;
  std::uint64_t total_bytes = 4 << 20;  // that all together receive
  std::uint64_t largest = 1 << 18;      // of one collective at one process
  std::uint32_t under_way = 3;
  Duration longest_pause = milliseconds(2);
  Duration latest{};         // a member may come so late
  bool closes = true;        // some lanes, as soon as their last collective is over
  bool computes = false;     // some pauses make no progress
  bool deals = false;        // calls from one to several besides; else none of them
  bool parts = false;        // of those some over lanes of those concerned
  bool rare = false;         // only ops that is_rare() names; else none of them
  bool fused_count = false;  // mostly those that is_fused() names
};

Script write_lane_script(const LaneLimits& limits, Prng& chance);

}  // namespace herald::sim
