/* SPDX-License-Identifier: BSD-3-Clause */
/* Buffers of mpi_f08: what C receives for a TYPE(*), DIMENSION(..) argument. */
#ifndef HERALD_FORTRAN_DESCRIPTORS_H
#define HERALD_FORTRAN_DESCRIPTORS_H

#include <ISO_Fortran_binding.h>

#include "herald_fortran.h"

typedef struct {
  void* base;
  int count;
  MPI_Count count_c;
  MPI_Fint datatype;
  int failed;          /* an error class, or 0 */
  MPI_Datatype made;   /* to free, or MPI_DATATYPE_NULL */
  CFI_cdesc_t* copied; /* the section that `base` is a contiguous copy of, or NULL */
  int read_only;
} HfView;

/* Whether the elements follow one another in memory. The last extent of an assumed-size array is -1. */
static inline int hf_is_contiguous(const CFI_cdesc_t* d) {
  CFI_index_t next = (CFI_index_t)d->elem_len;
  for (int i = 0; i < d->rank; i++) {
    if (d->dim[i].extent == 1) continue;
    if (d->dim[i].sm != next) return d->dim[i].extent == 0;
    next *= d->dim[i].extent;
  }
  return 1;
}

static inline HfView hf_view_whole(CFI_cdesc_t* d, int read_only) {
  (void)read_only;
  HfView view = {.base = d->base_addr, .made = MPI_DATATYPE_NULL};
  return view;
}

HfView hf_make_type(CFI_cdesc_t* d, MPI_Count count, MPI_Fint datatype);
HfView hf_make_copy(CFI_cdesc_t* d, int read_only);
void hf_free_view(HfView* view);
int hf_view_error(int error_class);

static inline HfView hf_view_type(CFI_cdesc_t* d, MPI_Count count, MPI_Fint datatype) {
  if (__builtin_expect(!hf_is_contiguous(d), 0)) return hf_make_type(d, count, datatype);
  HfView view = {.base = d->base_addr,
                 .count = (int)count,
                 .count_c = count,
                 .datatype = datatype,
                 .made = MPI_DATATYPE_NULL};
  return view;
}
static inline HfView hf_view_copy(CFI_cdesc_t* d, int read_only) {
  return hf_is_contiguous(d) ? hf_view_whole(d, read_only) : hf_make_copy(d, read_only);
}
static inline HfView hf_view_refuse(CFI_cdesc_t* d, int read_only) {
  HfView view = hf_view_whole(d, read_only);
  if (!hf_is_contiguous(d)) view.failed = MPI_ERR_BUFFER;
  return view;
}
static inline void hf_view_end(HfView* view) {
  if (__builtin_expect(view->made != MPI_DATATYPE_NULL || view->copied != NULL, 0)) hf_free_view(view);
}

#endif
