/* SPDX-License-Identifier: BSD-3-Clause */
/* check.h: for the C programs in this folder. A program ends with check_finalize(): it adds up the failures
   of all ranks, calls MPI_Finalize, then rank 0 prints "passed" or the count. Its value is main's return
   value. */
#ifndef HERALD_TESTS_CHECK_H
#define HERALD_TESTS_CHECK_H
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int check_failures_;

#define CHECK(condition)                                                                              \
  do {                                                                                                \
    if (!(condition)) {                                                                               \
      int check_rank_ = -1;                                                                           \
      MPI_Comm_rank(MPI_COMM_WORLD, &check_rank_);                                                    \
      if (check_failures_++ < 10)                                                                     \
        fprintf(stderr, "%s:%d: rank %d: failed: %s\n", __FILE__, __LINE__, check_rank_, #condition); \
    }                                                                                                 \
  } while (0)

/* The call must return this error class. */
#define CHECK_CLASS(call, wanted)                                                                      \
  do {                                                                                                 \
    int check_class_ = -1, check_code_ = (call);                                                       \
    MPI_Error_class(check_code_, &check_class_);                                                       \
    if (check_class_ != (wanted)) {                                                                    \
      fprintf(stderr, "%s:%d: %s gave class %d, wanted %s\n", __FILE__, __LINE__, #call, check_class_, \
              #wanted);                                                                                \
      check_failures_++;                                                                               \
    }                                                                                                  \
  } while (0)

#define OK(call) CHECK((call) == MPI_SUCCESS)

static inline int check_finalize(void) {
  int all = check_failures_, rank = 0, size = 1, i;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (rank == 0) {
    for (i = 1; i < size; i++) {
      int one = 0;
      MPI_Recv(&one, 1, MPI_INT, i, 32001, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      all += one;
    }
    for (i = 1; i < size; i++) MPI_Send(&all, 1, MPI_INT, i, 32002, MPI_COMM_WORLD);
  } else {
    MPI_Send(&check_failures_, 1, MPI_INT, 0, 32001, MPI_COMM_WORLD);
    MPI_Recv(&all, 1, MPI_INT, 0, 32002, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Finalize();
  if (rank == 0) printf(all == 0 ? "passed\n" : "failed: %d\n", all);
  return all != 0;
}
#endif
