// SPDX-License-Identifier: BSD-3-Clause
// rel/credit_book.hpp: divides what the receive buffer and the switch hold among those who send to us.
// Who does not ask for more always has the eager window. Who does (kFlagBacklog) gets an equal share of the
// budget, as far as it is not in the hands of others: what was granted is never taken back.
// Invariant: what all have beyond their eager windows is never more than the budget.
#pragma once
#include <algorithm>
#include <cstdint>

namespace herald::rel {

class CreditBook {
 public:
  struct Account {
    std::uint32_t beyond = 0;  // packets granted, not yet come, beyond the eager window
    bool asks = false;
  };

  CreditBook(std::uint32_t budget_packets, std::uint32_t eager_packets) noexcept
      : budget_(std::max(budget_packets, eager_packets)), eager_(eager_packets), share_(budget_) {}

  std::uint32_t eager() const noexcept { return eager_; }
  std::uint32_t budget() const noexcept { return budget_; }
  std::uint32_t beyond() const noexcept { return beyond_; }

  void set_asks(Account& account, bool asks) noexcept {
    if (account.asks == asks) return;
    account.asks = asks;
    asking_ += asks ? 1u : ~0u;
    share_ = budget_ / std::max(asking_, 1u);
  }
  // Packets that may be on their way from this sender, if it wants `wanted`.
  std::uint32_t window(const Account& account, std::uint32_t wanted) const noexcept {
    if (!account.asks) return eager_;
    if (share_ < eager_) return std::max(share_, kLeast);  // so many ask that even this is too much
    if (wanted <= eager_) return eager_;
    const std::uint64_t taken = std::uint64_t{asking_} * eager_ + beyond_ - account.beyond;
    const std::uint64_t left = taken < budget_ ? budget_ - taken : 0;
    return std::max(eager_, std::min({wanted, share_, static_cast<std::uint32_t>(eager_ + left)}));
  }
  // So many packets may be on their way now.
  void set_outstanding(Account& account, std::int32_t packets) noexcept {
    const std::int32_t over = packets - static_cast<std::int32_t>(eager_);
    const std::uint32_t beyond = over > 0 ? static_cast<std::uint32_t>(over) : 0;
    beyond_ += beyond - account.beyond;
    account.beyond = beyond;
  }

 private:
  static constexpr std::uint32_t kLeast = 2;

  std::uint32_t budget_;
  std::uint32_t eager_;
  std::uint32_t share_;
  std::uint32_t asking_ = 0;
  std::uint32_t beyond_ = 0;
};

}  // namespace herald::rel
