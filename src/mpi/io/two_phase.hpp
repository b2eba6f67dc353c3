// SPDX-License-Identifier: BSD-3-Clause
// mpi/io/two_phase.hpp: collective access in two phases: ranks exchange data with the aggregators of the
// file, and those read and write long runs (io/domains.hpp, io/aggregator.hpp).
#pragma once
#include <array>
#include <optional>
#include <vector>

#include "io/aggregator.hpp"
#include "mpi/io/access.hpp"
#include "mpi/io/steps.hpp"

namespace herald::mpi {

// Each rank tells the others this at the begin of a collective access.
struct CollectiveEntry {
  io::RankAccess access;
  std::int64_t buffer_bytes;  // hints: of rank 0 they count
  std::int32_t nodes, quota;  // hints: aggregators in all; on this host
  std::int32_t host;
  io::Choice choice;
  std::uint8_t failed, ordered;
  path::FileSystem system;
};

CollectiveEntry entry_of(Access& access, bool failed) noexcept;
// The same at all ranks.
bool wants_two_phases(const std::vector<CollectiveEntry>& entries) noexcept;

// One access in two phases, at all ranks that want it alike.
//
//   begin -> sizes -> views -> round -> window -> exchange -> draining -> agreeing -> over
//     |  views are known  -----> ^ <-- next window --'  |        ^
//                                                       '- all --'
class TwoPhase {
 public:
  TwoPhase(Access& access, const std::vector<CollectiveEntry>& entries, FileSteps& steps) noexcept;
  TwoPhase(const TwoPhase&) = delete;
  TwoPhase& operator=(const TwoPhase&) = delete;
  ~TwoPhase();

  // True: over.
  bool advance() noexcept;
  const TransferResult& result() const noexcept { return result_; }

 private:
  enum class Phase : std::uint8_t { begin, sizes, views, round, window, exchange, draining, agreeing, over };

  // A window of an aggregator on its way between file and exchange.
  class Window final : public path::FileJob {
   public:
    Window(TwoPhase& owner, io::WindowMemory& memory) noexcept;
    void run() noexcept override;

    io::Scratch& data;  // as it is exchanged
    io::Aggregator aggregator;
    int error = 0;

   private:
    const bool writes_;
  };

  const io::RankAccess& mine() const noexcept { return ranks_[static_cast<std::size_t>(steps_.comm().rank)]; }
  std::vector<std::int64_t> none() const noexcept { return std::vector<std::int64_t>(ranks_.size()); }
  Window& window(std::int64_t round) noexcept { return windows_[static_cast<std::size_t>(round % 2)]; }

  bool lost_a_rank() noexcept;
  void begin() noexcept;
  void exchange_views() noexcept;
  void take_views() noexcept;
  void begin_rounds() noexcept;
  void begin_round() noexcept;
  void exchange() noexcept;
  void end_round() noexcept;
  std::vector<std::int64_t> own_parts() noexcept;
  template <class Move>
  void each_part(Move move) const noexcept;
  std::vector<std::int64_t> open(Window& window, std::int64_t round) noexcept;
  void start(Window& window) noexcept;
  bool await(Window& window) noexcept;

  Access& access_;
  FileState& state_;
  FileSteps& steps_;
  Phase phase_ = Phase::begin;
  std::vector<io::RankAccess> ranks_;
  std::optional<io::Domains> domains_;
  int domain_ = -1;  // of this rank; -1: it is no aggregator
  std::int64_t round_ = 0;
  std::unique_ptr<ExchangeMemory> memory_;
  std::array<Window, 2> windows_;
  std::vector<char> own_view_, sent_views_, views_;
  std::int64_t own_bytes_ = 0;
  io::Scratch& user_;  // the part of this rank, as it is exchanged
  std::vector<io::Positions> positions_;
  std::vector<std::int64_t> own_, aggregated_, sent_, came_;  // bytes by rank
  Failure failure_;
  Agreement agreement_;
  TransferResult result_;
};

}  // namespace herald::mpi
