/* SPDX-License-Identifier: BSD-3-Clause */
/* The predefined callbacks. The wrappers know them by their address and pass the constants of C; a program
 * may also call them itself. */
#include <stdint.h>
#include <string.h>

/* The header declares these as addresses, without arguments. */
extern int herald_logicals_[2];
#define PUBLIC __attribute__((visibility("default")))
#define COPY(name, type, copied)                                                                   \
  PUBLIC void mpi_##name##_(int* object, int* keyval, type* extra, type* in, type* out, int* flag, \
                            int* ierror) {                                                         \
    (void)object, (void)keyval, (void)extra;                                                       \
    if (copied) *out = *in;                                                                        \
    *flag = herald_logicals_[!(copied)];                                                           \
    *ierror = 0;                                                                                   \
  }
#define DELETE(name, type)                                                                     \
  PUBLIC void mpi_##name##_(int* object, int* keyval, type* value, type* extra, int* ierror) { \
    (void)object, (void)keyval, (void)value, (void)extra;                                      \
    *ierror = 0;                                                                               \
  }
#define ALL_OF(noun)                     \
  COPY(noun##_null_copy_fn, intptr_t, 0) \
  COPY(noun##_dup_fn, intptr_t, 1)       \
  DELETE(noun##_null_delete_fn, intptr_t)
ALL_OF(comm)
ALL_OF(type)
ALL_OF(win)
COPY(null_copy_fn, int, 0)
COPY(dup_fn, int, 1)
DELETE(null_delete_fn, int)
#define CONVERT(name, count_type)                                                                        \
  PUBLIC void mpi_##name##_(void* user, int* datatype, count_type* count, void* file, int64_t* position, \
                            intptr_t* extra, int* ierror) {                                              \
    (void)user, (void)datatype, (void)count, (void)file, (void)position, (void)extra;                    \
    *ierror = 0;                                                                                         \
  }
CONVERT(conversion_fn_null, int)
CONVERT(conversion_fn_null_c, int64_t)
