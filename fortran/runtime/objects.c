/* SPDX-License-Identifier: BSD-3-Clause */
/* Sentinels, facts about the Fortran compiler, and the number of neighbors of a rank. */
#include <pthread.h>

#include "herald_fortran.h"

MPI_Fint mpi_fortran_constants_[24] __attribute__((aligned(32)));
char mpi_fortran_strings_[8] __attribute__((aligned(32)));

static pthread_mutex_t tables = PTHREAD_MUTEX_INITIALIZER;
void hf_lock(void) { pthread_mutex_lock(&tables); }
void hf_unlock(void) { pthread_mutex_unlock(&tables); }

int hf_no_memory(void) {
  PMPI_Comm_call_errhandler(MPI_COMM_SELF, MPI_ERR_NO_MEM);
  return MPI_ERR_NO_MEM;
}

int hf_own_error(int* known, int error_class, const char* text) {
  hf_lock();
  if (*known == 0 && PMPI_Add_error_code(error_class, known) == MPI_SUCCESS)
    PMPI_Add_error_string(*known, text);
  const int code = *known == 0 ? error_class : *known;
  hf_unlock();
  PMPI_Comm_call_errhandler(MPI_COMM_SELF, code);
  return code;
}

/* MPICH 5.0 ends a program that sets or asks for the facts before it is initialized, and refuses them later.
 * Its own are those of this compiler. */
static int takes_facts(void) {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  if (PMPI_Get_library_version(text, &length) != MPI_SUCCESS) return 1;
  return strncmp(text, "MPICH", 5) != 0 || strstr(text, " 5.0.") == NULL;
}

static void set_facts(void) {
  static const char* const facts[][2] = {
      {"mpi_logical_size", "4"},
      {"mpi_integer_size", "4"},
      {"mpi_real_size", "4"},
      {"mpi_double_precision_size", "8"},
      {"mpi_logical1_supported", "true"},
      {"mpi_logical2_supported", "true"},
      {"mpi_logical4_supported", "true"},
      {"mpi_logical8_supported", "true"},
      {"mpi_logical16_supported", "true"},
      {"mpi_integer1_supported", "true"},
      {"mpi_integer2_supported", "true"},
      {"mpi_integer4_supported", "true"},
      {"mpi_integer8_supported", "true"},
      {"mpi_integer16_supported", "true"},
      {"mpi_real2_supported", "false"},
      {"mpi_real4_supported", "true"},
      {"mpi_real8_supported", "true"},
      {"mpi_real16_supported", "true"},
      {"mpi_complex4_supported", "false"},
      {"mpi_complex8_supported", "true"},
      {"mpi_complex16_supported", "true"},
      {"mpi_complex32_supported", "true"},
      {"mpi_double_complex_supported", "true"},
  };
  MPI_Info info = MPI_INFO_NULL;
  int is_set = 0;
  MPI_Fint values[2];
  if (!takes_facts()) return;
  /* Another Fortran layer in this process may have set the facts: they can be set once. */
  if (PMPI_Abi_get_fortran_info(&info) == MPI_SUCCESS && info == MPI_INFO_NULL &&
      PMPI_Info_create(&info) == MPI_SUCCESS) {
    for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++)
      PMPI_Info_set(info, facts[i][0], facts[i][1]);
    PMPI_Abi_set_fortran_info(info);
  }
  if (info != MPI_INFO_NULL) PMPI_Info_free(&info);
  if (PMPI_Abi_get_fortran_booleans(sizeof(MPI_Fint), &values[0], &values[1], &is_set) == MPI_SUCCESS &&
      !is_set)
    PMPI_Abi_set_fortran_booleans(sizeof(MPI_Fint), &herald_logicals_[0], &herald_logicals_[1]);
}

void hf_set_facts(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, set_facts);
}

/* The number of counts that an all-to-all has. */
int hf_peers(MPI_Comm comm) {
  int inter = 0;
  int size = 0;
  if (PMPI_Comm_test_inter(comm, &inter) != MPI_SUCCESS) return 0;
  if (inter)
    PMPI_Comm_remote_size(comm, &size);
  else
    PMPI_Comm_size(comm, &size);
  return size;
}

static int graph_neighbors(MPI_Comm comm) {
  int rank = 0;
  int count = 0;
  PMPI_Comm_rank(comm, &rank);
  PMPI_Graph_neighbors_count(comm, rank, &count);
  return count;
}

int hf_neighbors(MPI_Comm comm, int incoming) {
  int topology = MPI_UNDEFINED;
  int in = 0;
  int out = 0;
  int weighted = 0;
  if (PMPI_Topo_test(comm, &topology) != MPI_SUCCESS) return 0;
  if (topology == MPI_CART) {
    PMPI_Cartdim_get(comm, &in);
    in *= 2;
    out = in;
  } else if (topology == MPI_GRAPH) {
    in = out = graph_neighbors(comm);
  } else if (topology == MPI_DIST_GRAPH) {
    PMPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted);
  }
  return incoming ? in : out;
}
