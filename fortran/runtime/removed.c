/* SPDX-License-Identifier: BSD-3-Clause */
/* Procedures that MPI 3.0 removed and old programs still call, with addresses and strides as INTEGER. An
 * address that does not fit is MPI_ERR_ARG. */
#include <limits.h>

#include "herald_fortran.h"

static MPI_Fint narrow(MPI_Aint value, MPI_Fint* to) {
  static int code;
  if (value < INT_MIN || value > INT_MAX)
    return hf_own_error(&code, MPI_ERR_ARG,
                        "an address or extent does not fit a default INTEGER; MPI 2 has procedures that take "
                        "INTEGER(KIND=MPI_ADDRESS_KIND), as MPI_GET_ADDRESS does");
  *to = (MPI_Fint)value;
  return MPI_SUCCESS;
}

void HF(address)(void* location, MPI_Fint* address, MPI_Fint* ierror) {
  MPI_Aint found = 0;
  *ierror = HF_C(Get_address)(hf_buffer(location), &found);
  if (*ierror == MPI_SUCCESS) *ierror = narrow(found, address);
}
HF_EXPORT(address);

#define BOUND(name, value)                                                    \
  void HF(name)(MPI_Fint * datatype, MPI_Fint * result, MPI_Fint * ierror) {  \
    MPI_Aint lb = 0;                                                          \
    MPI_Aint extent = 0;                                                      \
    *ierror = HF_C(Type_get_extent)(hf_datatype_in(*datatype), &lb, &extent); \
    if (*ierror == MPI_SUCCESS) *ierror = narrow(value, result);              \
  }                                                                           \
  HF_EXPORT(name);
BOUND(type_extent, extent)
BOUND(type_lb, lb)
BOUND(type_ub, lb + extent)

void HF(type_hvector)(MPI_Fint* count, MPI_Fint* blocklength, MPI_Fint* stride, MPI_Fint* oldtype,
                      MPI_Fint* newtype, MPI_Fint* ierror) {
  MPI_Datatype made = MPI_DATATYPE_NULL;
  *ierror = HF_C(Type_create_hvector)(*count, *blocklength, *stride, hf_datatype_in(*oldtype), &made);
  if (*ierror == MPI_SUCCESS) *newtype = hf_datatype_out(made);
}
HF_EXPORT(type_hvector);

void HF(type_hindexed)(MPI_Fint* count, MPI_Fint* lengths, MPI_Fint* places, MPI_Fint* oldtype,
                       MPI_Fint* newtype, MPI_Fint* ierror) {
  MPI_Datatype made = MPI_DATATYPE_NULL;
  const size_t n = hf_length(*count);
  HF_ARRAY(MPI_Aint, wide, n)
  for (size_t i = 0; i < n; i++) wide[i] = places[i];
  *ierror = HF_C(Type_create_hindexed)(*count, lengths, wide, hf_datatype_in(*oldtype), &made);
  if (*ierror == MPI_SUCCESS) *newtype = hf_datatype_out(made);
  HF_ARRAY_END(wide);
}
HF_EXPORT(type_hindexed);

void HF(type_struct)(MPI_Fint* count, MPI_Fint* lengths, MPI_Fint* places, MPI_Fint* types, MPI_Fint* newtype,
                     MPI_Fint* ierror) {
  MPI_Datatype made = MPI_DATATYPE_NULL;
  const size_t n = hf_length(*count);
  HF_ARRAY(MPI_Aint, wide, n)
  HF_ARRAY(MPI_Datatype, c_types, n)
  for (size_t i = 0; i < n; i++) {
    wide[i] = places[i];
    c_types[i] = hf_datatype_in(types[i]);
  }
  *ierror = HF_C(Type_create_struct)(*count, lengths, wide, c_types, &made);
  if (*ierror == MPI_SUCCESS) *newtype = hf_datatype_out(made);
  HF_ARRAY_END(wide);
  HF_ARRAY_END(c_types);
}
HF_EXPORT(type_struct);

void HF(errhandler_get)(MPI_Fint* comm, MPI_Fint* errhandler, MPI_Fint* ierror) {
  MPI_Errhandler found = MPI_ERRHANDLER_NULL;
  *ierror = HF_C(Comm_get_errhandler)(hf_comm_in(*comm), &found);
  if (*ierror == MPI_SUCCESS) *errhandler = hf_errhandler_out(found);
}
HF_EXPORT(errhandler_get);
void HF(errhandler_set)(MPI_Fint* comm, MPI_Fint* errhandler, MPI_Fint* ierror) {
  *ierror = HF_C(Comm_set_errhandler)(hf_comm_in(*comm), hf_errhandler_in(*errhandler));
}
HF_EXPORT(errhandler_set);
void HF(comm_create_errhandler)(HfProcedure procedure, MPI_Fint* errhandler, MPI_Fint* ierror);
void HF(errhandler_create)(HfProcedure procedure, MPI_Fint* errhandler, MPI_Fint* ierror) {
  HF(comm_create_errhandler)(procedure, errhandler, ierror);
}
HF_EXPORT(errhandler_create);
