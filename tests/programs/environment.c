/* SPDX-License-Identifier: BSD-3-Clause */
/* The environment. What could go wrong: questions that must be answered before MPI_Init and after
   MPI_Finalize are not; a clock that goes back; memory that is not aligned as asked; a level of threads that
   is not one. */
#include <stdint.h>
#include "check.h"

static void any_time(int initialized, int finalized) {
  int a = -1, b = -1, length = 0;
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  CHECK(MPI_Initialized(&a) == MPI_SUCCESS && !a == !initialized);
  CHECK(MPI_Finalized(&a) == MPI_SUCCESS && !a == !finalized);
  CHECK(MPI_Get_version(&a, &b) == MPI_SUCCESS && a == 5 && b == 0);
  CHECK(MPI_Abi_get_version(&a, &b) == MPI_SUCCESS && a == 1 && b == 0);
  CHECK(MPI_Get_library_version(text, &length) == MPI_SUCCESS);
  CHECK(strncmp(text, "Herald ", 7) == 0 && (int)strlen(text) == length);
  CHECK(MPI_Wtick() > 0 && MPI_Wtick() < 1e-3);
}

static void test_facts(void) {
  char name[MPI_MAX_PROCESSOR_NAME], value[16];
  int length, flag, n, level;
  double before = MPI_Wtime(), after = MPI_Wtime();
  MPI_Info info;
  CHECK(after >= before && before >= 0);
  OK(MPI_Get_processor_name(name, &length));
  CHECK(length > 0 && (int)strlen(name) == length);
  OK(MPI_Query_thread(&level));
  CHECK(level == MPI_THREAD_FUNNELED);
  OK(MPI_Is_thread_main(&flag));
  CHECK(flag);
  OK(MPI_Abi_get_info(&info));
  length = 16;
  OK(MPI_Info_get_string(info, "mpi_aint_size", &length, value, &flag));
  CHECK(flag && atoi(value) == (int)sizeof(MPI_Aint));
  length = 16;
  OK(MPI_Info_get_string(info, "mpi_count_size", &length, value, &flag));
  CHECK(flag && atoi(value) == (int)sizeof(MPI_Count));
  length = 16;
  OK(MPI_Info_get_string(info, "mpi_offset_size", &length, value, &flag));
  CHECK(flag && atoi(value) == (int)sizeof(MPI_Offset));
  OK(MPI_Info_free(&info));
  OK(MPI_Get_hw_resource_info(&info));
  OK(MPI_Info_get_nkeys(info, &n));
  CHECK(n >= 4);
  length = 16;
  OK(MPI_Info_get_string(info, "package", &length, value, &flag));
  CHECK(flag && (strcmp(value, "true") == 0 || strcmp(value, "false") == 0));
  OK(MPI_Info_free(&info));
}

static void test_fortran(void) {
  int32_t yes = 1, no = 0, got_yes = 7, got_no = 7;
  int set = 1, flag, length = 16;
  char value[16];
  MPI_Info info;
  OK(MPI_Abi_get_fortran_booleans(4, &got_yes, &got_no, &set));
  CHECK(!set);
  OK(MPI_Abi_set_fortran_booleans(4, &yes, &no));
  OK(MPI_Abi_get_fortran_booleans(4, &got_yes, &got_no, &set));
  CHECK(set && got_yes == 1 && got_no == 0);
  CHECK_CLASS(MPI_Abi_set_fortran_booleans(4, &yes, &no), MPI_ERR_ABI);
  CHECK_CLASS(MPI_Abi_set_fortran_booleans(3, &yes, &no), MPI_ERR_ARG);
  OK(MPI_Abi_get_fortran_info(&info));
  CHECK(info == MPI_INFO_NULL);
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "mpi_logical_size", "4"));
  OK(MPI_Abi_set_fortran_info(info));
  CHECK_CLASS(MPI_Abi_set_fortran_info(info), MPI_ERR_ABI);
  OK(MPI_Info_free(&info));
  OK(MPI_Abi_get_fortran_info(&info));
  OK(MPI_Info_get_string(info, "mpi_logical_size", &length, value, &flag));
  CHECK(flag && strcmp(value, "4") == 0);
  OK(MPI_Info_free(&info));
}

static void test_memory(void) {
  MPI_Info info;
  void *memory = NULL, *none = NULL;
  char stranger;
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "mpi_minimum_memory_alignment", "4096"));
  OK(MPI_Alloc_mem(100, info, &memory));
  CHECK(memory != NULL && (uintptr_t)memory % 4096 == 0);
  memset(memory, 1, 100);
  OK(MPI_Free_mem(memory));
  CHECK_CLASS(MPI_Free_mem(memory), MPI_ERR_BASE);
  CHECK_CLASS(MPI_Free_mem(&stranger), MPI_ERR_BASE);
  OK(MPI_Alloc_mem(0, MPI_INFO_NULL, &none));
  OK(MPI_Free_mem(none));
  CHECK_CLASS(MPI_Alloc_mem(-1, MPI_INFO_NULL, &memory), MPI_ERR_SIZE);
  CHECK_CLASS(MPI_Alloc_mem((MPI_Aint)1 << 60, MPI_INFO_NULL, &memory), MPI_ERR_NO_MEM);
  OK(MPI_Info_free(&info));
}

int main(void) {
  int failed, provided = -1;
  any_time(0, 0);
  MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided);
  CHECK(provided == MPI_THREAD_FUNNELED);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  any_time(1, 0);
  test_facts();
  test_fortran();
  test_memory();
  CHECK_CLASS(MPI_Init(NULL, NULL), MPI_ERR_OTHER);
  failed = check_finalize();
  any_time(1, 1);
  return failed || check_failures_ != 0;
}
