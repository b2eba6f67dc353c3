// SPDX-License-Identifier: BSD-3-Clause
#include "engine/rank_state.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <span>
#include <utility>

#include "engine/clock.hpp"
#include "engine/engine.hpp"

namespace herald::engine {
namespace {

constexpr Duration kFinalizeWarning = milliseconds(5'000);

void copy_text(std::span<char> room, const std::string& text) noexcept {
  const std::size_t length = std::min(text.size(), room.size() - 1);
  std::memcpy(room.data(), text.data(), length);
  room[length] = '\0';
}

}  // namespace

void add_op(ShownWait& wait, const WaitedOp& op) noexcept {
  ++wait.total;
  if (wait.shown < ShownWait::kOps) wait.ops[wait.shown++] = op;
}

void add_unexpected(ShownWait& wait, std::int32_t peer) noexcept {
  UnexpectedFrom* const end = wait.unexpected.data() + wait.unexpected_count;
  UnexpectedFrom* const row = std::find_if(wait.unexpected.data(), end,
                                           [&](const UnexpectedFrom& each) { return each.peer == peer; });
  if (row != end)
    ++row->messages;
  else if (wait.unexpected_count < ShownWait::kUnexpected)
    wait.unexpected[wait.unexpected_count++] = {peer, 1};
}

void RankState::open(int rank, int size, const std::string& job, const std::string& host) noexcept {
  memory_.open();
  page_ = memory_.page();
  if (page_ == nullptr) return;
  page_->pid = static_cast<std::int32_t>(::getpid());
  page_->rank = rank;
  page_->size = size;
  copy_text(page_->job, job);
  copy_text(page_->host, host);
  wanted_ = &page_->wanted;
  page_->magic = RankPage::kMagic;
  set_phase(RankPhase::starting);
}

void RankState::set_phase(RankPhase phase) noexcept {
  if (page_ != nullptr) page_->phase.store(phase, std::memory_order_release);
}

int RankState::take() noexcept {
  if (page_ == nullptr) return -1;
  for (std::uint32_t i = 0; i < RankPage::kWaits; ++i)
    if (!std::exchange(used_[i], true)) return static_cast<int>(i);
  return -1;
}

void RankState::begin(ShownWait& wait, Instant since) noexcept {
  std::memset(static_cast<void*>(&wait), 0, sizeof wait);
  wait.since_ns = since.ns;
  if (describe_call_ != nullptr) describe_call_(wait);
}

void RankState::show(int slot, const ShownWait& wait) noexcept {
  page_->version.fetch_add(1, std::memory_order_acq_rel);
  page_->waits[static_cast<std::size_t>(slot)] = wait;
  page_->version.fetch_add(1, std::memory_order_release);
  write_counters();
  if (page_->phase.load(std::memory_order_relaxed) == RankPhase::finalizing) warn_of_finalize(wait);
}

void RankState::clear(int slot) noexcept {
  used_[slot] = false;
  page_->version.fetch_add(1, std::memory_order_acq_rel);
  page_->waits[static_cast<std::size_t>(slot)].since_ns = 0;
  page_->version.fetch_add(1, std::memory_order_release);
}

void RankState::write_counters() noexcept {
  served_ = wanted_->load(std::memory_order_relaxed);
  const p2p::CoreCounters all = engine_.counters();
  const auto set = [&](RankCounter which, std::uint64_t value) {
    page_->counters[static_cast<std::size_t>(which)].store(value, std::memory_order_relaxed);
  };
  set(RankCounter::sent, all.sent);
  set(RankCounter::sent_bytes, all.sent_bytes);
  set(RankCounter::received, all.received);
  set(RankCounter::received_bytes, all.received_bytes);
  set(RankCounter::held, all.held);
  set(RankCounter::shm_packets, all.paths.shm_packets);
  set(RankCounter::shm_bytes, all.paths.shm_bytes);
  set(RankCounter::copied_bytes, all.mapped_bytes + all.kernel_bytes);
  set(RankCounter::net_packets, all.paths.net_packets);
  set(RankCounter::net_bytes, all.paths.net_bytes);
  set(RankCounter::net_received, all.paths.net_received);
  set(RankCounter::net_received_bytes, all.paths.net_received_bytes);
  set(RankCounter::retransmitted, all.paths.net_resent);
  set(RankCounter::cast_packets, all.cast_packets);
  set(RankCounter::cast_received, all.paths.cast_received);
  set(RankCounter::cast_repaired, all.paths.cast_resent);
  set(RankCounter::cast_missed, all.cast_missed);
  page_->counted_ns.store(read_clock().ns, std::memory_order_relaxed);
  page_->served.store(served_, std::memory_order_release);
  const std::uint32_t timelines = page_->timelines_wanted.load(std::memory_order_relaxed);
  if (std::exchange(timelines_, timelines) != timelines && write_timeline_ != nullptr) write_timeline_();
}

// Once: the program has ended as far as it knows, and nobody else would say why the job goes on.
void RankState::warn_of_finalize(const ShownWait& wait) noexcept {
  if (warned_ || read_clock().ns - wait.since_ns < kFinalizeWarning.ns) return;
  warned_ = true;
  std::string text = "herald: rank " + std::to_string(page_->rank) + " on " + page_->host.data() +
                     ": MPI_Finalize has waited 5 s for other ranks";
  for (std::uint32_t i = 0; i < wait.shown; ++i)
    if (wait.ops[i].kind == WaitedKind::send)
      text += "; a send to rank " + std::to_string(wait.ops[i].peer) + " with tag " +
              std::to_string(wait.ops[i].tag) + " has no receive";
  for (std::uint32_t i = 0; i < wait.unexpected_count; ++i) {
    const UnexpectedFrom& from = wait.unexpected[i];
    text += "; " + std::to_string(from.messages) + (from.messages == 1 ? " message" : " messages") +
            " from rank " + std::to_string(from.peer) + " never received";
  }
  std::fprintf(stderr, "%s (`herald ps` shows all ranks)\n", text.c_str());
}

}  // namespace herald::engine
