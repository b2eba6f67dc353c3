/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory that lives as long as a C object: arrays of datatypes while MPI reads them for a request, and the
 * integers that C sees as attributes set in Fortran. */
#include "herald_fortran.h"

enum { kRows = 64 };
static size_t row_of(uintptr_t key) { return (key >> 4 ^ key >> 10) % kRows; }

/* Arrays of a nonblocking or persistent call. They are freed when a Fortran call sets the request to null. A
 * request that ends in C leaves them, until the library gives the same handle to another request. */
typedef struct Kept {
  struct Kept* next;
  MPI_Request request;
  MPI_Datatype* arrays[2];
} Kept;
static Kept* kept[kRows];
int hf_kept_count;

MPI_Datatype* hf_make_types(const MPI_Fint* types, int count) {
  MPI_Datatype* made = malloc(((size_t)count + 1) * sizeof(MPI_Datatype));
  for (int i = 0; made != NULL && i < count; i++) made[i] = hf_datatype_in(types[i]);
  return made;
}

static void drop(MPI_Request request) {
  Kept** at = &kept[row_of((uintptr_t)request)];
  while (*at != NULL && (*at)->request != request) at = &(*at)->next;
  Kept* found = *at;
  if (found == NULL) return;
  *at = found->next;
  free(found->arrays[0]);
  free(found->arrays[1]);
  free(found);
  hf_kept_count--;
}

void hf_keep_types(int code, MPI_Request request, MPI_Datatype* first, MPI_Datatype* second) {
  Kept* made = code == MPI_SUCCESS ? malloc(sizeof(Kept)) : NULL;
  if (made == NULL) {
    /* Without memory for the entry a pending request keeps its arrays for ever. */
    if (code != MPI_SUCCESS) free(first), free(second);
    return;
  }
  *made = (Kept){NULL, request, {first, second}};
  hf_lock();
  drop(request);
  Kept** row = &kept[row_of((uintptr_t)request)];
  made->next = *row;
  *row = made;
  hf_kept_count++;
  hf_unlock();
}

void hf_drop_types(MPI_Fint request) {
  hf_lock();
  drop(hf_request_in(request));
  hf_unlock();
}

/* Attributes. C gets the address of the value that Fortran has set; `value` is the first member. */
typedef struct Box {
  MPI_Aint value;
  struct Box* next;
} Box;
static Box* boxes[kRows];

void* hf_box(MPI_Aint value) {
  Box* made = malloc(sizeof(Box));
  if (made == NULL) return NULL;
  made->value = value;
  hf_lock();
  Box** row = &boxes[row_of((uintptr_t)made)];
  made->next = *row;
  *row = made;
  hf_unlock();
  return made;
}

static Box** find_box(const void* attribute) {
  Box** at = &boxes[row_of((uintptr_t)attribute)];
  while (*at != NULL && *at != attribute) at = &(*at)->next;
  return at;
}

MPI_Aint hf_unbox(void* attribute, int* is_box) {
  hf_lock();
  const Box* found = *find_box(attribute);
  *is_box = found != NULL;
  const MPI_Aint value = found != NULL ? found->value : (MPI_Aint)attribute;
  hf_unlock();
  return value;
}

void hf_free_box(void* attribute) {
  hf_lock();
  Box** at = find_box(attribute);
  Box* found = *at;
  if (found != NULL) *at = found->next;
  hf_unlock();
  free(found);
}
