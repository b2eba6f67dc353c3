/* SPDX-License-Identifier: BSD-3-Clause */
/* hash_table.c: a hash table that is spread over all ranks. A rank inserts and finds keys in the memory of
   the others by one-sided operations; the owners of that memory take no part. A slot is claimed with
   MPI_Compare_and_swap, and values are added with MPI_Accumulate. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>

enum { kSlots = 4096, kWords = 5000, kKeys = 1000 };

struct Slot {
  int64_t key; /* 0: free */
  int64_t count;
};

static int ranks;

static uint64_t hash(int64_t key) {
  uint64_t z = (uint64_t)key * 0x9e3779b97f4a7c15u;
  return (z ^ z >> 29) * 0xbf58476d1ce4e5b9u >> 16;
}

/* Where `key` is or belongs: the first slot with it, or a free one, which it claims if asked to. The
   displacement of the slot is returned; -1: there is none. */
static MPI_Aint find_slot(MPI_Win win, int64_t key, int claim, int* owner) {
  const uint64_t start = hash(key);
  const int64_t none = 0;
  for (uint64_t probe = 0; probe < kSlots; probe++) {
    const uint64_t slot = (start + probe) % ((uint64_t)kSlots * (uint64_t)ranks);
    const MPI_Aint at = (MPI_Aint)(slot % kSlots * sizeof(struct Slot));
    int64_t found;
    *owner = (int)(slot / kSlots);
    if (claim)
      MPI_Compare_and_swap(&key, &none, &found, MPI_INT64_T, *owner, at, win);
    else
      MPI_Fetch_and_op(NULL, &found, MPI_INT64_T, *owner, at, MPI_NO_OP, win);
    MPI_Win_flush(*owner, win);
    if (found == key || (claim && found == none)) return at;
    if (found == none) return -1;
  }
  return -1;
}

static void add(MPI_Win win, int64_t key, const int64_t* count) {
  int owner;
  const MPI_Aint at = find_slot(win, key, 1, &owner);
  if (at >= 0)
    MPI_Accumulate(count, 1, MPI_INT64_T, owner, at + (MPI_Aint)sizeof key, 1, MPI_INT64_T, MPI_SUM, win);
}

static int64_t look_up(MPI_Win win, int64_t key) {
  int owner;
  int64_t count = 0;
  const MPI_Aint at = find_slot(win, key, 0, &owner);
  if (at < 0) return 0;
  MPI_Get(&count, 1, MPI_INT64_T, owner, at + (MPI_Aint)sizeof key, 1, MPI_INT64_T, win);
  MPI_Win_flush(owner, win);
  return count;
}

int main(int argc, char** argv) {
  int rank, wrong = 0, all_wrong = 0;
  struct Slot* slots;
  MPI_Win win;
  const int64_t one = 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Win_allocate(kSlots * sizeof(struct Slot), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &slots, &win);
  for (int i = 0; i < kSlots; i++) slots[i] = (struct Slot){0, 0};
  MPI_Barrier(MPI_COMM_WORLD);

  const double begin = MPI_Wtime();
  const int words = kWords / ranks;
  MPI_Win_lock_all(0, win);
  for (int i = 0; i < words; i++) add(win, 1 + (rank * words + i) % kKeys, &one);
  MPI_Win_flush_all(win);
  MPI_Barrier(MPI_COMM_WORLD);
  const double inserted = MPI_Wtime();
  for (int64_t key = 1 + rank; key <= kKeys; key += ranks) {
    const int64_t expected = words * ranks / kKeys + (key <= words * ranks % kKeys ? 1 : 0);
    wrong += look_up(win, key) != expected;
  }
  wrong += look_up(win, kKeys + 1 + rank) != 0;
  MPI_Win_unlock_all(win);

  MPI_Reduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0)
    printf("%d keys counted by %d ranks, %.1f us per insertion, %d wrong\n", kKeys, ranks,
           words > 0 ? (inserted - begin) * 1e6 / words : 0.0, all_wrong);
  MPI_Win_free(&win);
  MPI_Finalize();
  return all_wrong != 0;
}
