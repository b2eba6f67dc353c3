// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/coll/feedback.hpp"

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "coll/explain.hpp"
#include "mpi/coll/internal.hpp"
#include "mpi/coll/state.hpp"
#include "mpi/core/runtime.hpp"

namespace herald::mpi {
namespace {

// After a long call the ranks may agree how fast their network is. True: algorithms are to be chosen anew.
bool note_speed(Comm& comm, Duration took, std::uint64_t bytes) noexcept {
  CommColl& state = coll_state(comm);
  exec::Speed& speed = state.team.speed;
  if (!speed.on_run(took, bytes)) return false;
  std::vector<exec::Speed::Rates> rates(static_cast<std::size_t>(comm.size));
  const std::uint64_t rate = speed.rate(), before = speed.link_rate();
  std::vector<std::byte> probe;
  do {
    if (!probe.empty() && bcast_bytes(comm, probe.data(), probe.size(), 0) != MPI_SUCCESS) return false;
    const exec::Speed::Rates own{rate, state.team.proven_rate(), state.team.uplink_rate()};
    if (allgather_bytes(comm, &own, rates.data(), sizeof own) != MPI_SUCCESS) return false;
    probe.resize(speed.compare(rates));
  } while (!probe.empty() && state.team.cluster().lane);
  return speed.is_fast() || speed.link_rate() != before;
}

// HERALD_EXPLAIN=1
void explain(const Comm& comm, const coll::Trials::Kind& kind, const coll::Trial& trial) noexcept {
  std::string text = "herald: " + std::string(name_of(kind.op)) + " of " + std::to_string(kind.bytes) +
                     " bytes on " + std::to_string(comm.size) + " ranks was tried:";
  for (const coll::Trial::Candidate& each : trial.candidates()) {
    if (each.measured_ns == 0) continue;
    char times[96];
    std::snprintf(times, sizeof times, " %s %.1f us (predicted %.1f),", each.algorithm->name,
                  each.measured_ns / 1000, each.predicted_ns / 1000);
    text += times;
  }
  text += " " + std::string(trial.current().name) + " from now on\n";
  (void)std::fputs(text.c_str(), stderr);
}

void note_trial(Comm& comm, Duration took, coll::Trials::Id id) noexcept {
  CommColl& state = coll_state(comm);
  coll::Trial* trial = state.trials.find(id);
  if (trial == nullptr || !trial->on_run(took)) return;
  const double own = trial->own_ns();
  std::vector<double> all(static_cast<std::size_t>(comm.size));
  if (allgather_bytes(comm, &own, all.data(), sizeof own) != MPI_SUCCESS) return;
  trial = state.trials.find(id);  // the exchange may have ended or moved it
  if (trial == nullptr) return;
  trial->compare(*std::max_element(all.begin(), all.end()));
  state.plans.drop_trial(id);
  state.call_cache.drop_trial(id);
  if (!trial->is_settled()) return;
  const coll::Trials::Kind& kind = state.trials.kind_of(id);
  state.team.note_tried(kind.op, kind.bytes, trial->current());
  if (runtime().knobs().explain != 0 && comm.rank == 0) [[unlikely]]
    explain(comm, kind, *trial);
}

}  // namespace

void note_run(Comm& comm, Duration took, const Timed& timed) noexcept {
  if (timed.trial != 0) note_trial(comm, took, timed.trial);
  if (timed.bytes != 0 && note_speed(comm, took, timed.bytes)) coll_state(comm).drop_plans();
}

}  // namespace herald::mpi
