// SPDX-License-Identifier: BSD-3-Clause
// rel/lane.hpp: one lane: our stream, the stream of each other member that has cast, and the fused exchanges.
// It hands each datagram of the lane to the part that it concerns.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "rel/fused_member.hpp"
#include "rel/fused_root.hpp"
#include "rel/lane_audience.hpp"
#include "rel/lane_early.hpp"
#include "rel/lane_receiver.hpp"
#include "rel/lane_source.hpp"

namespace herald::rel {

class Lane {
 public:
  Lane(LaneContext& context, std::uint64_t name, std::span<const PeerId> members) noexcept;
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  LaneInfo& info() noexcept { return info_; }
  const LaneInfo& info() const noexcept { return info_; }
  LaneSource& source() noexcept { return source_; }
  Audience& audience() noexcept { return audience_; }
  const Audience& audience() const noexcept { return audience_; }
  bool is_open() const noexcept { return source_.is_open(); }

  void set_address_index(std::uint8_t index) noexcept;
  // `early`: it came some time ago, and is no sign of life. True: the sender is to be told that the lane is
  // closed here; it drains.
  bool on_datagram(Instant now, bool by_group, const wire::DatagramView& view, bool early = false) noexcept;
  // Several casts of one member that came together, to the group.
  void on_train(Instant now, std::span<const wire::OpenedDatagram> train) noexcept;
  // Acks of what others have cast ride on our packet: members that cast to each other in turn (barrier,
  // allgather) need no others. Returns how many bytes were written.
  std::size_t write_ack_rows(std::byte* at, std::size_t most) noexcept;

  void lose_member(Instant now, std::uint32_t place) noexcept;  // nothing more comes from it, either
  void on_member_gone(std::uint32_t place) noexcept;
  void on_answer(Instant now, std::uint32_t place) noexcept;
  void redeliver(Instant now) noexcept;
  void shrink() noexcept;

  FusedMember& fused_member() noexcept;
  FusedRoot& fused_root() noexcept;
  const FusedMember* find_fused_member() const noexcept { return fused_member_.get(); }
  FusedMember* find_fused_member() noexcept { return fused_member_.get(); }
  const FusedRoot* find_fused_root() const noexcept { return fused_root_.get(); }

  bool is_flushed() const noexcept;  // all members have what we cast and announced
  void close_if_drained() noexcept;
  void close_receivers(ClosedLanes& closed) noexcept;
  // False: a member may want something of ours again; the lane drains.
  bool close() noexcept;

 private:
  bool dispatch(Instant now, bool by_group, std::uint32_t from, const wire::DatagramView& view) noexcept;
  LaneReceiver& receiver(std::uint32_t place) noexcept;
  bool is_settled() const noexcept;  // no member is owed anything of a fused exchange
  bool on_cast_ack(Instant now, std::uint32_t place, const wire::DatagramView& view) noexcept;
  bool on_contribution(Instant now, std::uint32_t place, const wire::DatagramView& view) noexcept;

  LaneContext& context_;
  LaneInfo info_;
  Audience audience_;
  LaneSource source_;
  std::vector<std::unique_ptr<LaneReceiver>> receivers_;  // by place; made when the member casts
  std::unique_ptr<FusedMember> fused_member_;             // made when it is needed
  std::unique_ptr<FusedRoot> fused_root_;                 // likewise
};

}  // namespace herald::rel
