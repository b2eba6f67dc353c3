// SPDX-License-Identifier: BSD-3-Clause
// mpi/coll/choice.hpp: which algorithm a collective uses: the one that HERALD_COLL names, else the
// cheapest: by prediction where the cluster was measured (herald model measure), by estimate elsewhere. Knobs
// and measured parameters are the same at every rank of a job, so every rank chooses the same. Where the
// cluster was measured, run times correct the predictions (coll/trials.hpp).
#pragma once
#include "coll/table.hpp"
#include "mpi/coll/state.hpp"

namespace herald::mpi {

// An algorithm that is named but does not fit the call is not used; rank 0 of the first such communicator
// warns, once for each operation. `trial`: that the durations of the next calls belong to; 0: none.
const coll::Algorithm& choose_algorithm(const coll::CollSpec& spec, const coll::Shape& shape, CommColl& state,
                                        coll::Trials::Id& trial) noexcept;

// HERALD_CHECK=collectives.
bool checks_collectives() noexcept;

}  // namespace herald::mpi
