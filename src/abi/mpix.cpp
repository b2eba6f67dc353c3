// SPDX-License-Identifier: BSD-3-Clause
// abi/mpix.cpp: entry points of mpix.h that are not inline. A hint must not disturb the program: it calls no
// error handler, and does nothing before MPI_Init and after MPI_Finalize.
#include "mpix.h"

#include "mpi/coll/prepare.hpp"

using herald::mpi::Call;
using herald::mpi::Counts;
using herald::mpi::When;

namespace {

Counts counts_of(const void* array, int flags) noexcept {
  return (flags & MPIX_PLAN_LARGE) != 0 ? Counts(static_cast<const std::int64_t*>(array))
                                        : Counts(static_cast<const int*>(array));
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) int MPIX_Plan_prepare(
    int operation, MPI_Comm comm, int root, MPI_Op op, int flags, MPI_Count sendcount, const void* sendcounts,
    const void* sdispls, MPI_Datatype sendtype, const MPI_Datatype sendtypes[], MPI_Count recvcount,
    const void* recvcounts, const void* rdispls, MPI_Datatype recvtype, const MPI_Datatype recvtypes[]) {
  Call call("MPIX_Plan_prepare", When::live, (flags & MPIX_PLAN_LARGE) != 0);
  if (call.failed()) return call.error();
  const herald::mpi::Hint hint{
      .operation = operation,
      .root = root,
      .in_place = (flags & MPIX_PLAN_IN_PLACE) != 0,
      .op = op,
      .send = {sendcount, counts_of(sendcounts, flags), counts_of(sdispls, flags), sendtype, sendtypes},
      .recv = {recvcount, counts_of(recvcounts, flags), counts_of(rdispls, flags), recvtype, recvtypes}};
  return prepare(call, comm, hint);
}

__attribute__((visibility("default"))) int MPIX_Plan_release(int operation, MPI_Comm comm) {
  Call call("MPIX_Plan_release", When::live, false);
  if (call.failed()) return call.error();
  return herald::mpi::release_prepared(call, comm, operation);
}

}  // extern "C"
