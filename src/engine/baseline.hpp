// SPDX-License-Identifier: BSD-3-Clause
// engine/baseline.hpp: the protocols that the knob `baseline` selects, to compare with published ones.
#pragma once
#include <cstdint>
#include <string>

#include "base/knobs.hpp"
#include "p2p/core.hpp"
#include "rel/lanes.hpp"
#include "rel/mesh.hpp"

namespace herald::engine {

inline p2p::PushMode push_mode_of(const Knobs& knobs) {
  const std::string_view mode = list_value(knobs.baseline, "push");
  if (mode == "zero") return p2p::PushMode::zero;
  return mode == "all" ? p2p::PushMode::all : p2p::PushMode::pull;
}

inline rel::LaneMode lane_mode_of(const Knobs& knobs) {
  const std::string_view mode = list_value(knobs.baseline, "cast");
  if (mode == "simple") return rel::LaneMode::simple;
  return mode == "push_pull" ? rel::LaneMode::push_pull : rel::LaneMode::streaming;
}

inline std::uint32_t lane_window_of(const Knobs& knobs) {
  const std::string_view packets = list_value(knobs.baseline, "window");
  return packets.empty() ? knobs.tuning.lane_window
                         : static_cast<std::uint32_t>(std::stoul(std::string(packets)));
}

inline rel::Repair repair_of(const Knobs& knobs) {
  return list_value(knobs.baseline, "repair") == "go_back_n" ? rel::Repair::go_back_n
                                                             : rel::Repair::selective;
}

}  // namespace herald::engine
