// SPDX-License-Identifier: BSD-3-Clause
// mpi/coll/state.hpp: what a communicator has of collectives, made at its first one.
#pragma once
#include "coll/cache.hpp"
#include "coll/trials.hpp"
#include "exec/team.hpp"
#include "mpi/coll/call_cache.hpp"
#include "mpi/core/objects.hpp"

namespace herald::mpi {

struct CommColl : coll::CommState {
  explicit CommColl(Comm& comm) noexcept;
  exec::Team team;
  CallCache call_cache;
  coll::Trials trials;

  // Algorithms are chosen anew, at all ranks from the same call on.
  void drop_plans() noexcept {
    plans.clear();
    call_cache.clear();
    trials.clear();
  }
};

CommColl& make_coll_state(Comm& comm) noexcept;
inline CommColl& coll_state(Comm& comm) noexcept {
  return comm.coll ? static_cast<CommColl&>(*comm.coll) : make_coll_state(comm);
}

// At the start of a collective: the ranks begin to agree on a collective segment if it is time. `waits`: the
// call goes on when they have agreed.
void begin_agreement(Comm& comm, CommColl& state) noexcept;
inline void consider_segment(Comm& comm, bool persistent, bool waits) noexcept {
  CommColl& state = coll_state(comm);
  if (state.team.wants_segment(persistent)) begin_agreement(comm, state);
  if (waits && state.team.agreeing()) state.team.await_agreement();
}

}  // namespace herald::mpi
