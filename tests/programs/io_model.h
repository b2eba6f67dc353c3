/* SPDX-License-Identifier: BSD-3-Clause */
/* io_model.h: what each rank does to a file of a test: views, buffers, accesses; and the calls that do it. */
#ifndef HERALD_TESTS_IO_MODEL_H
#define HERALD_TESTS_IO_MODEL_H
#include "check.h"

enum { MOST_PIECES = 40, FILE_BYTES = 1 << 17, MEMORY_BYTES = 1 << 15, MOST_RANKS = 64 };

static int rank, size;
static unsigned long long state;
static unsigned char expected[FILE_BYTES], memory[MEMORY_BYTES], wanted[MEMORY_BYTES];
static long expected_size;

static unsigned draw(unsigned bound) {
  state = state * 6364136223846793005ULL + 1442695040888963407ULL;
  return (unsigned)(state >> 33) % bound;
}

/* Pieces of bytes that repeat with an extent: a filetype, or a datatype of memory. */
struct Pieces {
  int count, at[MOST_PIECES], length[MOST_PIECES];
  long bytes, extent, disp;
};
struct Rank {
  struct Pieces view, buffer;
  long position; /* of the access, in bytes of the view */
  int items;     /* of the buffer's type */
};
static struct Rank ranks[MOST_RANKS];
static int unit;                                  /* bytes of the etype */
static long pointers[MOST_RANKS], shared_pointer; /* in etypes */

static void draw_pieces(struct Pieces* p, int whole, unsigned longest, unsigned gap) {
  int i, at = 0;
  p->count = whole ? 1 : 1 + (int)draw(MOST_PIECES);
  p->bytes = 0;
  for (i = 0; i < p->count; i++) {
    if (!whole) at += unit * (int)draw(gap);
    p->at[i] = at;
    p->length[i] = unit * (1 + (int)draw(longest));
    at += p->length[i];
    p->bytes += p->length[i];
  }
  p->extent = at + (whole ? 0 : unit * (long)draw(gap));
  p->disp = unit * (long)draw(20);
}

static long offset_of(const struct Pieces* p, long position) {
  const long turn = position / p->bytes;
  long rest = position % p->bytes;
  int i;
  for (i = 0; rest >= p->length[i]; i++) rest -= p->length[i];
  return p->disp + turn * p->extent + p->at[i] + rest;
}

static MPI_Datatype make_type(const struct Pieces* p) {
  MPI_Aint at[MOST_PIECES];
  MPI_Datatype pieces, type;
  int i;
  for (i = 0; i < p->count; i++) at[i] = p->at[i];
  MPI_Type_create_hindexed(p->count, p->length, at, MPI_BYTE, &pieces);
  MPI_Type_create_resized(pieces, 0, p->extent, &type);
  MPI_Type_commit(&type);
  MPI_Type_free(&pieces);
  return type;
}

/* Ranks that share pointers need the same view. */
static void set_view(MPI_File fh, int same) {
  const int whole = draw(3) == 0, interleaved = draw(2) == 0;
  struct Pieces first;
  MPI_Datatype etype, type;
  int i;
  unit = draw(2) == 0 ? 1 : 4;
  draw_pieces(&first, whole, 30, 20);
  for (i = 0; i < size; i++) {
    if (i == 0 || same)
      ranks[i].view = first;
    else if (interleaved) { /* the pieces of all ranks alternate */
      ranks[i].view = first;
      ranks[i].view.disp = first.disp + i * first.extent;
    } else {
      draw_pieces(&ranks[i].view, draw(3) == 0, 30, 20);
    }
    pointers[i] = 0;
  }
  if (interleaved && !same)
    for (i = 0; i < size; i++) ranks[i].view.extent *= size;
  shared_pointer = 0;
  MPI_Type_contiguous(unit, MPI_BYTE, &etype);
  MPI_Type_commit(&etype);
  type = make_type(&ranks[rank].view);
  OK(MPI_File_set_view(fh, ranks[rank].view.disp, etype, type, draw(2) == 0 ? "native" : "internal",
                       MPI_INFO_NULL));
  MPI_Type_free(&type);
  MPI_Type_free(&etype);
}

static long bytes_of(const struct Rank* r) { return r->buffer.bytes * r->items; }

static unsigned char value_at(int step, long offset) { return (unsigned char)(offset * 31 + step * 7 + 3); }

/* The access of each rank; none leaves the file of the test. */
static void draw_accesses(void) {
  int i;
  for (i = 0; i < size; i++) {
    struct Rank* r = &ranks[i];
    draw_pieces(&r->buffer, draw(2) == 0, 200, 5);
    r->buffer.disp = 0;
    r->items = draw(8) == 0 ? 0 : 1 + (int)draw(3);
    while (r->items > 0 && r->buffer.extent * r->items > MEMORY_BYTES) r->items--;
    r->position = unit * (long)draw(200);
    while (r->items > 0 && offset_of(&r->view, r->position + bytes_of(r) - 1) >= FILE_BYTES) r->items--;
  }
}

enum How {
  AT,
  SEEK,
  SHARED,
  I_AT,
  I_SEEK,
  I_SHARED,
  ALL_AT,
  ALL,
  ORDERED,
  I_ALL_AT,
  I_ALL,
  SPLIT_AT,
  SPLIT,
  SPLIT_ORDERED,
  HOWS
};
static const char* const names[HOWS] = {
    "at",  "individual", "shared",   "i at",  "i individual", "i shared",  "at_all",
    "all", "ordered",    "i at_all", "i all", "split at_all", "split all", "split ordered"};

static int uses_shared(int how) {
  return how == SHARED || how == I_SHARED || how == ORDERED || how == SPLIT_ORDERED;
}
static int uses_pointer(int how) {
  return how == SEEK || how == I_SEEK || how == ALL || how == I_ALL || how == SPLIT;
}

static int independent(MPI_File fh, int how, int writes, MPI_Offset at, MPI_Datatype type, int n,
                       MPI_Status* status) {
  MPI_Request request;
  int code;
  switch (how) {
    case AT:
      return writes ? MPI_File_write_at(fh, at, memory, n, type, status)
                    : MPI_File_read_at(fh, at, memory, n, type, status);
    case SEEK:
      return writes ? MPI_File_write(fh, memory, n, type, status)
                    : MPI_File_read(fh, memory, n, type, status);
    case SHARED:
      return writes ? MPI_File_write_shared(fh, memory, n, type, status)
                    : MPI_File_read_shared(fh, memory, n, type, status);
    case I_AT:
      code = writes ? MPI_File_iwrite_at(fh, at, memory, n, type, &request)
                    : MPI_File_iread_at(fh, at, memory, n, type, &request);
      break;
    case I_SEEK:
      code = writes ? MPI_File_iwrite(fh, memory, n, type, &request)
                    : MPI_File_iread(fh, memory, n, type, &request);
      break;
    default:
      code = writes ? MPI_File_iwrite_shared(fh, memory, n, type, &request)
                    : MPI_File_iread_shared(fh, memory, n, type, &request);
  }
  return code == MPI_SUCCESS ? MPI_Wait(&request, status) : code;
}

static int start_collective(MPI_File fh, int how, int writes, MPI_Offset at, void* data, MPI_Datatype type,
                            int n, MPI_Request* request) {
  if (how == I_ALL_AT)
    return writes ? MPI_File_iwrite_at_all(fh, at, data, n, type, request)
                  : MPI_File_iread_at_all(fh, at, data, n, type, request);
  return writes ? MPI_File_iwrite_all(fh, data, n, type, request)
                : MPI_File_iread_all(fh, data, n, type, request);
}

static int collective(MPI_File fh, int how, int writes, MPI_Offset at, MPI_Datatype type, int n,
                      MPI_Status* status) {
  MPI_Request request;
  int code;
  switch (how) {
    case ALL_AT:
      return writes ? MPI_File_write_at_all(fh, at, memory, n, type, status)
                    : MPI_File_read_at_all(fh, at, memory, n, type, status);
    case ALL:
      return writes ? MPI_File_write_all(fh, memory, n, type, status)
                    : MPI_File_read_all(fh, memory, n, type, status);
    case ORDERED:
      return writes ? MPI_File_write_ordered(fh, memory, n, type, status)
                    : MPI_File_read_ordered(fh, memory, n, type, status);
    default: code = start_collective(fh, how, writes, at, memory, type, n, &request);
  }
  return code == MPI_SUCCESS ? MPI_Wait(&request, status) : code;
}

static int split(MPI_File fh, int how, int writes, MPI_Offset at, MPI_Datatype type, int n,
                 MPI_Status* status) {
  int code;
  switch (how) {
    case SPLIT_AT:
      code = writes ? MPI_File_write_at_all_begin(fh, at, memory, n, type)
                    : MPI_File_read_at_all_begin(fh, at, memory, n, type);
      if (code != MPI_SUCCESS) return code;
      return writes ? MPI_File_write_at_all_end(fh, memory, status)
                    : MPI_File_read_at_all_end(fh, memory, status);
    case SPLIT:
      code = writes ? MPI_File_write_all_begin(fh, memory, n, type)
                    : MPI_File_read_all_begin(fh, memory, n, type);
      if (code != MPI_SUCCESS) return code;
      return writes ? MPI_File_write_all_end(fh, memory, status) : MPI_File_read_all_end(fh, memory, status);
    default:
      code = writes ? MPI_File_write_ordered_begin(fh, memory, n, type)
                    : MPI_File_read_ordered_begin(fh, memory, n, type);
      if (code != MPI_SUCCESS) return code;
      return writes ? MPI_File_write_ordered_end(fh, memory, status)
                    : MPI_File_read_ordered_end(fh, memory, status);
  }
}

static int transfer(MPI_File fh, int how, int writes, MPI_Offset at, MPI_Datatype type, int n,
                    MPI_Status* status) {
  if (how < ALL_AT) return independent(fh, how, writes, at, type, n, status);
  if (how < SPLIT_AT) return collective(fh, how, writes, at, type, n, status);
  return split(fh, how, writes, at, type, n, status);
}

#endif
