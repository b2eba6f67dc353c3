/* SPDX-License-Identifier: BSD-3-Clause */
/* Conversions between Fortran's arguments and those of C, for the generated wrappers. Each file of wrappers
 * is compiled twice: mpi_x_ calls MPI_X, and with HERALD_PMPI pmpi_x_ calls PMPI_X. */
#ifndef HERALD_FORTRAN_H
#define HERALD_FORTRAN_H

#include <mpi.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define HF_JOIN_(a, b, c) a##b##c
#define HF_JOIN(a, b, c) HF_JOIN_(a, b, c)
#define HF_TEXT_(x) #x
#define HF_TEXT(x) HF_TEXT_(x)
#if defined(HERALD_PMPI)
#define HF(name) HF_JOIN(hfp_, name, _)  /* the wrapper */
#define HFD(name) HF_JOIN(hfdp_, name, ) /* the wrapper with descriptors, for mpi_f08 */
#define HF_NAME(name) HF_JOIN(pmpi_, name, _)
#define HF_C(name) PMPI_##name
#else
#define HF(name) HF_JOIN(hf_, name, _)
#define HFD(name) HF_JOIN(hfd_, name, )
#define HF_NAME(name) HF_JOIN(mpi_, name, _)
#define HF_C(name) MPI_##name
#endif
#define HF_PUBLIC __attribute__((visibility("default")))
/* The name that programs and profilers see. The other layers of this library call the wrapper by its own
 * name, so a profiler that replaces mpi_send_ does not see the sends of mpi_f08 twice. */
#define HF_EXPORT_AS(public, name) \
  extern __typeof__(HF(name)) HF_NAME(public) __attribute__((alias(HF_TEXT(HF(name))))) HF_PUBLIC
#define HF_EXPORT(name) HF_EXPORT_AS(name, name)

/* The COMMON blocks of mpif.h, mpi and mpi_f08: an address inside them is a sentinel. */
enum {
  kBufferAutomatic = 2,
  kBufferSentinels,
  kUnweighted = 3,
  kWeightsEmpty,
  kErrcodesIgnore,
  kStatusIgnore = 8,
  kStatusesIgnore = 16
};
extern HF_PUBLIC MPI_Fint mpi_fortran_constants_[24];
extern HF_PUBLIC char mpi_fortran_strings_[8];
/* .TRUE. and .FALSE. of the Fortran compiler. */
extern MPI_Fint herald_logicals_[2];

enum { kFew = 32, kShortString = 256 };

/* Predefined handles have the same value in C and in Fortran; the ABI keeps the numbers below 4096 for them.
 */
#define HF_HANDLE(noun, type, stem)                                                                \
  static inline type hf_##noun##_in(MPI_Fint f) {                                                  \
    return __builtin_expect((unsigned)f < 4096, 1) ? (type)(intptr_t)f : PMPI_##stem##_fromint(f); \
  }                                                                                                \
  static inline MPI_Fint hf_##noun##_out(type c) {                                                 \
    return (uintptr_t)c < 4096 ? (MPI_Fint)(intptr_t)c : PMPI_##stem##_toint(c);                   \
  }
HF_HANDLE(comm, MPI_Comm, Comm)
HF_HANDLE(datatype, MPI_Datatype, Type)
HF_HANDLE(group, MPI_Group, Group)
HF_HANDLE(info, MPI_Info, Info)
HF_HANDLE(errhandler, MPI_Errhandler, Errhandler)
HF_HANDLE(op, MPI_Op, Op)
HF_HANDLE(request, MPI_Request, Request)
HF_HANDLE(message, MPI_Message, Message)
HF_HANDLE(session, MPI_Session, Session)
HF_HANDLE(win, MPI_Win, Win)
HF_HANDLE(file, MPI_File, File)

/* MPI_BOTTOM, MPI_IN_PLACE and MPI_BUFFER_AUTOMATIC are the first words, in the order of their C values. */
static inline void* hf_buffer(void* address) {
  const size_t offset = (size_t)((char*)address - (char*)mpi_fortran_constants_);
  if (__builtin_expect(offset >= kBufferSentinels * sizeof(MPI_Fint), 1)) return address;
  return (void*)(offset / sizeof(MPI_Fint)); /* NOLINT */
}

/* The address of a detached buffer: C_LOC(MPI_BUFFER_AUTOMATIC) for MPI's own memory. */
static inline void hf_name_buffer(void* address) {
  void** buffer = address;
  if (*buffer == MPI_BUFFER_AUTOMATIC) *buffer = mpi_fortran_constants_ + kBufferAutomatic;
}

static inline MPI_Status* hf_status(MPI_Fint* f) {
  if (f == mpi_fortran_constants_ + kStatusIgnore || f == mpi_fortran_constants_ + kStatusesIgnore)
    return MPI_STATUS_IGNORE;
  return (MPI_Status*)f;
}

static inline int* hf_weights(MPI_Fint* f) {
  if (f == mpi_fortran_constants_ + kUnweighted) return MPI_UNWEIGHTED;
  if (f == mpi_fortran_constants_ + kWeightsEmpty) return MPI_WEIGHTS_EMPTY;
  return f;
}

static inline MPI_Fint hf_logical(int c) { return herald_logicals_[c == 0]; }
static inline int hf_is_true(MPI_Fint f) { return f != herald_logicals_[1]; }
static inline size_t hf_length(MPI_Count n) { return n > 0 ? (size_t)n : 0; }

/* An array of C values for n Fortran values: short ones on the stack. */
#define HF_ARRAY(type, name, n)                                              \
  type name##_few[kFew];                                                     \
  type* name = (n) <= kFew ? name##_few : (type*)malloc((n) * sizeof(type)); \
  if (name == NULL) {                                                        \
    *ierror = hf_no_memory();                                                \
    return;                                                                  \
  }
#define HF_ARRAY_END(name) \
  if (name != name##_few) free(name)

/* A C string without the blanks at the end. */
#define HF_STRING(name, from, length)                \
  char name##_few[kShortString];                     \
  char* name = hf_trim(name##_few, from, length, 0); \
  if (name == NULL) {                                \
    *ierror = hf_no_memory();                        \
    return;                                          \
  }
#define HF_INFO_STRING(name, from, length)           \
  char name##_few[kShortString];                     \
  char* name = hf_trim(name##_few, from, length, 1); \
  if (name == NULL) {                                \
    *ierror = hf_no_memory();                        \
    return;                                          \
  }

/* strings.c */
char* hf_trim(char* few, const char* from, size_t length, int both_ends);
void hf_pad(char* to, size_t length, const char* from);
char** hf_make_argv(const char* strings, size_t stride, size_t length);
void hf_free_argv(char** argv);

/* objects.c */
int hf_no_memory(void);
/* Reports an error with a text of its own; `known` keeps its code, and is 0 before the first one. */
int hf_own_error(int* known, int error_class, const char* text);
void hf_set_facts(void);
void hf_lock(void); /* guards all tables of this library */
void hf_unlock(void);
int hf_peers(MPI_Comm comm);
int hf_neighbors(MPI_Comm comm, int incoming);

/* lasting.c: memory that lives as long as a request or an attribute. */
extern int hf_kept_count;
MPI_Datatype* hf_make_types(const MPI_Fint* types, int count);
void hf_keep_types(int code, MPI_Request request, MPI_Datatype* first, MPI_Datatype* second);
void hf_drop_types(MPI_Fint request);
static inline void hf_request_end(MPI_Fint before, MPI_Request after) {
  if (__builtin_expect(hf_kept_count > 0, 0) && after == MPI_REQUEST_NULL) hf_drop_types(before);
}
void* hf_box(MPI_Aint value);
MPI_Aint hf_unbox(void* attribute, int* is_box); /* the value itself if C has set it */
void hf_free_box(void* attribute);

/* callbacks.c: C callbacks that call Fortran procedures. */
typedef void (*HfProcedure)(void);
typedef struct {
  HfProcedure copy, delete_;
  MPI_Aint extra_state;
  int old_style; /* of MPI_KEYVAL_CREATE: attributes are default integers */
} HfKeyval;
typedef struct {
  HfProcedure query, free_, cancel;
  MPI_Aint* extra_state; /* the variable itself, as other libraries have it: callbacks may change it */
} HfGrequest;
typedef struct {
  HfProcedure read, write, extent;
  MPI_Aint extra_state;
} HfDatarep;

enum { kPlainOp, kLargeOp, kCommHandler, kFileHandler, kSessionHandler, kWinHandler, kPools };
HfProcedure hf_pool_thunk(int pool, HfProcedure procedure);
int hf_comm_copy(MPI_Comm, int, void*, void*, void*, int*);
int hf_comm_delete(MPI_Comm, int, void*, void*);
int hf_type_copy(MPI_Datatype, int, void*, void*, void*, int*);
int hf_type_delete(MPI_Datatype, int, void*, void*);
int hf_win_copy(MPI_Win, int, void*, void*, void*, int*);
int hf_win_delete(MPI_Win, int, void*, void*);
int hf_grequest_query(void*, MPI_Status*);
int hf_grequest_free(void*);
int hf_grequest_cancel(void*, int);
int hf_datarep_extent(MPI_Datatype, MPI_Aint*, void*);
int hf_datarep_read(void*, MPI_Datatype, int, void*, MPI_Offset, void*);
int hf_datarep_write(void*, MPI_Datatype, int, void*, MPI_Offset, void*);
int hf_datarep_read_c(void*, MPI_Datatype, MPI_Count, void*, MPI_Offset, void*);
int hf_datarep_write_c(void*, MPI_Datatype, MPI_Count, void*, MPI_Offset, void*);
/* Predefined callbacks, known by their address. */
#define HF_PREDEFINED(X)                                                                        \
  X(comm_null_copy_fn)                                                                          \
  X(comm_dup_fn)                                                                                \
  X(comm_null_delete_fn)                                                                        \
  X(type_null_copy_fn)                                                                          \
  X(type_dup_fn) X(type_null_delete_fn) X(win_null_copy_fn) X(win_dup_fn) X(win_null_delete_fn) \
      X(null_copy_fn) X(dup_fn) X(null_delete_fn) X(conversion_fn_null) X(conversion_fn_null_c)
#define HF_DECLARE(name) HF_PUBLIC void mpi_##name##_(void);
HF_PREDEFINED(HF_DECLARE)

#endif
