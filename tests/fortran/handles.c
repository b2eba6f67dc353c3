/* SPDX-License-Identifier: BSD-3-Clause */
/* The C half of module.f90 and statuses.f90: handles, statuses and attributes of one language in the other.
 */
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

static int is_expected(const MPI_Status* status) {
  int elements = 0;
  int cancelled = 0;
  MPI_Get_elements(status, MPI_INTEGER, &elements);
  MPI_Test_cancelled(status, &cancelled);
  return status->MPI_SOURCE == 3 && status->MPI_TAG == 4 && elements == 5 && cancelled;
}

/* Each returns 0 if the status arrives in C, and goes to the other Fortran type and back. */
int f_status_in_c(const MPI_Fint* f_status) {
  MPI_Status status;
  MPI_Status back;
  MPI_F08_status typed;
  MPI_Status_f2c(f_status, &status);
  MPI_Status_f2f08(f_status, &typed);
  MPI_Status_f082c(&typed, &back);
  return !is_expected(&status) || !is_expected(&back);
}

int f08_status_in_c(const MPI_F08_status* typed) {
  MPI_Status status;
  MPI_Status back;
  MPI_Fint f_status[MPI_F_STATUS_SIZE];
  MPI_Status_f082c(typed, &status);
  MPI_Status_f082f(typed, f_status);
  MPI_Status_f2c(f_status, &back);
  return !is_expected(&status) || !is_expected(&back);
}

void statuses_of_c(MPI_Fint* f_status, MPI_F08_status* typed) {
  MPI_Status status;
  MPI_Status_set_source(&status, 3);
  MPI_Status_set_tag(&status, 4);
  MPI_Status_set_error(&status, MPI_ERR_TRUNCATE);
  MPI_Status_set_elements(&status, MPI_INTEGER, 5);
  MPI_Status_set_cancelled(&status, 1);
  MPI_Status_c2f(&status, f_status);
  MPI_Status_c2f08(&status, typed);
}
