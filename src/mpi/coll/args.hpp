// SPDX-License-Identifier: BSD-3-Clause
// mpi/coll/args.hpp: the buffer arguments that collectives have in common, with the numbers and names that
// errors give them: the send side comes first in every list, the receive side at `at`.
#pragma once
#include "mpi/coll/caller.hpp"

namespace herald::mpi {

inline Data sent(const void* buffer, MPI_Count count, Datatype* type) noexcept {
  return {buffer, {1, "sendbuf"}, count, {2, "sendcount"}, type, {3, "sendtype"}};
}
inline Data received(const void* buffer, MPI_Count count, Datatype* type, int at) noexcept {
  return {buffer, {at, "recvbuf"}, count, {at + 1, "recvcount"}, type, {at + 2, "recvtype"}};
}

// Displacements are named after their side only where both sides have them.
inline DataV sent(const void* buffer, Counts counts, Counts places, Arg places_arg, Datatype* type) noexcept {
  return {buffer, {1, "sendbuf"}, counts, {2, "sendcounts"}, places, places_arg, type, {4, "sendtype"}};
}
inline DataV received(const void* buffer, Counts counts, Counts places, Arg places_arg,
                      Datatype* type) noexcept {
  const int at = places_arg.number - 2;
  return {buffer, {at, "recvbuf"}, counts, {at + 1, "recvcounts"},
          places, places_arg,      type,   {at + 3, "recvtype"}};
}

inline DataW sent(const void* buffer, Counts counts, Counts places, const MPI_Datatype* types) noexcept {
  return {buffer, {1, "sendbuf"}, counts, {2, "sendcounts"}, places, {3, "sdispls"}, types, {4, "sendtypes"}};
}
inline DataW received(const void* buffer, Counts counts, Counts places, const MPI_Datatype* types) noexcept {
  return {buffer, {5, "recvbuf"}, counts, {6, "recvcounts"}, places, {7, "rdispls"}, types, {8, "recvtypes"}};
}

}  // namespace herald::mpi
