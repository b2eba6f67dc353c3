// SPDX-License-Identifier: BSD-3-Clause
// rel/lane_table.hpp: the lanes of a process: by LaneId, by name, and by the index of compact contributions.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "rel/lane.hpp"
#include "rel/lane_early.hpp"
#include "rel/lane_names.hpp"

namespace herald::rel {

class LaneTable {
 public:
  LaneTable(LaneContext& context, EarlyCasts& early, ClosedLanes& closed) noexcept
      : context_(context),
        early_(early),
        closed_(closed),
        lost_(static_cast<std::size_t>(context.config.peers)) {}

  LaneId open(std::uint64_t name, std::span<const PeerId> members) noexcept;
  void close(Lane& lane) noexcept;
  void reap() noexcept;  // lanes that were closed while the listener was called, or have drained
  void forget_peer(PeerId peer) noexcept;

  Lane* find(LaneId id) const noexcept;  // null: not open
  Lane* find_name(std::uint64_t name) const noexcept { return names_.find(name); }
  Lane* find_index(std::uint32_t index) const noexcept;
  // Null: there is none of this number. Lanes may be opened meanwhile.
  Lane* at(std::size_t id) const noexcept { return lanes_[id].get(); }
  std::size_t size() const noexcept { return lanes_.size(); }
  template <class F>
  void for_each(F&& what) const noexcept {
    for (std::size_t i = 0; i < lanes_.size(); ++i)
      if (lanes_[i] != nullptr) what(*lanes_[i]);
  }

 private:
  static constexpr std::size_t kIndexedLanes = 1024;  // that may have an index, of those open at once
  std::uint16_t next_index(LaneId id) noexcept;

  LaneContext& context_;
  EarlyCasts& early_;
  ClosedLanes& closed_;
  LaneNames names_;
  std::vector<std::unique_ptr<Lane>> lanes_;  // by LaneId
  std::vector<std::uint8_t> openings_;        // by LaneId: how often it was given
  std::vector<bool> lost_;                    // by peer
};

}  // namespace herald::rel
