// SPDX-License-Identifier: BSD-3-Clause
// rel/lane_dispatcher.hpp: datagrams of lanes as they come in: opens them and hands them to their lane, or
// keeps them for a lane that is about to be opened.
#pragma once
#include <cstdint>
#include <span>

#include "rel/lane_table.hpp"

namespace herald::rel {

class LaneDispatcher {
 public:
  LaneDispatcher(LaneContext& context, LaneTable& table, EarlyCasts& early, ClosedLanes& closed) noexcept
      : context_(context), table_(table), early_(early), closed_(closed) {}

  bool on_datagram(Instant now, bool by_group, std::span<const std::byte> datagram) noexcept;
  // Several that came together to groups, at most kMostTogether. Bit i of the result: the one at i was good.
  static constexpr std::size_t kMostTogether = Lanes::kMostTogether;
  std::uint32_t on_group_datagrams(Instant now, std::span<const std::span<const std::byte>> came) noexcept;
  // Early casts of lanes that were opened since.
  void replay(Instant now) noexcept;

 private:
  std::uint32_t on_train(Instant now, std::uint64_t name,
                         std::span<const std::span<const std::byte>> train) noexcept;
  bool on_fragment(Instant now, std::span<const std::byte> datagram) noexcept;
  bool on_compact(Instant now, std::span<const std::byte> datagram) noexcept;
  std::uint32_t upper_of(std::uint64_t name, const Lane* open,
                         std::span<const std::byte> datagram) const noexcept;
  bool is_good(Instant now, wire::Opened opened, const wire::DatagramView& view) noexcept;
  void hand_to(Instant now, bool by_group, const wire::DatagramView& view, Lane& lane) noexcept;
  void on_unopened(Instant now, bool by_group, const wire::DatagramView& view, std::uint64_t name) noexcept;

  LaneContext& context_;
  LaneTable& table_;
  EarlyCasts& early_;
  ClosedLanes& closed_;
};

}  // namespace herald::rel
