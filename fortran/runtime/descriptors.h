/* SPDX-License-Identifier: BSD-3-Clause */
/* Buffers of mpi_f08: what C receives for a TYPE(*), DIMENSION(..) argument. */
#ifndef HERALD_FORTRAN_DESCRIPTORS_H
#define HERALD_FORTRAN_DESCRIPTORS_H

#include <ISO_Fortran_binding.h>

#include "herald_fortran.h"

typedef struct {
  void* base;
  MPI_Count count;
  MPI_Fint datatype;
  int failed;          /* an error class, or 0 */
  MPI_Datatype made;   /* to free, or MPI_DATATYPE_NULL */
  CFI_cdesc_t* copied; /* the section that `base` is a contiguous copy of, or NULL */
} HfView;

/* What a call allows for a section with strides. */
enum {
  kMayCopy = 1, /* a copy during the call: the call is blocking */
  kReadOnly = 2 /* the copy is not written back */
};

/* Whether the elements follow one another in memory. The last extent of an assumed-size array is -1. */
static inline int hf_is_contiguous(const CFI_cdesc_t* d) {
  CFI_index_t next = (CFI_index_t)d->elem_len;
  if (next == 0) return 1; /* of CHARACTER(LEN=0) */
  for (int i = 0; i < d->rank; i++) {
    if (d->dim[i].extent == 1) continue;
    if (d->dim[i].sm != next) return d->dim[i].extent == 0;
    next *= d->dim[i].extent;
  }
  return 1;
}

HfView hf_make_type(CFI_cdesc_t* d, MPI_Count count, MPI_Fint datatype, int may);
HfView hf_make_spread(CFI_cdesc_t* d, MPI_Fint datatype, int may);
HfView hf_make_copy(CFI_cdesc_t* d, int may);
void hf_free_view(HfView* view, int may);
/* Reports the first failure of a call's buffers by the error handler of the object. */
int hf_section_error(MPI_Comm comm, const char* procedure, int error_class);
int hf_section_error_win(MPI_Win win, const char* procedure, int error_class);

#define HF_SIMPLE_VIEW(d, n, type) \
  ((HfView){.base = (d)->base_addr, .count = (n), .datatype = (type), .made = MPI_DATATYPE_NULL})

/* The section as one element of a new datatype: for a buffer that is one message. */
static inline HfView hf_view_type(CFI_cdesc_t* d, MPI_Count count, MPI_Fint datatype, int may) {
  if (__builtin_expect(hf_is_contiguous(d), 1)) return HF_SIMPLE_VIEW(d, count, datatype);
  return hf_make_type(d, count, datatype, may);
}
/* The same counts of a datatype with gaps: for a buffer that is several messages. */
static inline HfView hf_view_spread(CFI_cdesc_t* d, MPI_Fint datatype, int may) {
  if (__builtin_expect(hf_is_contiguous(d), 1)) return HF_SIMPLE_VIEW(d, 0, datatype);
  return hf_make_spread(d, datatype, may);
}
static inline HfView hf_view_copy(CFI_cdesc_t* d, int may) {
  if (__builtin_expect(hf_is_contiguous(d), 1)) return HF_SIMPLE_VIEW(d, 0, 0);
  return hf_make_copy(d, may);
}
/* The address alone matters. */
static inline HfView hf_view_whole(CFI_cdesc_t* d, int may) {
  (void)may;
  return HF_SIMPLE_VIEW(d, 0, 0);
}
/* Whether MPI reads or writes a buffer of a collective with a root at this rank: the root's buffer, that of
 * the other ranks, or that of all. */
enum { kOfRoot, kOfOthers, kOfAll };
int hf_uses_buffer(MPI_Comm comm, int root, int whose);
static inline void hf_view_end(HfView* view, int may) {
  if (__builtin_expect(view->made != MPI_DATATYPE_NULL || view->copied != NULL, 0)) hf_free_view(view, may);
}

#endif
