/* SPDX-License-Identifier: BSD-3-Clause */
/* The C half of module.f90: handles, statuses and attributes of one language in the other. */
#include <malloc.h>
#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

int size_in_c(int comm) {
  int size = -1;
  MPI_Comm_size(MPI_Comm_f2c(comm), &size);
  return size;
}

int self_made_in_c(void) {
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_SELF, &made);
  return MPI_Comm_c2f(made);
}

void status_in_c(const int* f_status, int* source, int* tag) {
  MPI_Status status;
  MPI_Status_f2c(f_status, &status);
  *source = status.MPI_SOURCE;
  *tag = status.MPI_TAG;
}

/* C gets the address of an attribute that Fortran has set. */
intptr_t attribute_in_c(int comm, int keyval) {
  MPI_Aint* value = NULL;
  int is_set = 0;
  MPI_Comm_get_attr(MPI_Comm_f2c(comm), keyval, &value, &is_set);
  return is_set ? *value : -1;
}

void set_attribute_in_c(int comm, int keyval, void* value) {
  MPI_Comm_set_attr(MPI_Comm_f2c(comm), keyval, value);
}

size_t heap_bytes(void) { return mallinfo2().uordblks; }
