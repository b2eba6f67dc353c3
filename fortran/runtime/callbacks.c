/* SPDX-License-Identifier: BSD-3-Clause */
/* C callbacks that call Fortran procedures. Both styles, with INTEGER handles and with TYPE(MPI_X), have the
 * same calling convention. Every integer is passed in 8 bytes: a procedure that declares the other kind for a
 * count or an attribute reads the same value, and writes nothing beside it. */
#include <pthread.h>

#include "herald_fortran.h"

/* Operations and error handlers carry no state. Each Fortran procedure gets a C function of its own from a
 * pool. */
enum { kThunks = 256 };
static HfProcedure pool[kPools][kThunks];
static int pool_used[kPools];
static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;

typedef void FortranOp(void* in, void* inout, int* len, MPI_Fint* datatype);
typedef void FortranOpLarge(void* in, void* inout, MPI_Count* len, MPI_Fint* datatype);
typedef void FortranHandler(MPI_Fint* object, MPI_Fint* code);

static void run_op(int n, void* in, void* inout, int* len, MPI_Datatype* datatype) {
  MPI_Fint type = hf_datatype_out(*datatype);
  MPI_Count wide = *len;
  ((FortranOp*)pool[kPlainOp][n])(in, inout, (int*)&wide, &type);
}
static void run_op_large(int n, void* in, void* inout, MPI_Count* len, MPI_Datatype* datatype) {
  MPI_Fint type = hf_datatype_out(*datatype);
  ((FortranOpLarge*)pool[kLargeOp][n])(in, inout, len, &type);
}
static void run_handler(int kind, int n, MPI_Fint object, int* code) {
  MPI_Fint number = *code;
  ((FortranHandler*)pool[kind][n])(&object, &number);
}

#define THUNKS_OF(n)                                                                                       \
  static void op_##n(void* a, void* b, int* l, MPI_Datatype* t) { run_op(0x##n, a, b, l, t); }             \
  static void large_##n(void* a, void* b, MPI_Count* l, MPI_Datatype* t) {                                 \
    run_op_large(0x##n, a, b, l, t);                                                                       \
  }                                                                                                        \
  static void comm_##n(MPI_Comm* o, int* c, ...) { run_handler(kCommHandler, 0x##n, hf_comm_out(*o), c); } \
  static void file_##n(MPI_File* o, int* c, ...) { run_handler(kFileHandler, 0x##n, hf_file_out(*o), c); } \
  static void session_##n(MPI_Session* o, int* c, ...) {                                                   \
    run_handler(kSessionHandler, 0x##n, hf_session_out(*o), c);                                            \
  }                                                                                                        \
  static void win_##n(MPI_Win* o, int* c, ...) { run_handler(kWinHandler, 0x##n, hf_win_out(*o), c); }
#define ROW_OF(n)                                                          \
  {(HfProcedure)op_##n,   (HfProcedure)large_##n,   (HfProcedure)comm_##n, \
   (HfProcedure)file_##n, (HfProcedure)session_##n, (HfProcedure)win_##n},
#define SIXTEEN(X, row)                                                                               \
  X(row##0)                                                                                           \
  X(row##1)                                                                                           \
  X(row##2)                                                                                           \
  X(row##3)                                                                                           \
  X(row##4) X(row##5) X(row##6) X(row##7) X(row##8) X(row##9) X(row##a) X(row##b) X(row##c) X(row##d) \
      X(row##e) X(row##f)
#define ALL(X)                                                                                      \
  SIXTEEN(X, 0)                                                                                     \
  SIXTEEN(X, 1)                                                                                     \
  SIXTEEN(X, 2)                                                                                     \
  SIXTEEN(X, 3)                                                                                     \
  SIXTEEN(X, 4) SIXTEEN(X, 5) SIXTEEN(X, 6) SIXTEEN(X, 7) SIXTEEN(X, 8) SIXTEEN(X, 9) SIXTEEN(X, a) \
      SIXTEEN(X, b) SIXTEEN(X, c) SIXTEEN(X, d) SIXTEEN(X, e) SIXTEEN(X, f)
ALL(THUNKS_OF)
static const HfProcedure thunks[kThunks][kPools] = {ALL(ROW_OF)};

/* The C function for a Fortran procedure; NULL when the pool is full. */
HfProcedure hf_pool_thunk(int kind, HfProcedure procedure) {
  HfProcedure thunk = NULL;
  pthread_mutex_lock(&pool_lock);
  int n = 0;
  while (n < pool_used[kind] && pool[kind][n] != procedure) n++;
  if (n < kThunks) {
    pool[kind][n] = procedure;
    if (n == pool_used[kind]) pool_used[kind]++;
    thunk = thunks[n][kind];
  }
  pthread_mutex_unlock(&pool_lock);
  return thunk;
}

/* Attributes. The state of the keyval names the Fortran procedures. */
typedef void FortranCopy(MPI_Fint* object, MPI_Fint* keyval, MPI_Aint* extra, MPI_Aint* in, MPI_Aint* out,
                         MPI_Fint* flag, MPI_Fint* ierror);
typedef void FortranDelete(MPI_Fint* object, MPI_Fint* keyval, MPI_Aint* value, MPI_Aint* extra,
                           MPI_Fint* ierror);
/* The upper half of a copy before the callback: one that is still there means that the callback wrote a
 * default integer. */
static const MPI_Aint kUnwritten = (MPI_Aint)0x5a17c0de << 32;

static int run_copy(MPI_Fint object, int keyval, HfKeyval* state, void* in, void* out, int* flag) {
  int is_box = 0;
  MPI_Aint value_in = hf_unbox(in, &is_box);
  MPI_Aint value_out = kUnwritten;
  MPI_Aint extra = state->extra_state;
  MPI_Fint copied = hf_logical(0);
  MPI_Fint code = MPI_SUCCESS;
  if (state->old_style) value_in = (MPI_Fint)value_in;
  ((FortranCopy*)state->copy)(&object, &keyval, &extra, &value_in, &value_out, &copied, &code);
  if (state->old_style || (value_out ^ kUnwritten) >> 32 == 0) value_out = (MPI_Fint)value_out;
  *flag = hf_is_true(copied);
  if (code != MPI_SUCCESS || !*flag) return code;
  /* A copy has the language of the original. */
  void* copy = is_box ? hf_box(value_out) : (void*)value_out; /* NOLINT */
  if (is_box && copy == NULL) return MPI_ERR_NO_MEM;
  *(void**)out = copy;
  return code;
}

static int run_delete(MPI_Fint object, int keyval, void* attribute, HfKeyval* state) {
  int is_box = 0;
  MPI_Aint value = hf_unbox(attribute, &is_box);
  MPI_Aint extra = state->extra_state;
  MPI_Fint code = MPI_SUCCESS;
  if (state->old_style) value = (MPI_Fint)value;
  ((FortranDelete*)state->delete_)(&object, &keyval, &value, &extra, &code);
  if (is_box && code == MPI_SUCCESS) hf_free_box(attribute);
  return code;
}

#define ATTRIBUTE(noun, type, convert)                                                         \
  int hf_##noun##_copy(type object, int keyval, void* state, void* in, void* out, int* flag) { \
    return run_copy(convert(object), keyval, state, in, out, flag);                            \
  }                                                                                            \
  int hf_##noun##_delete(type object, int keyval, void* value, void* state) {                  \
    return run_delete(convert(object), keyval, value, state);                                  \
  }
ATTRIBUTE(comm, MPI_Comm, hf_comm_out)
ATTRIBUTE(type, MPI_Datatype, hf_datatype_out)
ATTRIBUTE(win, MPI_Win, hf_win_out)

/* Generalized requests. */
int hf_grequest_query(void* state, MPI_Status* status) {
  HfGrequest* g = state;
  MPI_Fint code = MPI_SUCCESS;
  ((void (*)(MPI_Aint*, MPI_Status*, MPI_Fint*))g->query)(g->extra_state, status, &code);
  return code;
}
int hf_grequest_free(void* state) {
  HfGrequest* g = state;
  MPI_Fint code = MPI_SUCCESS;
  ((void (*)(MPI_Aint*, MPI_Fint*))g->free_)(g->extra_state, &code);
  free(g);
  return code;
}
int hf_grequest_cancel(void* state, int complete) {
  HfGrequest* g = state;
  MPI_Fint code = MPI_SUCCESS;
  MPI_Fint flag = hf_logical(complete);
  ((void (*)(MPI_Aint*, MPI_Fint*, MPI_Fint*))g->cancel)(g->extra_state, &flag, &code);
  return code;
}

/* Data representations. */
typedef void FortranConvert(void* user, MPI_Fint* datatype, int* count, void* file, MPI_Offset* position,
                            MPI_Aint* extra, MPI_Fint* ierror);
typedef void FortranConvertLarge(void* user, MPI_Fint* datatype, MPI_Count* count, void* file,
                                 MPI_Offset* position, MPI_Aint* extra, MPI_Fint* ierror);
int hf_datarep_extent(MPI_Datatype datatype, MPI_Aint* extent, void* state) {
  HfDatarep* d = state;
  MPI_Fint code = MPI_SUCCESS;
  MPI_Fint type = hf_datatype_out(datatype);
  ((void (*)(MPI_Fint*, MPI_Aint*, MPI_Aint*, MPI_Fint*))d->extent)(&type, extent, &d->extra_state, &code);
  return code;
}
#define CONVERT(name, member, count_type, procedure_type)                                                   \
  int name(void* user, MPI_Datatype datatype, count_type count, void* file, MPI_Offset position,            \
           void* state) {                                                                                   \
    HfDatarep* d = state;                                                                                   \
    MPI_Fint code = MPI_SUCCESS;                                                                            \
    MPI_Fint type = hf_datatype_out(datatype);                                                              \
    MPI_Count wide = count;                                                                                 \
    ((procedure_type*)d->member)(user, &type, (count_type*)&wide, file, &position, &d->extra_state, &code); \
    return code;                                                                                            \
  }
CONVERT(hf_datarep_read, read, int, FortranConvert)
CONVERT(hf_datarep_write, write, int, FortranConvert)
CONVERT(hf_datarep_read_c, read, MPI_Count, FortranConvertLarge)
CONVERT(hf_datarep_write_c, write, MPI_Count, FortranConvertLarge)
