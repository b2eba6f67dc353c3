// SPDX-License-Identifier: BSD-3-Clause
// sim/job/one_sided.hpp: one-sided communication of a simulated process: a window of rma/, whose memory all
// processes access in epochs of MPI_Win_lock, and what a serial program would have left there.
// In:  epochs of the script. Out: service calls by the node; results for the checker.
#pragma once
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "p2p/core.hpp"
#include "rma/endpoint.hpp"
#include "sim/job/active_target.hpp"
#include "sim/job/script.hpp"
#include "sim/net/transit.hpp"

namespace herald::sim {

// Words of the window of each process: counters that all update, a word that is read and written under an
// exclusive lock, and for each process a range that it alone writes.
struct WindowLayout {
  static constexpr std::uint64_t kCounters = 8, kUpdated = 8, kRanges = 16;
  explicit WindowLayout(std::size_t count) noexcept : processes(count), range(count < 16 ? 4096 : 64) {}
  std::uint64_t range_of(std::int32_t process) const noexcept {
    return kRanges + static_cast<std::uint64_t>(process) * range;
  }
  std::uint64_t words() const noexcept { return kRanges + processes * range; }
  std::size_t processes;
  std::uint64_t range;  // words
};

class OneSided {
 public:
  using Words = std::vector<std::int64_t>;
  struct Fetched {
    std::int32_t target;
    std::uint64_t counter;
    std::int64_t before;
  };

  OneSided(const Script& script, HostId me, std::uint64_t seed, p2p::Core& core);
  OneSided(const OneSided&) = delete;
  OneSided& operator=(const OneSided&) = delete;

  // Epochs on the same target follow each other.
  void start(std::uint32_t index);
  bool advance();  // true if an epoch went on
  std::uint64_t pending() const noexcept { return pending_ + (active_.is_pending() ? 1 : 0); }
  ActiveTarget& active() noexcept { return active_; }
  const ActiveTarget& active() const noexcept { return active_; }

  const Words& memory() const noexcept { return memory_; }
  const std::vector<Fetched>& fetched() const noexcept { return fetched_; }
  const Words& written_to(std::int32_t target) const { return written_[static_cast<std::size_t>(target)]; }
  // Epochs whose target has gone, and ranges that were read back wrong.
  std::uint64_t lost() const noexcept { return lost_; }
  const std::vector<std::string>& wrong() const noexcept { return wrong_; }
  std::string state() const;

 private:
  struct Epoch {
    std::uint32_t index = 0;
    bool unlocked = false;
    std::deque<Words> buffers;
    Words back;                                                  // read by the epoch
    std::vector<std::pair<std::uint64_t, std::size_t>> fetches;  // counter, buffer
  };
  const EpochSpec& spec_of(const Epoch& epoch) const { return script_.epochs[epoch.index]; }
  void begin(Epoch& epoch);
  void count(Epoch& epoch, Prng& chance);
  void write(Epoch& epoch, Prng& chance);
  void operate(const EpochSpec& spec, wire::RmaKind kind, op::Kind op, Words* data, Words* result,
               std::uint64_t at, std::uint64_t words);
  bool advance(Epoch& epoch);
  void end(Epoch& epoch);

  const Script& script_;
  const std::uint64_t seed_;
  p2p::Core& core_;
  const WindowLayout layout_;
  Words memory_;
  rma::Endpoint endpoint_;
  rma::Window window_;
  ActiveTarget active_;
  std::vector<std::deque<Epoch>> epochs_;  // by target; the first is open
  std::vector<Words> written_;             // by target: what this process wrote there, serially
  std::vector<Fetched> fetched_;
  std::vector<std::string> wrong_;
  std::uint64_t pending_ = 0, lost_ = 0;
};

// Updates of a counter by one epoch; the same at the origin and in the checker.
std::vector<std::uint64_t> counters_of(const EpochSpec& spec, std::uint64_t seed, std::uint32_t index);
// Puts epochs between the steps of the script. `exclusive`: some hold the lock alone.
void add_epochs(Script& script, bool exclusive, Prng& chance);
// Likewise epochs of active target, of small jobs.
void add_active_epochs(Script& script, Prng& chance);

}  // namespace herald::sim
