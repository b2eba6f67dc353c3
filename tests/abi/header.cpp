// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: mpi.h or mpix.h does not compile as C++, or gives warnings. Compiled only.
#include <mpi.h>
#include <mpix.h>

int main() {
  MPI_Comm comm = MPI_COMM_WORLD;
  MPI_Datatype type = MPI_DOUBLE;
  int flag = 0;
  MPI_Initialized(&flag);
  return flag != 0 || MPI_Comm_c2f(comm) == MPI_Type_c2f(type);
}
