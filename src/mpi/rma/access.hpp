// SPDX-License-Identifier: BSD-3-Clause
// mpi/rma/access.hpp: one operation on the memory of a rank: its arguments, its checks, its route.
#pragma once
#include "mpi/rma/window.hpp"

namespace herald::mpi {

// A buffer of this process.
struct OriginBuffer {
  const void* address = nullptr;
  MPI_Count count = 0;
  Datatype* type = nullptr;
  type::Cursor cursor() const noexcept {
    return type == nullptr || count == 0 ? type::Cursor()
                                         : type::Cursor(*type->layout, const_cast<void*>(address), count);
  }
};

// Number and name of the arguments of one call, for its errors.
struct AccessArgs {
  Arg data, result, target, disp;
};

struct Access {
  wire::RmaKind kind;
  OriginBuffer data;     // sent; of compare_swap the new value
  OriginBuffer result;   // received
  const void* compared;  // compare_swap
  int target;
  const AccessArgs* args;
  MPI_Aint disp;
  MPI_Count count;
  Datatype* type;
  Op* op;
  Win* win;
  MPI_Request* request;  // null: none is wanted
};

// Checks and starts an access of any kind; returns what the entry point returns.
int run_access(Call& call, const Access& access) noexcept;

}  // namespace herald::mpi
