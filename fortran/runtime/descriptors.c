/* SPDX-License-Identifier: BSD-3-Clause */
/* Array sections with strides: as a datatype, so that nothing is copied, or as a copy where MPI needs one. */
#include "descriptors.h"

int hf_view_error(int error_class) {
  PMPI_Comm_call_errhandler(MPI_COMM_SELF, error_class);
  return error_class;
}

static HfView failure(int error_class) {
  HfView view = {.failed = error_class, .made = MPI_DATATYPE_NULL};
  return view;
}

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

/* One instance of the new datatype is `count` of the given one, taken from the elements of the section. */
HfView hf_make_type(CFI_cdesc_t* d, MPI_Count count, MPI_Fint datatype) {
  const MPI_Datatype given = hf_datatype_in(datatype);
  MPI_Count size = 0;
  MPI_Count lb = 0;
  MPI_Count extent = 0;
  MPI_Datatype element = MPI_DATATYPE_NULL;
  if (PMPI_Type_size_c(given, &size) != MPI_SUCCESS ||
      PMPI_Type_get_extent_c(given, &lb, &extent) != MPI_SUCCESS)
    return failure(MPI_ERR_TYPE);
  const MPI_Count bytes = size * count;
  const MPI_Count element_bytes = (MPI_Count)d->elem_len;
  /* A datatype with gaps, or one that ends inside an element, has no place in a section. */
  if (size != extent || bytes % element_bytes != 0 || bytes / element_bytes > elements_of(d))
    return failure(MPI_ERR_BUFFER);
  HfView view = {.base = d->base_addr, .count = 1, .count_c = 1, .made = MPI_DATATYPE_NULL};
  int code = size > 0 && element_bytes % size == 0
                 ? PMPI_Type_contiguous_c(element_bytes / size, given, &element)
                 : PMPI_Type_contiguous_c(element_bytes, MPI_BYTE, &element);
  if (bytes == 0) view.count = 0, view.count_c = 0;
  if (code == MPI_SUCCESS && bytes > 0)
    code = describe(d, d->rank - 1, bytes / element_bytes, element, &view.made);
  if (code == MPI_SUCCESS && bytes > 0) code = PMPI_Type_commit(&view.made);
  if (element != MPI_DATATYPE_NULL) PMPI_Type_free(&element);
  view.failed = code;
  view.datatype = bytes > 0 ? hf_datatype_out(view.made) : datatype;
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

HfView hf_make_copy(CFI_cdesc_t* d, int read_only) {
  char* flat = malloc((size_t)elements_of(d) * d->elem_len);
  if (flat == NULL) return failure(MPI_ERR_NO_MEM);
  move(d, flat, 0);
  HfView view = {.base = flat, .made = MPI_DATATYPE_NULL, .copied = d, .read_only = read_only};
  return view;
}

void hf_free_view(HfView* view) {
  if (view->made != MPI_DATATYPE_NULL) PMPI_Type_free(&view->made);
  if (view->copied == NULL) return;
  if (!view->read_only) move(view->copied, view->base, 1);
  free(view->base);
}
