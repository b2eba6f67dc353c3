/* SPDX-License-Identifier: BSD-3-Clause */
/* Wrappers written by hand: start, attributes, strings with their own rules, spawning. */
#include "herald_fortran.h"

void HF(init)(MPI_Fint* ierror) {
  hf_set_facts();
  *ierror = HF_C(Init)(NULL, NULL);
}
HF_EXPORT(init);

void HF(init_thread)(MPI_Fint* required, MPI_Fint* provided, MPI_Fint* ierror) {
  hf_set_facts();
  *ierror = HF_C(Init_thread)(NULL, NULL, *required, provided);
}
HF_EXPORT(init_thread);

void HF(session_init)(MPI_Fint* info, MPI_Fint* errhandler, MPI_Fint* session, MPI_Fint* ierror) {
  MPI_Session made = MPI_SESSION_NULL;
  hf_set_facts();
  *ierror = HF_C(Session_init)(hf_info_in(*info), hf_errhandler_in(*errhandler), &made);
  if (*ierror == MPI_SUCCESS) *session = hf_session_out(made);
}
HF_EXPORT(session_init);

void HF(info_create_env)(MPI_Fint* info, MPI_Fint* ierror) {
  MPI_Info made = MPI_INFO_NULL;
  *ierror = HF_C(Info_create_env)(0, NULL, &made);
  if (*ierror == MPI_SUCCESS) *info = hf_info_out(made);
}
HF_EXPORT(info_create_env);

/* The binding of MPI_Pcontrol has no ierror. */
void HF(pcontrol)(MPI_Fint* level) { HF_C(Pcontrol)(*level); }
HF_EXPORT(pcontrol);

#if !defined(HERALD_PMPI)
HF_PUBLIC void mpi_f_sync_reg_(void* buffer) { (void)buffer; }
#else
HF_PUBLIC void pmpi_f_sync_reg_(void* buffer) { (void)buffer; }
#endif

/* Statuses have the same bits in all three styles. */
void HF(status_f2f08)(MPI_Fint* from, MPI_Fint* to, MPI_Fint* ierror) {
  memmove(to, from, sizeof(MPI_Status));
  *ierror = MPI_SUCCESS;
}
HF_EXPORT(status_f2f08);
void HF(status_f082f)(MPI_Fint* from, MPI_Fint* to, MPI_Fint* ierror) {
  memmove(to, from, sizeof(MPI_Status));
  *ierror = MPI_SUCCESS;
}
HF_EXPORT(status_f082f);

/* Attributes. C sees the address of a predefined attribute, except of the window's base, and the address of
 * one that Fortran has set; Fortran sees values. */
static MPI_Aint attribute_value(int keyval, void* value) {
  if (keyval >= MPI_TAG_UB && keyval <= MPI_UNIVERSE_SIZE) return *(int*)value;
  if (keyval == MPI_WIN_SIZE) return *(MPI_Aint*)value;
  if (keyval == MPI_WIN_DISP_UNIT || keyval == MPI_WIN_CREATE_FLAVOR || keyval == MPI_WIN_MODEL)
    return *(int*)value;
  int is_box = 0;
  return hf_unbox(value, &is_box);
}

#define ATTRIBUTES(noun, call)                                                                              \
  void HF(noun##_get_attr)(MPI_Fint * object, MPI_Fint * keyval, MPI_Aint * value, MPI_Fint * flag,         \
                           MPI_Fint * ierror) {                                                             \
    void* found = NULL;                                                                                     \
    int is_set = 0;                                                                                         \
    *ierror = HF_C(call##_get_attr)(HF_IN_##noun(*object), *keyval, &found, &is_set);                       \
    if (*ierror != MPI_SUCCESS) return;                                                                     \
    *flag = hf_logical(is_set);                                                                             \
    if (is_set) *value = attribute_value(*keyval, found);                                                   \
  }                                                                                                         \
  HF_EXPORT(noun##_get_attr);                                                                               \
  void HF(noun##_set_attr)(MPI_Fint * object, MPI_Fint * keyval, MPI_Aint * value, MPI_Fint * ierror) {     \
    void* box = hf_box(*value);                                                                             \
    *ierror = box == NULL ? hf_no_memory() : HF_C(call##_set_attr)(HF_IN_##noun(*object), *keyval, box);    \
    if (*ierror != MPI_SUCCESS) hf_free_box(box);                                                           \
  }                                                                                                         \
  HF_EXPORT(noun##_set_attr);                                                                               \
  void HF(noun##_create_keyval)(HfProcedure copy, HfProcedure delete_, MPI_Fint * keyval, MPI_Aint * extra, \
                                MPI_Fint * ierror) {                                                        \
    HfKeyval* state = malloc(sizeof(HfKeyval));                                                             \
    if (state == NULL) {                                                                                    \
      *ierror = hf_no_memory();                                                                             \
      return;                                                                                               \
    }                                                                                                       \
    *state = (HfKeyval){copy, delete_, *extra, 0};                                                          \
    *ierror = HF_C(call##_create_keyval)(copy == mpi_##noun##_null_copy_fn_ ? (void*)0 : hf_##noun##_copy,  \
                                         hf_##noun##_delete, keyval, state);                                \
  }                                                                                                         \
  HF_EXPORT(noun##_create_keyval);
#define HF_IN_comm hf_comm_in
#define HF_IN_type hf_datatype_in
#define HF_IN_win hf_win_in
ATTRIBUTES(comm, Comm)
ATTRIBUTES(type, Type)
ATTRIBUTES(win, Win)

void HF(keyval_create)(HfProcedure copy, HfProcedure delete_, MPI_Fint* keyval, MPI_Fint* extra,
                       MPI_Fint* ierror) {
  HfKeyval* state = malloc(sizeof(HfKeyval));
  if (state == NULL) {
    *ierror = hf_no_memory();
    return;
  }
  *state = (HfKeyval){copy, delete_, *extra, 1};
  *ierror = HF_C(Comm_create_keyval)(copy == mpi_null_copy_fn_ ? (void*)0 : hf_comm_copy, hf_comm_delete,
                                     keyval, state);
}
HF_EXPORT(keyval_create);

void HF(attr_get)(MPI_Fint* comm, MPI_Fint* keyval, MPI_Fint* value, MPI_Fint* flag, MPI_Fint* ierror) {
  MPI_Aint found = *value;
  HF(comm_get_attr)(comm, keyval, &found, flag, ierror);
  if (*ierror == MPI_SUCCESS) *value = (MPI_Fint)found;
}
HF_EXPORT(attr_get);

void HF(attr_put)(MPI_Fint* comm, MPI_Fint* keyval, MPI_Fint* value, MPI_Fint* ierror) {
  MPI_Aint wide = *value;
  HF(comm_set_attr)(comm, keyval, &wide, ierror);
}
HF_EXPORT(attr_put);

/* Error handlers and operations. */
static int report_full_pool(void) {
  static int code;
  return hf_own_error(
      &code, MPI_ERR_OTHER,
      "at most 256 Fortran procedures can be operations of a process, and as many can be error "
      "handlers of each kind of object; use one of them again");
}
#define ERRHANDLER(noun, call, pool)                                                                   \
  void HF(noun##_create_errhandler)(HfProcedure procedure, MPI_Fint * errhandler, MPI_Fint * ierror) { \
    MPI_Errhandler made = MPI_ERRHANDLER_NULL;                                                         \
    HfProcedure thunk = hf_pool_thunk(pool, procedure);                                                \
    if (thunk == NULL) {                                                                               \
      *ierror = report_full_pool();                                                                    \
      return;                                                                                          \
    }                                                                                                  \
    *ierror = HF_C(call##_create_errhandler)((MPI_##call##_errhandler_function*)thunk, &made);         \
    if (*ierror == MPI_SUCCESS) *errhandler = hf_errhandler_out(made);                                 \
  }                                                                                                    \
  HF_EXPORT(noun##_create_errhandler);
ERRHANDLER(comm, Comm, kCommHandler)
ERRHANDLER(file, File, kFileHandler)
ERRHANDLER(session, Session, kSessionHandler)
ERRHANDLER(win, Win, kWinHandler)

#define OP_CREATE(name, call, pool, type)                                                      \
  void HF(name)(HfProcedure procedure, MPI_Fint * commute, MPI_Fint * op, MPI_Fint * ierror) { \
    MPI_Op made = MPI_OP_NULL;                                                                 \
    HfProcedure thunk = hf_pool_thunk(pool, procedure);                                        \
    if (thunk == NULL) {                                                                       \
      *ierror = report_full_pool();                                                            \
      return;                                                                                  \
    }                                                                                          \
    *ierror = HF_C(call)((type*)thunk, hf_is_true(*commute), &made);                           \
    if (*ierror == MPI_SUCCESS) *op = hf_op_out(made);                                         \
  }                                                                                            \
  HF_EXPORT(name);
OP_CREATE(op_create, Op_create, kPlainOp, MPI_User_function)
OP_CREATE(op_create_c, Op_create_c, kLargeOp, MPI_User_function_c)

void HF(grequest_start)(HfProcedure query, HfProcedure free_, HfProcedure cancel, MPI_Aint* extra,
                        MPI_Fint* request, MPI_Fint* ierror) {
  MPI_Request made = MPI_REQUEST_NULL;
  HfGrequest* state = malloc(sizeof(HfGrequest));
  if (state == NULL) {
    *ierror = hf_no_memory();
    return;
  }
  *state = (HfGrequest){query, free_, cancel, extra};
  *ierror = HF_C(Grequest_start)(hf_grequest_query, hf_grequest_free, hf_grequest_cancel, state, &made);
  if (*ierror == MPI_SUCCESS)
    *request = hf_request_out(made);
  else
    free(state);
}
HF_EXPORT(grequest_start);

#define REGISTER_DATAREP(name, call, suffix, null)                                                       \
  void HF(name)(char* datarep, HfProcedure read, HfProcedure write, HfProcedure extent, MPI_Aint* extra, \
                MPI_Fint* ierror, size_t length) {                                                       \
    HfDatarep* state = malloc(sizeof(HfDatarep));                                                        \
    if (state == NULL) {                                                                                 \
      *ierror = hf_no_memory();                                                                          \
      return;                                                                                            \
    }                                                                                                    \
    *state = (HfDatarep){read, write, extent, *extra};                                                   \
    HF_STRING(c_datarep, datarep, length)                                                                \
    *ierror = HF_C(call)(c_datarep, read == null ? NULL : hf_datarep_read##suffix,                       \
                         write == null ? NULL : hf_datarep_write##suffix, hf_datarep_extent, state);     \
    if (*ierror != MPI_SUCCESS) free(state);                                                             \
    HF_ARRAY_END(c_datarep);                                                                             \
  }                                                                                                      \
  HF_EXPORT(name);
REGISTER_DATAREP(register_datarep, Register_datarep, , mpi_conversion_fn_null_)
REGISTER_DATAREP(register_datarep_c, Register_datarep_c, _c, mpi_conversion_fn_null_c_)
