// SPDX-License-Identifier: BSD-3-Clause
// mpi/io/collective.hpp: one collective data access: where each rank begins, and the choice between two
// phases and each rank for itself. Ranks with a wrong argument take part, so that no other rank waits.
//
//   begin -> counting -> pointing -> telling -> comparing -> two_phases ------------> over
//     '- not ordered ---------------------------^   '- locking -> moving -> agreeing -^
#pragma once
#include <optional>
#include <vector>

#include "mpi/io/access.hpp"
#include "mpi/io/atomic_lock.hpp"
#include "mpi/io/two_phase.hpp"

namespace herald::mpi {

class CollectiveAccess final : private path::FileJob {
 public:
  // `ordered`: by the shared pointer, in the order of ranks.
  CollectiveAccess(const Transfer& transfer, bool ordered, bool in_background) noexcept;
  ~CollectiveAccess() override;

  // True: over. A blocking call is over at once.
  bool advance() noexcept;
  const TransferResult& result() const noexcept { return result_; }

 private:
  enum class Phase : std::uint8_t {
    begin,
    counting,
    pointing,
    telling,
    comparing,
    two_phases,
    locking,
    moving,
    agreeing,
    over
  };
  struct Start {
    MPI_Offset base = 0;
    std::int32_t error_class = MPI_SUCCESS, unused = 0;
  };

  bool alone() const noexcept { return steps_.comm().size == 1; }
  void begin() noexcept;
  void count() noexcept;
  bool point() noexcept;
  void place() noexcept;
  void compare() noexcept;
  void choose() noexcept;
  bool lock() noexcept;
  void run() noexcept override { outcome_ = access_.transfer(); }
  void moved() noexcept;
  void agree(TransferResult result) noexcept;

  Access access_;
  FileState& state_;
  FileSteps steps_;
  const bool ordered_;
  Phase phase_ = Phase::begin;
  Failure mine_;  // of this rank so far
  // ordered
  std::vector<MPI_Offset> parts_;  // in etypes, by rank
  MPI_Offset own_ = 0, before_ = 0, all_ = 0;
  io::Question pointer_;
  Start start_;
  // two phases
  CollectiveEntry entry_{};
  std::vector<CollectiveEntry> entries_;
  std::optional<TwoPhase> two_phase_;
  // each rank for itself
  AtomicLock lock_;
  io::Outcome outcome_;
  Agreement agreement_;
  TransferResult result_;
};

}  // namespace herald::mpi
