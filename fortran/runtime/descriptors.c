/* SPDX-License-Identifier: BSD-3-Clause */
/* Array sections with strides: as a datatype, so that nothing is copied, or as a copy where MPI needs one. */
#include "descriptors.h"

#include <stdio.h>

/* An error code with a text of its own, made once for each procedure. */
static int section_code(const char* procedure, int error_class) {
  enum { kCodes = 32 };
  static struct {
    const char* procedure;
    int code;
  } known[kCodes];
  char text[MPI_MAX_ERROR_STRING];
  int code = error_class;
  if (error_class != MPI_ERR_BUFFER) return code;
  hf_lock();
  int n = 0;
  while (n < kCodes && known[n].procedure != NULL && known[n].procedure != procedure) n++;
  if (n < kCodes && known[n].procedure != NULL) {
    code = known[n].code;
  } else if (n < kCodes && PMPI_Add_error_code(error_class, &code) == MPI_SUCCESS) {
    snprintf(text, sizeof(text),
             "%s: this array section has strides that no MPI datatype describes here, or it is shorter than "
             "the count; pass a contiguous array",
             procedure);
    PMPI_Add_error_string(code, text);
    known[n].procedure = procedure;
    known[n].code = code;
  }
  hf_unlock();
  return code;
}

int hf_section_error(MPI_Comm comm, const char* procedure, int error_class) {
  const int code = section_code(procedure, error_class);
  PMPI_Comm_call_errhandler(comm, code);
  return code;
}
int hf_section_error_win(MPI_Win win, const char* procedure, int error_class) {
  const int code = section_code(procedure, error_class);
  PMPI_Win_call_errhandler(win, code);
  return code;
}

int hf_uses_buffer(MPI_Comm comm, int root, int whose) {
  int inter = 0;
  int rank = -1;
  if (PMPI_Comm_test_inter(comm, &inter) != MPI_SUCCESS) return 0; /* the call reports the communicator */
  if (inter) return root != MPI_PROC_NULL && (whose == kOfAll || (whose == kOfRoot) == (root == MPI_ROOT));
  PMPI_Comm_rank(comm, &rank);
  return whose != kOfRoot || rank == root;
}

static HfView failure(int error_class) { return (HfView){.failed = error_class, .made = MPI_DATATYPE_NULL}; }

static CFI_index_t elements_of(const CFI_cdesc_t* d) {
  CFI_index_t count = 1;
  for (int i = 0; i < d->rank; i++) count *= d->dim[i].extent;
  return count;
}

/* The first `elements` elements of dimensions 0 to last: whole rows, then the rest of one row. */
static int describe(const CFI_cdesc_t* d, int last, CFI_index_t elements, MPI_Datatype element,
                    MPI_Datatype* made) {
  MPI_Datatype parts[2] = {MPI_DATATYPE_NULL, MPI_DATATYPE_NULL};
  MPI_Count lengths[2] = {1, 1};
  MPI_Count places[2] = {0, 0};
  CFI_index_t row = 1;
  int used = 0;
  int code = MPI_SUCCESS;
  if (last < 0) return PMPI_Type_dup(element, made);
  for (int i = 0; i < last; i++) row *= d->dim[i].extent;
  if (elements / row > 0) {
    MPI_Datatype one = MPI_DATATYPE_NULL;
    code = describe(d, last - 1, row, element, &one);
    if (code == MPI_SUCCESS)
      code = PMPI_Type_create_hvector_c(elements / row, 1, d->dim[last].sm, one, &parts[used]);
    if (one != MPI_DATATYPE_NULL) PMPI_Type_free(&one);
    used++;
  }
  if (code == MPI_SUCCESS && elements % row > 0) {
    places[used] = elements / row * d->dim[last].sm;
    code = describe(d, last - 1, elements % row, element, &parts[used]);
    used++;
  }
  if (code == MPI_SUCCESS) code = PMPI_Type_create_struct_c(used, lengths, places, parts, made);
  for (int i = 0; i < used; i++)
    if (parts[i] != MPI_DATATYPE_NULL) PMPI_Type_free(&parts[i]);
  return code;
}

/* The size of a datatype without gaps; 0 if it has gaps, -1 if it is no datatype. */
static MPI_Count dense_size(MPI_Datatype datatype) {
  MPI_Count size = 0;
  MPI_Count lb = 0;
  MPI_Count extent = 0;
  if (PMPI_Type_size_c(datatype, &size) != MPI_SUCCESS ||
      PMPI_Type_get_extent_c(datatype, &lb, &extent) != MPI_SUCCESS)
    return -1;
  return lb == 0 && size == extent ? size : 0;
}

static HfView copy_or_fail(CFI_cdesc_t* d, MPI_Count count, MPI_Fint datatype, int may) {
  HfView view = hf_make_copy(d, may);
  view.count = count;
  view.datatype = datatype;
  return view;
}

/* One element of the new datatype is `count` of the given one, taken from the elements of the section. */
HfView hf_make_type(CFI_cdesc_t* d, MPI_Count count, MPI_Fint datatype, int may) {
  const MPI_Datatype given = hf_datatype_in(datatype);
  const MPI_Count element_bytes = (MPI_Count)d->elem_len;
  MPI_Datatype element = MPI_DATATYPE_NULL;
  if (count <= 0) return HF_SIMPLE_VIEW(d, count, datatype);
  const MPI_Count size = dense_size(given);
  if (size < 0) return failure(MPI_ERR_TYPE);
  /* A datatype with gaps, or one that ends inside an element, has no place in a section. */
  if (size == 0 || size * count % element_bytes != 0) return copy_or_fail(d, count, datatype, may);
  const MPI_Count elements = size * count / element_bytes;
  if (elements > elements_of(d)) return failure(MPI_ERR_BUFFER);
  HfView view = {.base = d->base_addr, .count = 1, .made = MPI_DATATYPE_NULL};
  int code = element_bytes % size == 0 ? PMPI_Type_contiguous_c(element_bytes / size, given, &element)
                                       : PMPI_Type_contiguous_c(element_bytes, MPI_BYTE, &element);
  if (code == MPI_SUCCESS) code = describe(d, d->rank - 1, elements, element, &view.made);
  if (code == MPI_SUCCESS) code = PMPI_Type_commit(&view.made);
  if (element != MPI_DATATYPE_NULL) PMPI_Type_free(&element);
  view.failed = code;
  view.datatype = hf_datatype_out(view.made);
  return view;
}

/* The distance between any element and the next, if all distances are the same; else 0. */
static MPI_Count stride_of(const CFI_cdesc_t* d) {
  MPI_Count stride = 0;
  MPI_Count next = 0;
  for (int i = 0; i < d->rank; i++) {
    if (d->dim[i].extent == 1) continue;
    if (stride == 0)
      stride = d->dim[i].sm;
    else if (d->dim[i].sm != next)
      return 0;
    next = d->dim[i].sm * d->dim[i].extent;
  }
  return stride;
}

HfView hf_make_spread(CFI_cdesc_t* d, MPI_Fint datatype, int may) {
  const MPI_Datatype given = hf_datatype_in(datatype);
  const MPI_Count element_bytes = (MPI_Count)d->elem_len;
  const MPI_Count stride = stride_of(d);
  MPI_Datatype element = MPI_DATATYPE_NULL;
  MPI_Datatype row = MPI_DATATYPE_NULL;
  const MPI_Count size = dense_size(given);
  if (size < 0) return failure(MPI_ERR_TYPE);
  if (stride <= 0 || size == 0 || size % element_bytes != 0) return copy_or_fail(d, 0, datatype, may);
  HfView view = {.base = d->base_addr, .made = MPI_DATATYPE_NULL};
  const MPI_Count elements = size / element_bytes;
  int code = elements == 1 ? PMPI_Type_dup(given, &element)
                           : PMPI_Type_contiguous_c(element_bytes, MPI_BYTE, &element);
  if (code == MPI_SUCCESS) code = PMPI_Type_create_hvector_c(elements, 1, stride, element, &row);
  if (code == MPI_SUCCESS) code = PMPI_Type_create_resized_c(row, 0, elements * stride, &view.made);
  if (code == MPI_SUCCESS) code = PMPI_Type_commit(&view.made);
  if (element != MPI_DATATYPE_NULL) PMPI_Type_free(&element);
  if (row != MPI_DATATYPE_NULL) PMPI_Type_free(&row);
  view.failed = code;
  view.datatype = hf_datatype_out(view.made);
  return view;
}

/* Copies between the section and contiguous memory, element by element. */
static void move(const CFI_cdesc_t* d, char* flat, int to_section) {
  CFI_index_t at[CFI_MAX_RANK] = {0};
  const CFI_index_t count = elements_of(d);
  for (CFI_index_t n = 0; n < count; n++) {
    char* element = d->base_addr;
    for (int i = 0; i < d->rank; i++) element += at[i] * d->dim[i].sm;
    if (to_section)
      memcpy(element, flat, d->elem_len);
    else
      memcpy(flat, element, d->elem_len);
    flat += d->elem_len;
    for (int i = 0; i < d->rank && ++at[i] == d->dim[i].extent; i++) at[i] = 0;
  }
}

HfView hf_make_copy(CFI_cdesc_t* d, int may) {
  if ((may & kMayCopy) == 0) return failure(MPI_ERR_BUFFER);
  char* flat = malloc((size_t)elements_of(d) * d->elem_len);
  if (flat == NULL) return failure(MPI_ERR_NO_MEM);
  move(d, flat, 0);
  return (HfView){.base = flat, .made = MPI_DATATYPE_NULL, .copied = d};
}

void hf_free_view(HfView* view, int may) {
  if (view->made != MPI_DATATYPE_NULL) PMPI_Type_free(&view->made);
  if (view->copied == NULL) return;
  if ((may & kReadOnly) == 0) move(view->copied, view->base, 1);
  free(view->base);
}

/* make_modules asks whether a compiler passes line(1:5:2) of INTEGER line(5) as this library reads
 * descriptors. */
HF_PUBLIC int herald_fortran_probe(const CFI_cdesc_t* d) {
  return d->elem_len == 4 && d->rank == 1 && d->dim[0].extent == 3 && d->dim[0].sm == 8 &&
         *(int*)d->base_addr == 1;
}
