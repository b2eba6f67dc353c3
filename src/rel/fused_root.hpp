// SPDX-License-Identifier: BSD-3-Clause
// rel/fused_root.hpp: the fused exchanges of a lane as the root sees them: it gathers contributions and
// announces the result.
//
//   idle --a contribution came, or gather()--> gathering --announce--> announced --all have it--> idle
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "rel/fused_exchange.hpp"

namespace herald::rel {

class LaneSource;

class FusedRoot final : public FusedActor {
 public:
  FusedRoot(LaneContext& context, LaneInfo& info, Audience& audience, LaneSource& source) noexcept;

  Lanes::FusedState gather(Seq number) noexcept;
  std::span<const std::byte> contribution(Seq number, std::size_t place) const noexcept;
  void announce(Instant now, Seq number, std::span<const std::byte> result, bool incomplete) noexcept;
  bool is_settled() const noexcept { return unconfirmed_ == 0; }  // all members have all results
  Seq next_number() const noexcept { return announced_end_; }

  bool on_contribution(Instant now, std::uint32_t place, const wire::DatagramView& view) noexcept;
  void on_member_gone(std::uint32_t place) noexcept;
  void on_answer(Instant now) noexcept;  // a member answers again
  void on_timers(Instant now) noexcept;
  bool defer(Instant now, Duration time) noexcept;
  bool fill(Instant now, TxBatch& out) noexcept;

 private:
  static constexpr Seq kKnown = 2 * kFusedAtOnce;
  static constexpr std::uint16_t kNotCome = UINT16_MAX;
  struct Exchange {
    enum class State : std::uint8_t { idle, gathering, announced };
    State state = State::idle;
    bool due = false;         // the result is to leave, to all
    bool lost = false;        // a member will never contribute
    bool wanted = false;      // gathering: our own program waits for it
    bool incomplete = false;  // gathering: a contribution is; announced: the result is
    std::uint8_t tries = 0;
    std::uint16_t count = 0;  // gathering: contributions; announced: members that may not have the result
    Seq number = 0;
    Instant retry_at = kNever;
    std::vector<std::uint16_t> sizes;      // by place, of contributions; kNotCome
    std::vector<std::byte> contributions;  // by place
    std::vector<std::byte> datagram;       // head and ResultPart, then the result
  };
  // The datagrams that one member is owed.
  struct Replies {
    Seq results_end = 0;  // it has the results of all before this one
    Seq ack_number = 0, resend_to = 0;
    bool ack_due = false;     // that its contribution to `ack_number` has come
    bool resend_due = false;  // the results up to `resend_to`
    std::uint8_t resent = 0;  // times in a row, since it had a result
  };
  Exchange& at(Seq number) noexcept { return exchanges_[number % kKnown]; }
  const Exchange& at(Seq number) const noexcept { return exchanges_[number % kKnown]; }
  Exchange* open(Seq number) noexcept;
  bool confirm(std::uint32_t place, Seq results_end) noexcept;
  bool take(Instant now, std::uint32_t place, const wire::DatagramView& view,
            std::span<const std::byte> data) noexcept;
  void resend(Replies& replies, Seq number) noexcept;
  void retry(Exchange& exchange, Instant now) noexcept;
  bool fill_result(Instant now, Exchange& exchange, TxBatch& out) noexcept;
  bool fill_replies(TxBatch& out) noexcept;
  bool fill_reminder(Instant now, TxBatch& out) noexcept;
  unsigned result_flags(const Exchange& exchange) const noexcept {
    return (exchange.incomplete ? wire::kFlagIncomplete : 0u) | info_.address_flags();
  }
  void emit_to_group(Instant now, Exchange& exchange, unsigned flags, TxBatch& out) noexcept;
  void emit_to_member(const Exchange& exchange, std::uint32_t place, TxBatch& out) noexcept;

  LaneSource& source_;
  std::array<Exchange, kKnown> exchanges_;
  Seq announced_end_ = 0;          // all before this one were announced
  std::vector<Replies> replies_;   // by place
  std::uint16_t unconfirmed_ = 0;  // exchanges that are announced and not idle
  bool some_replies_ = false;
  bool remind_ = false;                         // the group, of the last result
  std::vector<std::vector<std::byte>> copies_;  // of results to single members, while they leave
};

}  // namespace herald::rel
