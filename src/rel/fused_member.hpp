// SPDX-License-Identifier: BSD-3-Clause
// rel/fused_member.hpp: the fused exchanges of a lane as a member sees them that is not the root.
//
//   idle --contribute--> open --result came--> answered --taken--> idle
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "rel/fused_exchange.hpp"

namespace herald::rel {

class FusedMember final : public FusedActor {
 public:
  FusedMember(LaneContext& context, LaneInfo& info, Audience& audience) noexcept;

  // False: not now, older exchanges are open.
  bool contribute(Seq number, std::span<const std::byte> data, bool incomplete) noexcept;
  // Null: it has not come.
  const std::vector<std::byte>* result(Seq number) const noexcept;
  bool is_incomplete(Seq number) const noexcept { return at(number).result_incomplete; }  // of one that came
  void take_result(Seq number) noexcept;
  bool owes_ack() const noexcept { return results_end_ != acked_end_; }

  // True: it is news. So are the answers of the other parts of a lane.
  bool on_result(Instant now, bool by_group, const wire::DatagramView& view) noexcept;
  bool on_contribution_ack(Instant now, const wire::DatagramView& view) noexcept;
  void on_answer(Instant now) noexcept;  // the root answers again
  void on_timers(Instant now) noexcept;
  bool defer(Instant now, Duration time) noexcept;
  bool fill(Instant now, TxBatch& out) noexcept;

 private:
  struct Contribution {
    enum class State : std::uint8_t { idle, open, answered };
    State state = State::idle;
    bool due = false;    // to leave
    bool acked = false;  // the root has it
    bool incomplete = false, result_incomplete = false;
    std::uint8_t tries = 0;
    Seq number = 0;
    Instant sent_at{};
    Instant retry_at = kNever;
    // Head and ContributionPart, or unused bytes and a CompactHead; then the data.
    std::vector<std::byte> datagram;
    std::vector<std::byte> result;

    bool is_open(Seq wanted) const noexcept { return state == State::open && number == wanted; }
  };
  Contribution& at(Seq number) noexcept { return contributions_[number % kFusedAtOnce]; }
  const Contribution& at(Seq number) const noexcept { return contributions_[number % kFusedAtOnce]; }
  bool repeat_unacked(Instant now) noexcept;
  unsigned common_flags() const noexcept;
  void on_acked() noexcept;  // a datagram left that says which results have come
  std::span<std::byte> write_whole(Contribution& one, unsigned flags) const noexcept;
  std::span<std::byte> write_compact(Contribution& one, unsigned flags) const noexcept;
  void emit(Instant now, Contribution& one, TxBatch& out) noexcept;
  void emit_ack(TxBatch& out) noexcept;

  std::array<Contribution, kFusedAtOnce> contributions_;
  Seq results_end_ = 0;  // the results of all before this one have come
  Seq acked_end_ = 0;    // the same, as last acknowledged to the root
  Instant ack_at_ = kNever;
  bool ack_now_ = false;
  bool multicast_seen_ = false;   // since the last contribution
  std::uint16_t lane_index_ = 0;  // of this lane at the root (wire/compact.hpp); 0: not known
};

}  // namespace herald::rel
