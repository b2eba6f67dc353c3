/* SPDX-License-Identifier: BSD-3-Clause */
/* Random one-sided operations in every kind of window and epoch, compared with a serial model. All ranks draw
   the same numbers, so each of them knows the operations of all. What could go wrong: bytes go to the wrong
   place, operations are lost, repeated or reordered, an update is not atomic, a call returns too early. */
#include <stdint.h>
#include <time.h>

#include "check.h"
#include "rma_model.h"

enum { kCells = 6, kSharedSlots = 16, kMostOps = 4, kMostSmall = 24 };
enum Sync { kFence, kPscw, kExclusive, kShared, kLockAll, kSyncs };
enum Kind { kPut, kGet, kAccumulate, kGetAccumulate, kSwap, kKinds };

static int rank, size;
/* Window memory of a rank: kCells cells for each origin, then slots that all ranks update. */
struct Round {
  int flavor, sync, disp_unit;
  size_t cell_bytes, bytes;
  MPI_Win win;
  char* base;
  char* model; /* of all ranks */
  MPI_Aint* addresses;
};

static size_t cell_at(const struct Round* r, int origin, int cell) {
  return ((size_t)origin * kCells + (size_t)cell) * r->cell_bytes;
}
static size_t shared_at(const struct Round* r) { return (size_t)size * kCells * r->cell_bytes; }

/* An operation of this rank: its buffers live until the epoch ends, and its result is checked then. */
struct Open {
  char *data, *result, *expected;
  size_t bytes;
  int stride;
  struct Open* next;
};
static struct Open* open_list;
static MPI_Request requests[4096];
static int request_count;

static void end_operations(void) {
  while (open_list) {
    struct Open* op = open_list;
    open_list = op->next;
    if (op->result) {
      size_t i, wrong = 0;
      for (i = 0; i < op->bytes; i++) wrong += op->result[i] != op->expected[i];
      CHECK(wrong == 0);
    }
    free(op->data), free(op->result), free(op->expected), free(op);
  }
}

struct Draw {
  int kind, element, count, target_stride, origin_stride, request;
  MPI_Op op;
};

static struct Draw draw_operation(const struct Round* r, int kind, int element) {
  struct Draw d;
  const int most = (int)(r->cell_bytes / element_bytes[element]);
  MPI_Op ops[6] = {MPI_SUM, MPI_MAX, MPI_MIN, MPI_REPLACE, MPI_PROD, MPI_BXOR};
  d.kind = kind;
  d.element = element;
  d.target_stride = below(3) == 0 ? 2 : 1;
  d.origin_stride = below(4) == 0 ? 2 : 1;
  d.count = below(3) == 0 ? 1 + below(most / d.target_stride) : 1 + below(kMostSmall);
  if (d.count > most / d.target_stride) d.count = most / d.target_stride;
  d.op = ops[below(element == kDouble ? 4 : 6)];
  if (kind == kGetAccumulate && below(4) == 0) d.op = MPI_NO_OP;
  d.request = below(3) == 0;
  return d;
}

static MPI_Datatype strided(int count, int stride, int element) {
  MPI_Datatype type;
  MPI_Type_vector(count, 1, stride, element_type(element), &type);
  MPI_Type_commit(&type);
  return type;
}

/* `data` holds `count` elements in a row; origin buffers spread them by the stride. */
static void call_operation(struct Round* r, struct Draw d, int target, size_t at, const char* data,
                           const char* before) {
  const size_t each = element_bytes[d.element], span = each * (size_t)d.count * (size_t)d.origin_stride;
  struct Open* op = calloc(1, sizeof *op);
  MPI_Datatype origin = d.origin_stride == 1 ? element_type(d.element) : strided(d.count, 2, d.element);
  MPI_Datatype there = d.target_stride == 1 ? element_type(d.element) : strided(d.count, 2, d.element);
  const int origin_count = d.origin_stride == 1 ? d.count : 1,
            there_count = d.target_stride == 1 ? d.count : 1;
  const MPI_Aint disp = r->addresses ? r->addresses[target] + (MPI_Aint)at : (MPI_Aint)at / r->disp_unit;
  MPI_Request* request =
      d.request && r->sync >= kExclusive && request_count < 4096 ? &requests[request_count] : NULL;
  const int fetches = d.kind == kGet || d.kind == kGetAccumulate || d.kind == kSwap;
  int i;
  op->data = malloc(span);
  memset(op->data, 0x55, span);
  for (i = 0; i < d.count; i++)
    memcpy(op->data + each * (size_t)(i * d.origin_stride), data + each * (size_t)i, each);
  if (fetches) {
    op->bytes = span;
    op->result = malloc(span);
    op->expected = malloc(span);
    memset(op->result, 0x33, span);
    memset(op->expected, 0x33, span);
    for (i = 0; i < d.count; i++)
      memcpy(op->expected + each * (size_t)(i * d.origin_stride),
             before + each * (size_t)(i * d.target_stride), each);
  }
  op->next = open_list;
  open_list = op;
  switch (d.kind) {
    case kPut:
      if (request)
        OK(MPI_Rput(op->data, origin_count, origin, target, disp, there_count, there, r->win, request));
      else
        OK(MPI_Put(op->data, origin_count, origin, target, disp, there_count, there, r->win));
      break;
    case kGet:
      if (request)
        OK(MPI_Rget(op->result, origin_count, origin, target, disp, there_count, there, r->win, request));
      else
        OK(MPI_Get(op->result, origin_count, origin, target, disp, there_count, there, r->win));
      break;
    case kAccumulate:
      if (request)
        OK(MPI_Raccumulate(op->data, origin_count, origin, target, disp, there_count, there, d.op, r->win,
                           request));
      else
        OK(MPI_Accumulate_c(op->data, origin_count, origin, target, disp, there_count, there, d.op, r->win));
      break;
    case kGetAccumulate:
      if (request)
        OK(MPI_Rget_accumulate(op->data, origin_count, origin, op->result, origin_count, origin, target, disp,
                               there_count, there, d.op, r->win, request));
      else if (d.count == 1 && d.origin_stride == 1 && d.target_stride == 1)
        OK(MPI_Fetch_and_op(op->data, op->result, element_type(d.element), target, disp, d.op, r->win));
      else
        OK(MPI_Get_accumulate(d.op == MPI_NO_OP ? NULL : op->data, origin_count, origin, op->result,
                              origin_count, origin, target, disp, there_count, there, d.op, r->win));
      break;
  }
  if (request) request_count++;
  if (d.origin_stride != 1) MPI_Type_free(&origin);
  if (d.target_stride != 1) MPI_Type_free(&there);
}

static void call_swap(struct Round* r, int target, size_t at, int64_t value, int64_t compared,
                      const char* before) {
  struct Open* op = calloc(1, sizeof *op);
  const MPI_Aint disp = r->addresses ? r->addresses[target] + (MPI_Aint)at : (MPI_Aint)at / r->disp_unit;
  op->data = malloc(16);
  op->result = malloc(8);
  op->expected = malloc(8);
  op->bytes = 8;
  memcpy(op->data, &value, 8), memcpy(op->data + 8, &compared, 8), memcpy(op->expected, before, 8);
  op->next = open_list;
  open_list = op;
  OK(MPI_Compare_and_swap(op->data, op->data + 8, op->result, MPI_INT64_T, target, disp, r->win));
}

/* One operation, or a sequence of updates, on each cell that `origin` has at `target`. The model follows. */
static void operate(struct Round* r, int origin, int target) {
  int cell, i, n;
  for (cell = 0; cell < kCells; cell++) {
    const size_t at = cell_at(r, origin, cell);
    char* model = r->model + (size_t)target * r->bytes + at;
    const int kind = below(kKinds), element = below(kElements);
    const int updates = kind == kAccumulate || kind == kGetAccumulate;
    const int count = kind == kSwap ? 2 : updates ? 1 + below(kMostOps) : 1;
    if (below(4) == 0) continue;
    for (n = 0; n < count; n++) {
      struct Draw d = draw_operation(r, updates && below(2) ? kAccumulate : kind, element);
      char* data;
      if (kind == kSwap) {
        int64_t old, value = below(100), compared;
        memcpy(&old, model, 8);
        compared = below(2) ? old : old + 1;
        if (origin == rank) call_swap(r, target, at, value, compared, model);
        if (compared == old) memcpy(model, &value, 8);
        continue;
      }
      data = malloc(r->cell_bytes);
      random_elements(data, d.count, element);
      if (origin == rank) call_operation(r, d, target, at, data, model);
      for (i = 0; i < d.count; i++) {
        const size_t each = element_bytes[element];
        char* to = model + each * (size_t)(i * d.target_stride);
        if (d.kind == kPut) memcpy(to, data + each * (size_t)i, each);
        if (d.kind == kAccumulate || d.kind == kGetAccumulate)
          reduce_element(to, data + each * (size_t)i, element, d.op);
      }
      free(data);
    }
  }
}

/* Every rank adds to the same slots; the values that it fetches from slot 0 grow. */
static int64_t fetched[64], addend = 1;
static void operate_shared(struct Round* r, int origin, int target, int times) {
  int64_t* model = (int64_t*)(void*)(r->model + (size_t)target * r->bytes + shared_at(r));
  const size_t at = shared_at(r);
  const MPI_Aint disp = r->addresses ? r->addresses[target] + (MPI_Aint)at : (MPI_Aint)at / r->disp_unit;
  int i;
  for (i = 0; i < times; i++) {
    const int slot = 1 + below(kSharedSlots - 1);
    model[0] += 1;
    model[slot] += 1;
    if (origin != rank) continue;
    OK(MPI_Fetch_and_op(&addend, &fetched[i], MPI_INT64_T, target, disp, MPI_SUM, r->win));
    OK(MPI_Accumulate(&addend, 1, MPI_INT64_T, target,
                      r->addresses ? disp + 8 * slot : (MPI_Aint)(at + 8 * (size_t)slot) / r->disp_unit, 1,
                      MPI_INT64_T, MPI_SUM, r->win));
  }
}

static void check_fetched(int times) {
  while (--times > 0) CHECK(fetched[times] > fetched[times - 1]);
}

static void wait_requests(void) {
  OK(MPI_Waitall(request_count, requests, MPI_STATUSES_IGNORE));
  request_count = 0;
}

static void operations_on(struct Round* r, int target, int times) {
  int origin;
  for (origin = 0; origin < size; origin++) {
    operate(r, origin, target);
    operate_shared(r, origin, target, times);
  }
}

static void epoch(struct Round* r) {
  const int times = 1 + below(8), flushes = below(2);
  int target;
  MPI_Group all;
  if (r->sync == kFence) OK(MPI_Win_fence(below(2) ? MPI_MODE_NOPRECEDE : 0, r->win));
  if (r->sync == kLockAll) OK(MPI_Win_lock_all(0, r->win));
  if (r->sync == kPscw) {
    MPI_Win_get_group(r->win, &all);
    OK(MPI_Win_post(all, 0, r->win));
    OK(MPI_Win_start(all, 0, r->win));
    MPI_Group_free(&all);
  }
  for (target = 0; target < size; target++) {
    if (r->sync == kExclusive) OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, r->win));
    if (r->sync == kShared) OK(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, r->win));
    operations_on(r, target, times);
    if (r->sync >= kExclusive) wait_requests();
    if (r->sync >= kShared && flushes) {
      OK(target % 2 ? MPI_Win_flush(target, r->win) : MPI_Win_flush_all(r->win));
      end_operations();
      check_fetched(times);
    }
    if (r->sync == kExclusive || r->sync == kShared) {
      OK(MPI_Win_unlock(target, r->win));
      end_operations();
      check_fetched(times);
    }
  }
  if (r->sync == kFence) OK(MPI_Win_fence(0, r->win));
  if (r->sync == kLockAll) OK(MPI_Win_unlock_all(r->win));
  if (r->sync == kPscw) {
    int flag = 0;
    OK(MPI_Win_complete(r->win));
    if (times % 2) OK(MPI_Win_wait(r->win));
    while (times % 2 == 0 && !flag) OK(MPI_Win_test(r->win, &flag));
  }
  end_operations();
}

static void make_window(struct Round* r) {
  MPI_Aint own;
  r->addresses = NULL;
  switch (r->flavor) {
    case MPI_WIN_FLAVOR_CREATE:
      r->base = malloc(r->bytes);
      OK(MPI_Win_create(r->base, (MPI_Aint)r->bytes, r->disp_unit, MPI_INFO_NULL, MPI_COMM_WORLD, &r->win));
      break;
    case MPI_WIN_FLAVOR_ALLOCATE:
      OK(MPI_Win_allocate((MPI_Aint)r->bytes, r->disp_unit, MPI_INFO_NULL, MPI_COMM_WORLD, &r->base,
                          &r->win));
      break;
    case MPI_WIN_FLAVOR_SHARED:
      OK(MPI_Win_allocate_shared((MPI_Aint)r->bytes, r->disp_unit, MPI_INFO_NULL, MPI_COMM_WORLD, &r->base,
                                 &r->win));
      break;
    default:
      r->base = malloc(r->bytes);
      r->addresses = malloc(sizeof(MPI_Aint) * (size_t)size);
      OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &r->win));
      OK(MPI_Win_attach(r->win, r->base, (MPI_Aint)r->bytes));
      MPI_Get_address(r->base, &own);
      MPI_Allgather(&own, 1, MPI_AINT, r->addresses, 1, MPI_AINT, MPI_COMM_WORLD);
  }
}

static void run_round(int single_host) {
  struct Round r;
  const int flavors[4] = {MPI_WIN_FLAVOR_CREATE, MPI_WIN_FLAVOR_ALLOCATE, MPI_WIN_FLAVOR_DYNAMIC,
                          MPI_WIN_FLAVOR_SHARED};
  const int units[3] = {1, 4, 8};
  const int large = below(4) == 0 && size <= 7;
  int epochs = 1 + below(3);
  r.flavor = flavors[below(single_host ? 4 : 3)];
  r.sync = below(kSyncs);
  r.disp_unit = units[below(3)];
  r.cell_bytes = large ? 40000 : 512;
  r.bytes = shared_at(&r) + kSharedSlots * sizeof(int64_t);
  r.model = calloc((size_t)size, r.bytes);
  make_window(&r);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, r.win);
  memset(r.base, 0, r.bytes);
  MPI_Win_unlock(rank, r.win);
  MPI_Barrier(MPI_COMM_WORLD);
  while (epochs-- > 0) {
    const int before = check_failures_;
    epoch(&r);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, r.win);
    CHECK(memcmp(r.base, r.model + (size_t)rank * r.bytes, r.bytes) == 0);
    MPI_Win_unlock(rank, r.win);
    if (check_failures_ != before)
      fprintf(stderr, "rank %d: flavor %d, synchronisation %d, disp_unit %d, cells of %zu bytes\n", rank,
              r.flavor, r.sync, r.disp_unit, r.cell_bytes);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (r.addresses) OK(MPI_Win_detach(r.win, r.base));
  OK(MPI_Win_free(&r.win));
  if (r.flavor == MPI_WIN_FLAVOR_CREATE || r.flavor == MPI_WIN_FLAVOR_DYNAMIC) free(r.base);
  free(r.addresses);
  free(r.model);
}

int main(int argc, char** argv) {
  const char* given = getenv("HERALD_SEED");
  int rounds = argc > 1 ? atoi(argv[1]) : 30, local_size, single, i;
  MPI_Comm local;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  seed = given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
  MPI_Bcast(&seed, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("HERALD_SEED=%llu\n", (unsigned long long)seed);
  state = seed * 0x9e3779b97f4a7c15ull + 1;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &local);
  MPI_Comm_size(local, &local_size);
  single = local_size == size;
  MPI_Allreduce(MPI_IN_PLACE, &single, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  MPI_Comm_free(&local);
  for (i = 0; i < rounds; i++) run_round(single);
  return check_finalize();
}
