/* SPDX-License-Identifier: BSD-3-Clause */
/* Wrappers written by hand: strings whose length is an argument, spawning, Cartesian subgroups. */
#include "herald_fortran.h"

void HF(info_get)(MPI_Fint* info, char* key, MPI_Fint* valuelen, char* value, MPI_Fint* flag,
                  MPI_Fint* ierror, size_t key_length, size_t value_length) {
  char found[MPI_MAX_INFO_VAL + 1];
  int is_set = 0;
  int most = *valuelen < MPI_MAX_INFO_VAL ? *valuelen : MPI_MAX_INFO_VAL;
  HF_INFO_STRING(c_key, key, key_length)
  *ierror = HF_C(Info_get)(hf_info_in(*info), c_key, most, found, &is_set);
  if (*ierror == MPI_SUCCESS) {
    *flag = hf_logical(is_set);
    if (is_set) hf_pad(value, value_length, found);
  }
  HF_ARRAY_END(c_key);
}
HF_EXPORT(info_get);

/* The length of C includes the zero at the end, that of Fortran does not. */
void HF(info_get_string)(MPI_Fint* info, char* key, MPI_Fint* buflen, char* value, MPI_Fint* flag,
                         MPI_Fint* ierror, size_t key_length, size_t value_length) {
  char found[MPI_MAX_INFO_VAL + 1];
  int is_set = 0;
  int room = *buflen > 0 ? (*buflen < MPI_MAX_INFO_VAL ? *buflen : MPI_MAX_INFO_VAL) + 1 : 0;
  const int asked = room > 0;
  HF_INFO_STRING(c_key, key, key_length)
  *ierror = HF_C(Info_get_string)(hf_info_in(*info), c_key, &room, found, &is_set);
  if (*ierror == MPI_SUCCESS) {
    *flag = hf_logical(is_set);
    if (is_set && asked) hf_pad(value, value_length, found);
    if (is_set) *buflen = room - 1;
  }
  HF_ARRAY_END(c_key);
}
HF_EXPORT(info_get_string);

void HF(session_get_nth_pset)(MPI_Fint* session, MPI_Fint* info, MPI_Fint* n, MPI_Fint* pset_len,
                              char* pset_name, MPI_Fint* ierror, size_t name_length) {
  char found[MPI_MAX_PSET_NAME_LEN + 1];
  int room = *pset_len > 0 ? (*pset_len < MPI_MAX_PSET_NAME_LEN ? *pset_len : MPI_MAX_PSET_NAME_LEN) + 1 : 0;
  const int asked = room > 0;
  *ierror = HF_C(Session_get_nth_pset)(hf_session_in(*session), hf_info_in(*info), *n, &room, found);
  if (*ierror != MPI_SUCCESS) return;
  if (asked) hf_pad(pset_name, name_length, found);
  *pset_len = room > 0 ? room - 1 : 0;
}
HF_EXPORT(session_get_nth_pset);

void HF(cart_sub)(MPI_Fint* comm, MPI_Fint* remain_dims, MPI_Fint* newcomm, MPI_Fint* ierror) {
  MPI_Comm made = MPI_COMM_NULL;
  int dims = 0;
  *ierror = PMPI_Cartdim_get(hf_comm_in(*comm), &dims);
  if (*ierror != MPI_SUCCESS) return;
  HF_ARRAY(int, remain, (size_t)dims)
  for (int i = 0; i < dims; i++) remain[i] = hf_is_true(remain_dims[i]);
  *ierror = HF_C(Cart_sub)(hf_comm_in(*comm), remain, &made);
  if (*ierror == MPI_SUCCESS) *newcomm = hf_comm_out(made);
  HF_ARRAY_END(remain);
}
HF_EXPORT(cart_sub);

static int* errcodes_of(MPI_Fint* f) {
  return f == mpi_fortran_constants_ + kErrcodesIgnore ? MPI_ERRCODES_IGNORE : f;
}
static int is_root(MPI_Comm comm, int root) {
  int rank = -1;
  return PMPI_Comm_rank(comm, &rank) == MPI_SUCCESS && rank == root;
}

/* Strings, infos and counts are significant at the root only. */
void HF(comm_spawn)(char* command, char* argv, MPI_Fint* maxprocs, MPI_Fint* info, MPI_Fint* root,
                    MPI_Fint* comm, MPI_Fint* intercomm, MPI_Fint* errcodes, MPI_Fint* ierror,
                    size_t command_length, size_t argv_length) {
  MPI_Comm made = MPI_COMM_NULL;
  const MPI_Comm c_comm = hf_comm_in(*comm);
  const int at_root = is_root(c_comm, *root);
  char** c_argv = NULL;
  HF_STRING(c_command, command, at_root ? command_length : 0)
  if (at_root && argv != mpi_fortran_strings_) c_argv = hf_make_argv(argv, argv_length, argv_length);
  *ierror = HF_C(Comm_spawn)(c_command, c_argv, at_root ? *maxprocs : 0,
                             at_root ? hf_info_in(*info) : MPI_INFO_NULL, *root, c_comm, &made,
                             errcodes_of(errcodes));
  if (*ierror == MPI_SUCCESS) *intercomm = hf_comm_out(made);
  hf_free_argv(c_argv);
  HF_ARRAY_END(c_command);
}
HF_EXPORT(comm_spawn);

/* array_of_argv(count, *): the arguments of one command are `count` strings apart. */
static char*** make_argvs(char* argvs, size_t count, size_t length) {
  char*** made = calloc(count + 1, sizeof(char**));
  for (size_t i = 0; made != NULL && i < count; i++)
    made[i] = hf_make_argv(argvs + i * length, count * length, length);
  return made;
}

void HF(comm_spawn_multiple)(MPI_Fint* count, char* commands, char* argvs, MPI_Fint* maxprocs,
                             MPI_Fint* infos, MPI_Fint* root, MPI_Fint* comm, MPI_Fint* intercomm,
                             MPI_Fint* errcodes, MPI_Fint* ierror, size_t command_length,
                             size_t argv_length) {
  MPI_Comm made = MPI_COMM_NULL;
  const MPI_Comm c_comm = hf_comm_in(*comm);
  const size_t n = is_root(c_comm, *root) ? hf_length(*count) : 0;
  char*** c_argvs = NULL;
  HF_ARRAY(char*, c_commands, n)
  HF_ARRAY(MPI_Info, c_infos, n)
  for (size_t i = 0; i < n; i++) {
    char* few = malloc(kShortString);
    c_commands[i] = few != NULL ? hf_trim(few, commands + i * command_length, command_length, 0) : NULL;
    if (c_commands[i] != few) free(few);
    c_infos[i] = hf_info_in(infos[i]);
  }
  if (n > 0 && argvs != mpi_fortran_strings_ + 1) c_argvs = make_argvs(argvs, n, argv_length);
  *ierror = HF_C(Comm_spawn_multiple)((int)n, c_commands, c_argvs, maxprocs, c_infos, *root, c_comm, &made,
                                      errcodes_of(errcodes));
  if (*ierror == MPI_SUCCESS) *intercomm = hf_comm_out(made);
  for (size_t i = 0; i < n; i++) {
    if (c_argvs != NULL) hf_free_argv(c_argvs[i]);
    free(c_commands[i]);
  }
  free(c_argvs);
  HF_ARRAY_END(c_commands);
  HF_ARRAY_END(c_infos);
}
HF_EXPORT(comm_spawn_multiple);
