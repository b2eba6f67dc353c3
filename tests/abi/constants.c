/* SPDX-License-Identifier: BSD-3-Clause */
/* What could go wrong: a value or a size that differs from the ABI, so that programs built elsewhere
   do not work. The values here are written down apart from the table that makes mpi.h. Compiled only. */
#include <mpi.h>
#include <stddef.h>

_Static_assert(sizeof(MPI_Status) == 32, "MPI_Status");
_Static_assert(offsetof(MPI_Status, MPI_SOURCE) == 0 && offsetof(MPI_Status, MPI_TAG) == 4, "MPI_Status");
_Static_assert(offsetof(MPI_Status, MPI_ERROR) == 8, "MPI_Status");
_Static_assert(sizeof(MPI_Aint) == sizeof(void*) && sizeof(MPI_Count) == 8 && sizeof(MPI_Offset) == 8,
               "integers");
_Static_assert(sizeof(MPI_Comm) == sizeof(void*), "handles");

/* Displacements of large collectives are addresses, and the present position of a file is an offset. */
_Static_assert(_Generic(&MPI_Allgatherv_c,
                        int (*)(const void*, MPI_Count, MPI_Datatype, void*, const MPI_Count*,
                                const MPI_Aint*, MPI_Datatype, MPI_Comm) : 1,
                        default : 0),
               "displacements");
_Static_assert(sizeof MPI_DISPLACEMENT_CURRENT == sizeof(MPI_Offset), "MPI_DISPLACEMENT_CURRENT");

int main(void) {
  switch (0) {
    case MPI_SUCCESS: break;
  }
  enum {
    a = sizeof(
        char[MPI_ANY_SOURCE == -1 && MPI_ANY_TAG == -2 && MPI_PROC_NULL == -3 && MPI_ROOT == -4 ? 1 : -1]),
    b = sizeof(char[MPI_UNDEFINED == -32766 && MPI_BSEND_OVERHEAD == 512 && MPI_TAG_UB == 501 ? 1 : -1]),
    c = sizeof(char[MPI_VERSION == 5 && MPI_SUBVERSION == 0 && MPI_ABI_VERSION == 1 ? 1 : -1]),
    d = sizeof(char[MPI_MAX_ERROR_STRING == 512 && MPI_MAX_OBJECT_NAME == 128 && MPI_MAX_PROCESSOR_NAME == 256
                        ? 1
                        : -1]),
    e = sizeof(char[MPI_ERR_TRUNCATE == 15 && MPI_ERR_IN_STATUS > 0 && MPI_KEYVAL_INVALID == 0 ? 1 : -1])
  };
  const intptr_t handles[][2] = {{(intptr_t)MPI_COMM_NULL, 0x100},
                                 {(intptr_t)MPI_COMM_WORLD, 0x101},
                                 {(intptr_t)MPI_COMM_SELF, 0x102},
                                 {(intptr_t)MPI_GROUP_EMPTY, 0x109},
                                 {(intptr_t)MPI_INFO_ENV, 0x131},
                                 {(intptr_t)MPI_ERRORS_RETURN, 0x143},
                                 {(intptr_t)MPI_REQUEST_NULL, 0x180},
                                 {(intptr_t)MPI_DATATYPE_NULL, 0x200},
                                 {(intptr_t)MPI_INT, 0x209},
                                 {(intptr_t)MPI_DOUBLE, 0x214},
                                 {(intptr_t)MPI_BYTE, 0x247},
                                 {(intptr_t)MPI_INT64_T, 0x258},
                                 {(intptr_t)MPI_SUM, 0x21},
                                 {(intptr_t)MPI_REPLACE, 0x3c},
                                 {(intptr_t)MPI_IN_PLACE, 1},
                                 {(intptr_t)MPI_BOTTOM, 0},
                                 {(intptr_t)MPI_MESSAGE_NO_PROC, 0x129},
                                 {(intptr_t)MPI_SESSION_NULL, 0x120}};
  int wrong = (a + b + c + d + e) != 5;
  for (unsigned i = 0; i < sizeof handles / sizeof *handles; i++) wrong |= handles[i][0] != handles[i][1];
  wrong |= MPI_Comm_toint(MPI_COMM_WORLD) != 0x101 || MPI_Comm_fromint(0x101) != MPI_COMM_WORLD;
  wrong |= MPI_Type_c2f(MPI_INT) != 0x209 || MPI_Type_f2c(0x209) != MPI_INT;
  return wrong;
}
