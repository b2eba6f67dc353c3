// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/coll/state.hpp"

#include "mpi/core/runtime.hpp"

namespace herald::mpi {

CommColl::CommColl(Comm& comm) noexcept
    : team(runtime().engine(), runtime().knobs(),
           {comm.context | kCollective, comm.rank, comm.group->peers, comm.context}) {}

CommColl& make_coll_state(Comm& comm) noexcept {
  comm.coll = std::make_shared<CommColl>(comm);
  return static_cast<CommColl&>(*comm.coll);
}

void begin_agreement(Comm& comm, CommColl& state) noexcept {
  retain(&comm);
  // From the end of the agreement on algorithms are chosen by more facts. Which of the older plans are still
  // cached differs from rank to rank, so a rank that found one would not match a rank that makes it anew.
  const auto drop_plans = [](void* self) { static_cast<CommColl*>(self)->drop_plans(); };
  const auto release_comm = [](void* self) { release(static_cast<Comm*>(self)); };
  state.team.agree_on_segment({drop_plans, &state}, {release_comm, &comm});
}

}  // namespace herald::mpi
