// SPDX-License-Identifier: BSD-3-Clause
// rel/credit_book.hpp: divides the capacity of receive buffer and switch among the senders to this process.
// A sender without backlog always has the eager window. A backlogged sender (kFlagBacklog) gets an equal
// share of the rest of the budget, as far as others do not hold it: credit is never revoked. Invariant: all
// credit together never exceeds the budget, unless the eager windows take more than half of it; then the
// credit of backlogged senders does not.
// The budget is that of a switch port at first. Where packets come so fast that it lasts for less than
// kLongest, it grows to what comes in that time, as far as our own sockets hold it; a loss takes it back.
#pragma once
#include <algorithm>
#include <cstdint>

#include "base/instant.hpp"

namespace herald::rel {

class CreditBook {
 public:
  struct Account {
    std::uint32_t beyond = 0;  // packets granted, not yet come, beyond the eager window
    bool backlogged = false;
  };

  // `most_packets`: that our sockets hold.
  CreditBook(std::uint32_t budget_packets, std::uint32_t eager_packets,
             std::uint32_t most_packets = 0) noexcept
      : first_(std::max(budget_packets, eager_packets)),
        most_(std::max(first_, most_packets)),
        budget_(first_),
        eager_(eager_packets),
        pool_(budget_),
        share_(budget_) {}

  void add_peer() noexcept {
    ++peers_;
    divide();
  }
  std::uint32_t eager() const noexcept { return eager_; }
  std::uint32_t budget() const noexcept { return budget_; }
  std::uint32_t beyond() const noexcept { return beyond_; }

  void set_backlogged(Account& account, bool backlogged) noexcept {
    if (account.backlogged == backlogged) return;
    account.backlogged = backlogged;
    backlogged_ += backlogged ? 1u : ~0u;
    if (backlogged_ == 0) came_ = 0;
    divide();
  }
  // A packet of a backlogged sender. Senders had no more than the budget under way when we began to count,
  // and a few times as much cannot come faster than the links bring it.
  void on_packet(Instant now) noexcept {
    if (came_ == 0) since_ = now;
    if (++came_ < kBudgets * budget_) return;
    const std::int64_t ns = std::max<std::int64_t>((now - since_).ns, 1);
    const auto fits = static_cast<std::uint32_t>(std::min<std::int64_t>(kLongest.ns * came_ / ns, most_));
    came_ = 0;
    set_budget(std::max(first_, fits));
  }
  // A packet was lost, maybe because the budget is too large for the switch.
  void on_loss() noexcept {
    came_ = 0;
    if (budget_ != first_) set_budget(std::max(first_, budget_ / 2));
  }
  // Packets that this sender may have in flight, if it wants `wanted`.
  std::uint32_t window(const Account& account, std::uint32_t wanted) const noexcept {
    if (!account.backlogged) return eager_;
    if (share_ < eager_) return std::max(share_, kLeast);  // too many senders even for eager windows
    if (wanted <= eager_) return eager_;
    const std::uint64_t taken = std::uint64_t{backlogged_} * eager_ + beyond_ - account.beyond;
    const std::uint64_t left = taken < pool_ ? pool_ - taken : 0;
    return std::max(eager_, std::min({wanted, share_, static_cast<std::uint32_t>(eager_ + left)}));
  }
  // The credit that this sender holds now.
  void set_outstanding(Account& account, std::int32_t packets) noexcept {
    const std::int32_t over = packets - static_cast<std::int32_t>(eager_);
    const std::uint32_t beyond = over > 0 ? static_cast<std::uint32_t>(over) : 0;
    beyond_ += beyond - account.beyond;
    account.beyond = beyond;
  }

 private:
  static constexpr std::uint32_t kLeast = 2;
  static constexpr std::uint32_t kBudgets = 4;  // that come before the speed is judged
  static constexpr Duration kLongest = milliseconds(1);

  void set_budget(std::uint32_t packets) noexcept {
    if (packets == budget_) return;
    budget_ = packets;
    divide();
  }

  // Senders without backlog may begin at any time, all at once: their eager windows are reserved.
  void divide() noexcept {
    const std::uint64_t reserve = std::uint64_t{peers_ > backlogged_ ? peers_ - backlogged_ : 0} * eager_;
    pool_ = budget_ - static_cast<std::uint32_t>(std::min<std::uint64_t>(reserve, budget_ / 2));
    share_ = pool_ / std::max(backlogged_, 1u);
  }

  const std::uint32_t first_, most_;  // bounds of the budget
  std::uint32_t budget_;
  std::uint32_t eager_;
  std::uint32_t pool_;   // for backlogged senders
  std::uint32_t share_;  // of each of them
  std::uint32_t peers_ = 0, backlogged_ = 0;
  std::uint32_t beyond_ = 0;
  std::uint32_t came_ = 0;  // packets of backlogged senders ...
  Instant since_{};         // ... since then
};

}  // namespace herald::rel
