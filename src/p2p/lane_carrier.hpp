// SPDX-License-Identifier: BSD-3-Clause
// p2p/lane_carrier.hpp: joins Core, which has messages for all members of lanes, to rel::Lanes, which
// delivers them. The same object runs under the engine and under the simulator. Out, kept until taken:
// members that multicast reaches or no longer reaches, members that are lost; lanes that a peer invites us
// to, or dismisses us from.
#pragma once
#include <utility>
#include <vector>

#include "p2p/carrier.hpp"
#include "p2p/core.hpp"
#include "rel/lanes.hpp"

namespace herald::p2p {

class LaneCarrier final : public rel::LaneListener {
 public:
  using Door = Carrier::Door;
  explicit LaneCarrier(Core& core) noexcept;
  ~LaneCarrier();
  LaneCarrier(const LaneCarrier&) = delete;
  LaneCarrier& operator=(const LaneCarrier&) = delete;
  void join(rel::Lanes& lanes) noexcept { lanes_ = &lanes; }
  void set_open(Door door) noexcept { door_ = door; }

  // Moves packets for the lane from Core until its window is closed. True if any moved.
  bool pump(rel::LaneId lane) noexcept;
  bool pump_ready() noexcept;
  // Core did not take a packet: it is to be delivered again when Core has changed.
  bool holds() const noexcept { return holds_; }
  void redeliver() noexcept {
    holds_ = false;
    lanes_->redeliver();
  }

  struct News {
    rel::LaneId lane;
    PeerId member;
    bool hears;
  };
  // A member of `lane` invites some of its members, us among them, to another one; or dismisses us from
  // `lane`, which was opened so.
  struct Call {
    rel::LaneId lane;
    PeerId source;
    bool opens;
    std::uint64_t name;
    std::vector<PeerId> members;
  };
  std::vector<Call> take_calls() noexcept { return std::exchange(calls_, {}); }
  bool has_calls() const noexcept { return !calls_.empty(); }
  // Sends such a call; false: there is no room now.
  bool invite(rel::LaneId lane, std::uint64_t name, std::span<const PeerId> members) noexcept;
  bool dismiss(rel::LaneId lane) noexcept;

  std::vector<News> take_news() noexcept { return std::exchange(news_, {}); }
  struct Move {
    rel::LaneId lane;
    std::uint8_t move;
  };
  bool has_moves() const noexcept { return !moves_.empty(); }
  std::vector<Move> take_moves() noexcept { return std::exchange(moves_, {}); }
  struct Loss {
    PeerId source;
    std::uint32_t percent;
  };
  std::vector<Loss> take_losses() noexcept { return std::exchange(losses_, {}); }
  // The lane is closed: its number will be used again.
  void forget(rel::LaneId lane) noexcept;
  bool has_news() const noexcept { return !news_.empty() || !losses_.empty(); }

  Status deliver(rel::LaneId lane, rel::PeerId source, std::span<const std::byte> packet) noexcept override;
  void reachability_changed(rel::LaneId lane, rel::PeerId member, bool hears) noexcept override;
  void losing_multicast(rel::LaneId lane, rel::PeerId source, std::uint32_t percent) noexcept override;
  void address_changed(rel::LaneId lane, std::uint8_t move) noexcept override;

 private:
  bool send_call(rel::LaneId lane, ServiceId id, std::span<const std::byte> header,
                 std::span<const std::byte> payload) noexcept;
  static bool on_invite(void* carrier, const ServiceCall& call, type::Cursor& into) noexcept;
  static bool on_dismiss(void* carrier, const ServiceCall& call, type::Cursor& into) noexcept;

  Core& core_;
  rel::Lanes* lanes_ = nullptr;
  Door door_ = Door::open;
  bool holds_ = false;
  rel::LaneId receiving_lane_ = -1;  // of the packet that Core handles now
  std::vector<News> news_;
  std::vector<Loss> losses_;
  std::vector<Move> moves_;
  std::vector<Call> calls_;
};

}  // namespace herald::p2p
