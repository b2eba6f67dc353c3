// SPDX-License-Identifier: BSD-3-Clause
// mpi/core/check.hpp: checks of arguments that are no handles. A check that does not hold fails the call.
#pragma once
#include "mpi/core/call.hpp"

namespace herald::mpi {

void bad_value(Call& call, Arg arg, int error_class, MPI_Count value) noexcept;
void bad_rank(Call& call, Arg arg, int error_class, int rank, const Comm& comm, bool wildcard) noexcept;
void bad_tag(Call& call, Arg arg, int value, bool wildcard) noexcept;
void not_committed(Call& call, Arg arg) noexcept;
void null_buffer(Call& call, const Datatype& datatype, Arg arg) noexcept;
void null_pointer(Call& call, Arg arg) noexcept;
void too_large(Call& call, MPI_Count elements, Arg arg) noexcept;

inline void check_count(Call& call, MPI_Count value, Arg arg) noexcept {
  if (value < 0) [[unlikely]]
    bad_value(call, arg, MPI_ERR_COUNT, value);
}
inline void check_length(Call& call, MPI_Count value, Arg arg) noexcept {
  if (value < 0) [[unlikely]]
    bad_value(call, arg, MPI_ERR_ARG, value);
}
inline void check_disp(Call& call, MPI_Aint value, Arg arg) noexcept {
  if (value < 0) [[unlikely]]
    bad_value(call, arg, MPI_ERR_DISP, value);
}
inline void check_dest(Call& call, int rank, const Comm* comm, Arg arg) noexcept {
  if (comm != nullptr && !comm->names(rank) && rank != MPI_PROC_NULL) [[unlikely]]
    bad_rank(call, arg, MPI_ERR_RANK, rank, *comm, false);
}
inline void check_source(Call& call, int rank, const Comm* comm, Arg arg) noexcept {
  if (comm != nullptr && !comm->names(rank) && rank != MPI_PROC_NULL && rank != MPI_ANY_SOURCE) [[unlikely]]
    bad_rank(call, arg, MPI_ERR_RANK, rank, *comm, true);
}
inline void check_root(Call& call, int rank, const Comm* comm, Arg arg) noexcept {
  if (comm != nullptr && !comm->names(rank) && !comm->has_own_roots(rank)) [[unlikely]]
    bad_rank(call, arg, MPI_ERR_ROOT, rank, *comm, false);
}
inline void check_tag(Call& call, int value, Arg arg) noexcept {
  if (value < 0) [[unlikely]]
    bad_tag(call, arg, value, false);
}
inline void check_recv_tag(Call& call, int value, Arg arg) noexcept {
  if (value < 0 && value != MPI_ANY_TAG) [[unlikely]]
    bad_tag(call, arg, value, true);
}
inline void check_buffer(Call& call, const void* address, MPI_Count elements, const Datatype* datatype,
                         Arg arg) noexcept {
  if (datatype == nullptr) [[unlikely]]
    return;
  const type::Layout& layout = *datatype->layout;
  if ((elements | layout.size() | layout.extent()) >> 31 != 0 && !layout.fits(elements)) [[unlikely]]
    too_large(call, elements, arg);
  if (address == nullptr && elements > 0) [[unlikely]]
    null_buffer(call, *datatype, arg);
}
template <class T>  // an object or a function
void check_pointer(Call& call, T* address, Arg arg) noexcept {
  if (address == nullptr) [[unlikely]]
    null_pointer(call, arg);
}

inline Datatype* committed(Call& call, MPI_Datatype handle, Arg arg) noexcept {
  Datatype* object = call.object(handle, arg);
  if (object != nullptr && !object->committed) not_committed(call, arg);
  return object;
}
// No data moves to or from MPI_PROC_NULL: any datatype is allowed there, the null one too.
inline Datatype* committed_for(Call& call, int rank, MPI_Datatype handle, Arg arg) noexcept {
  if (rank == MPI_PROC_NULL && find(handle) == nullptr) [[unlikely]]
    return find(MPI_BYTE);
  return committed(call, handle, arg);
}

}  // namespace herald::mpi
