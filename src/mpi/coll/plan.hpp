// SPDX-License-Identifier: BSD-3-Clause
// mpi/coll/plan.hpp: from a collective call to its plan: found in the cache of the communicator, or made.
#pragma once
#include <vector>

#include "coll/cache.hpp"
#include "coll/check.hpp"
#include "mpi/core/objects.hpp"

namespace herald::mpi {

// The arguments that may differ between two calls with the same plan.
struct CollBinding {
  const void* send = nullptr;
  void* recv = nullptr;
  Op* op = nullptr;  // reductions
  Datatype* datatype = nullptr;
  bool persistent = false;
  coll::Form form = coll::Form::internal;
};

// One call. Its rows of counts are in its key.
struct CollCall {
  struct Rows {
    bool used = false;
    std::size_t at = 0, count = 0;
  };
  coll::CollSpec spec;
  CollBinding binding;
  Rows send_rows, recv_rows;
  std::vector<const type::Layout*> send_layouts, recv_layouts;  // MPI_Alltoallw
};

// Clears the key of a communicator's next call and reserves its head. The rows of counts follow.
coll::Key& new_key(Comm& comm) noexcept;
// Finds or makes the plan; the caller gets a count of it.
coll::CachedPlan* find_plan(Comm& comm, CollCall& call, coll::Key& key) noexcept;

}  // namespace herald::mpi
