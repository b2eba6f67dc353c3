// SPDX-License-Identifier: BSD-3-Clause
// base/rank_page.hpp: what a rank shows to tools of its host (mpiexec, `herald ps`, `herald top`): which
// calls wait, for which ranks and since when. A page is a file without a name (memfd kRankPageName), which
// tools open through /proc/PID/fd, so that a killed job leaves nothing behind. A rank writes it only when a
// call has waited for long, so that nothing is spent on calls that return soon. Readers compare `version`
// before and after (seqlock); a page of another kMagic is not read.
#pragma once
#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <type_traits>

namespace herald {

inline constexpr char kRankPageName[] = "herald-rank";

// A rank that gets this signal prints its stack and goes on (mpiexec --stack-traces).
inline int stack_signal() noexcept { return SIGRTMAX - 5; }

enum class WaitedKind : std::uint8_t { receive, send, collective, other };

// One operation that a call waits for. `peer` is a rank in MPI_COMM_WORLD, `member` in the communicator.
struct WaitedOp {
  WaitedKind kind;
  bool exact_tag;
  std::int32_t peer;  // -1: any
  std::int32_t member;
  std::int32_t tag;
};

struct UnexpectedFrom {
  std::int32_t peer;
  std::uint32_t messages;
};

// A call that waits. Every text ends with a zero byte.
struct ShownWait {
  static constexpr std::uint32_t kOps = 8, kMembers = 256, kUnexpected = 4;
  std::int64_t since_ns;  // CLOCK_MONOTONIC; 0: the slot is empty
  std::uint64_t context;  // of the communicator
  std::array<char, 48> call;
  std::array<char, 48> comm;
  std::int32_t comm_size;
  bool any;             // the call ends with the first operation; else it needs all of them
  std::uint32_t total;  // operations not done yet; the first ones are in `ops`
  std::uint32_t shown;
  std::array<WaitedOp, kOps> ops;
  std::uint32_t member_count;  // of the communicator; 0: not all of them fit, or there is none
  std::array<std::int32_t, kMembers> members;
  std::uint32_t unexpected_count;  // senders in `unexpected`
  std::array<UnexpectedFrom, kUnexpected> unexpected;
};

enum class RankPhase : std::uint32_t { starting, running, finalizing, ended };

enum class RankCounter : std::uint32_t {
  sent,
  sent_bytes,
  received,
  received_bytes,
  held,
  shm_packets,  // to ranks of this host
  shm_bytes,
  copied_bytes,  // of long messages, from the memory of ranks of this host
  net_packets,   // to ranks of other hosts, by unicast
  net_bytes,
  net_received,
  net_received_bytes,
  retransmitted,
  cast_packets,  // by multicast, to the lanes of this rank
  cast_received,
  cast_repaired,
  cast_missed,
  kCount
};

struct RankPage {
  static constexpr std::uint64_t kMagic = 0x33656761504b6e52;  // changes with the layout
  static constexpr std::uint32_t kWaits = 4;                   // threads that wait at the same time
  std::uint64_t magic;
  std::int32_t pid, rank, size;
  std::array<char, 64> job;
  std::array<char, 64> host;
  std::atomic<RankPhase> phase;
  std::atomic<std::uint32_t> version;  // odd: being written
  std::array<ShownWait, kWaits> waits;
  std::array<std::atomic<std::uint64_t>, static_cast<std::size_t>(RankCounter::kCount)> counters;
  std::atomic<std::uint32_t> wanted;     // a reader adds 1: it wants new counters
  std::atomic<std::uint32_t> served;     // `wanted` when the counters were written
  std::atomic<std::int64_t> counted_ns;  // when that was: CLOCK_MONOTONIC
  // A reader adds 1, before `wanted`: the rank writes its timeline too, if it records one.
  std::atomic<std::uint32_t> timelines_wanted;
};
static_assert(std::is_trivially_copyable_v<ShownWait>);

}  // namespace herald
