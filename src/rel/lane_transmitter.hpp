// SPDX-License-Identifier: BSD-3-Clause
// rel/lane_transmitter.hpp: the datagrams of our stream that leave: repairs, packets for the group, packets
// for members that receive no multicast, and questions to members that have not acknowledged. Timer: the
// notice, which shows the end of a burst so that a lost tail is noticed soon.
#pragma once
#include <cstdint>

#include "rel/lane_baselines.hpp"
#include "rel/lane_repair.hpp"
#include "rel/tag_queue.hpp"

namespace herald::rel {

class LaneTransmitter {
 public:
  LaneTransmitter(LaneContext& context, const LaneInfo& info, LaneStream& stream, Audience& audience,
                  LaneRepair& repair, GoBackN& go_back_n, const LanePipe& pipe) noexcept
      : context_(context),
        info_(info),
        stream_(stream),
        audience_(audience),
        repair_(repair),
        go_back_n_(go_back_n),
        pipe_(pipe) {}

  bool fill(Instant now, TxBatch& out) noexcept;  // true: the batch had no room for all
  void ask_group(bool answer) noexcept {
    group_ask_ = true;
    group_answer_ = group_answer_ || answer;
  }
  void ask(LaneMember& member) noexcept { member.ask_due = some_asks_ = true; }
  bool probe_group(Instant now) noexcept;  // no member receives multicast: true if a probe is to leave

  Instant notice_at() const noexcept { return notice_at_; }
  void defer_notice(Instant until) noexcept { notice_at_ = until; }
  void on_notice() noexcept;

 private:
  bool fill_repairs(Instant now, TxBatch& out) noexcept;
  bool fill_casts(Instant now, TxBatch& out) noexcept;
  bool fill_unicast(Instant now, TxBatch& out) noexcept;
  bool fill_unicast_to(Instant now, std::uint32_t place, TxBatch& out, bool& more) noexcept;
  bool fill_asks(Instant now, TxBatch& out) noexcept;
  bool emit_cast(Instant now, Seq seq, std::int32_t place, bool ask, TxBatch& out) noexcept;
  void emit_ask(Instant now, std::int32_t place, bool answer, TxBatch& out) noexcept;

  LaneContext& context_;
  const LaneInfo& info_;
  LaneStream& stream_;
  Audience& audience_;
  LaneRepair& repair_;
  GoBackN& go_back_n_;
  const LanePipe& pipe_;
  TagQueue unsealed_;
  Instant notice_at_ = kNever;
  std::uint32_t burst_ = 0;         // packets that followed closely on each other
  std::uint32_t since_ask_ = 0;     // packets
  std::uint32_t next_unicast_ = 0;  // whose turn it is among members without multicast
  bool held_ = false;               // packets wait for the pipe
  bool some_asks_ = false;          // a member is to be asked by unicast
  bool group_ask_ = false;          // a cast_ask is to go to the group ...
  bool group_answer_ = false;       // ... that wants answers
};

// The part of a cast and of a cast_ask.
wire::LanePart lane_part(const LaneInfo& info, const Audience& audience) noexcept;

}  // namespace herald::rel
