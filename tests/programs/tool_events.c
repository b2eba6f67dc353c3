/* SPDX-License-Identifier: BSD-3-Clause */
/* What could go wrong: events that have a name but never occur; values, times or sources that are wrong; a
   callback that runs inside the library although it may call MPI, or after its registration was freed; events
   that are lost without a word; wrong handles that are followed. */
#include "check.h"

enum { most = 64 };
static int rank, size, free_calls, calls_inside;

typedef struct {
  int index, elements, count, safety;
  long long last[3];
  MPI_Count last_time;
  MPI_Count dropped;
} Seen;

static int index_of(const char* name) {
  int index = -1;
  CHECK(MPI_T_event_get_index(name, &index) == MPI_SUCCESS);
  return index;
}

static void on_event(MPI_T_event_instance instance, MPI_T_event_registration registration,
                     MPI_T_cb_safety safety, void* data) {
  Seen* seen = data;
  MPI_Count time = 0, now = 0;
  int source = -1;
  (void)registration;
  for (int i = 0; i < seen->elements; i++) {
    long long value = -1;
    CHECK(MPI_T_event_read(instance, i, &value) == MPI_SUCCESS);
    seen->last[i] = value;
  }
  long long all[3] = {0, 0, 0};
  CHECK(MPI_T_event_copy(instance, all) == MPI_SUCCESS);
  CHECK(memcmp(all, seen->last, (size_t)seen->elements * sizeof(long long)) == 0);
  CHECK(MPI_T_event_read(instance, seen->elements, all) == MPI_T_ERR_INVALID_INDEX);
  CHECK(MPI_T_event_get_source(instance, &source) == MPI_SUCCESS && source == 0);
  CHECK(MPI_T_event_get_timestamp(instance, &time) == MPI_SUCCESS);
  CHECK(MPI_T_source_get_timestamp(0, &now) == MPI_SUCCESS);
  CHECK(time > 0 && time <= now && time >= seen->last_time);
  seen->last_time = time;
  seen->safety = (int)safety;
  seen->count++;
}

/* May call MPI. */
static void on_event_send(MPI_T_event_instance instance, MPI_T_event_registration registration,
                          MPI_T_cb_safety safety, void* data) {
  int value = 5, got = 0;
  on_event(instance, registration, safety, data);
  OK(MPI_Sendrecv(&value, 1, MPI_INT, 0, 77, &got, 1, MPI_INT, 0, 77, MPI_COMM_SELF, MPI_STATUS_IGNORE));
  CHECK(got == 5);
  calls_inside++;
}

static void on_dropped(MPI_Count count, MPI_T_event_registration registration, int source,
                       MPI_T_cb_safety safety, void* data) {
  (void)registration;
  (void)safety;
  CHECK(source == 0 && count > 0);
  ((Seen*)data)->dropped += count;
}

static void on_free(MPI_T_event_registration registration, MPI_T_cb_safety safety, void* data) {
  (void)registration;
  (void)safety;
  CHECK(data == &free_calls);
  free_calls++;
}

static MPI_T_event_registration listen(const char* name, MPI_T_cb_safety safety, Seen* seen,
                                       MPI_T_event_cb_function* function) {
  MPI_T_event_registration registration;
  MPI_Datatype types[3];
  MPI_Aint offsets[3];
  memset(seen, 0, sizeof *seen);
  seen->index = index_of(name);
  seen->elements = 3;
  CHECK(MPI_T_event_get_info(seen->index, NULL, NULL, NULL, types, offsets, &seen->elements, NULL, NULL, NULL,
                             NULL, NULL) == MPI_SUCCESS);
  for (int i = 0; i < seen->elements; i++)
    CHECK(offsets[i] == 8 * i && (types[i] == MPI_COUNT || types[i] == MPI_AINT));
  CHECK(MPI_T_event_handle_alloc(seen->index, NULL, MPI_INFO_NULL, &registration) == MPI_SUCCESS);
  CHECK(MPI_T_event_register_callback(registration, safety, MPI_INFO_NULL, seen, function) == MPI_SUCCESS);
  return registration;
}

static void forget(MPI_T_event_registration registration) {
  int before = free_calls;
  CHECK(MPI_T_event_handle_free(registration, &free_calls, on_free) == MPI_SUCCESS);
  CHECK(free_calls == before + 1);
}

static void descriptions(void) {
  int events = 0, sources = 0, categories = 0, in_categories = 0;
  CHECK(MPI_T_event_get_num(&events) == MPI_SUCCESS && events > 10 && events <= most);
  for (int i = 0; i < events; i++) {
    char name[100], text[200], item[50];
    int name_length = sizeof name, text_length = sizeof text, verbosity = 0, elements = 0, bind = -1,
        index = -1;
    MPI_T_enum names;
    MPI_Info info;
    CHECK(MPI_T_event_get_info(i, name, &name_length, &verbosity, NULL, NULL, &elements, &names, &info, text,
                               &text_length, &bind) == MPI_SUCCESS);
    CHECK(strncmp(name, "herald_", 7) == 0 && text[0] != 0 && bind == MPI_T_BIND_NO_OBJECT);
    CHECK(MPI_T_event_get_index(name, &index) == MPI_SUCCESS && index == i);
    CHECK(MPI_Info_free(&info) == MPI_SUCCESS);
    CHECK((elements == 0) == (names == MPI_T_ENUM_NULL));
    for (int e = 0; e < elements; e++) {
      int value = -1, length = sizeof item;
      CHECK(MPI_T_enum_get_item(names, e, &value, item, &length) == MPI_SUCCESS && value == e &&
            item[0] != 0);
    }
  }
  CHECK(MPI_T_category_get_num(&categories) == MPI_SUCCESS);
  for (int i = 0; i < categories; i++) {
    int count = 0, list[most];
    CHECK(MPI_T_category_get_num_events(i, &count) == MPI_SUCCESS);
    CHECK(MPI_T_category_get_events(i, most, list) == MPI_SUCCESS);
    in_categories += count;
  }
  CHECK(in_categories == events);
  CHECK(MPI_T_source_get_num(&sources) == MPI_SUCCESS && sources == 1);
  char name[50], text[100];
  int name_length = sizeof name, text_length = sizeof text;
  MPI_T_source_order order;
  MPI_Count ticks = 0, largest = 0, first = 0, second = 0;
  MPI_Info info;
  CHECK(MPI_T_source_get_info(0, name, &name_length, text, &text_length, &order, &ticks, &largest, &info) ==
        MPI_SUCCESS);
  CHECK(ticks == 1000000000 && largest > ticks && order == MPI_T_SOURCE_ORDERED);
  CHECK(MPI_Info_free(&info) == MPI_SUCCESS);
  CHECK(MPI_T_source_get_timestamp(0, &first) == MPI_SUCCESS);
  CHECK(MPI_T_source_get_timestamp(0, &second) == MPI_SUCCESS && second >= first);
  CHECK(MPI_T_source_get_timestamp(1, &first) == MPI_T_ERR_INVALID_INDEX);
  CHECK(MPI_T_event_get_info(events, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL) ==
        MPI_T_ERR_INVALID_INDEX);
}

/* Messages that nobody waits for. */
static void late_messages(void) {
  enum { messages = 40 };
  Seen late, grown, kept;
  int value = rank;
  MPI_T_event_registration first = listen("herald_late_match", MPI_T_CB_REQUIRE_NONE, &late, on_event_send);
  MPI_T_event_registration second =
      listen("herald_unexpected", MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE, &grown, on_event);
  for (int i = 0; i < messages; i++) OK(MPI_Send(&value, 1, MPI_INT, 0, 3, MPI_COMM_SELF));
  for (int i = 0, flag = 1; i < 20; i++) { /* takes what has come */
    OK(MPI_Iprobe(0, 99, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE));
    CHECK(!flag);
  }
  CHECK(late.count == 0 && grown.count == 2); /* at 16 and at 32 */
  CHECK(grown.last[0] == 32 && grown.last[1] == 0 && grown.last[2] == 3);
  CHECK(grown.safety == MPI_T_CB_REQUIRE_THREAD_SAFE);
  OK(MPI_Recv(&value, 1, MPI_INT, 0, 3, MPI_COMM_SELF, MPI_STATUS_IGNORE));
  CHECK(late.count == 1 && late.last[0] == 0 && late.last[1] == 4 && late.last[2] == 3);
  CHECK(late.safety == MPI_T_CB_REQUIRE_NONE && calls_inside >= 1);
  forget(first);
  kept = late;
  for (int i = 1; i < messages; i++) OK(MPI_Recv(&value, 1, MPI_INT, 0, 3, MPI_COMM_SELF, MPI_STATUS_IGNORE));
  CHECK(late.count == kept.count);
  forget(second);
  CHECK(MPI_T_event_handle_free(second, NULL, NULL) == MPI_T_ERR_INVALID_HANDLE);
  CHECK(MPI_T_event_register_callback(second, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, NULL, on_event) ==
        MPI_T_ERR_INVALID_HANDLE);
}

static void collectives(void) {
  Seen plan, done;
  int one = 1, sum = 0;
  MPI_Comm comm;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  MPI_T_event_registration first = listen("herald_plan", MPI_T_CB_REQUIRE_MPI_RESTRICTED, &plan, on_event);
  MPI_T_event_registration second = listen("herald_coll_done", MPI_T_CB_REQUIRE_NONE, &done, on_event);
  for (int i = 0; i < 5; i++) OK(MPI_Scan(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
  CHECK(plan.count >= 1); /* once for all of them, and what the library itself needs */
  CHECK(plan.count < 5);
  CHECK(strlen((const char*)(MPI_Aint)plan.last[0]) > 2 && strlen((const char*)(MPI_Aint)plan.last[1]) > 0);
  CHECK(sum == rank + 1);
  forget(first);
  forget(second);
  OK(MPI_Comm_free(&comm));
}

/* More events in one call than wait for their callbacks. */
static void too_many(void) {
  enum { messages = 3000 };
  Seen started;
  static int values[messages];
  static MPI_Request requests[2 * messages];
  MPI_T_event_registration registration =
      listen("herald_send_start", MPI_T_CB_REQUIRE_NONE, &started, on_event);
  CHECK(MPI_T_event_set_dropped_handler(registration, on_dropped) == MPI_SUCCESS);
  for (int i = 0; i < messages; i++) {
    OK(MPI_Recv_init(&values[i], 1, MPI_INT, 0, 4, MPI_COMM_SELF, &requests[i]));
    OK(MPI_Send_init(&rank, 1, MPI_INT, 0, 4, MPI_COMM_SELF, &requests[messages + i]));
  }
  started.count = 0;
  OK(MPI_Startall(2 * messages, requests));
  OK(MPI_Waitall(2 * messages, requests, MPI_STATUSES_IGNORE));
  OK(MPI_Send(&rank, 1, MPI_INT, 0, 5, MPI_COMM_SELF));
  OK(MPI_Recv(&values[0], 1, MPI_INT, 0, 5, MPI_COMM_SELF, MPI_STATUS_IGNORE));
  CHECK(started.count + started.dropped == messages + 1);
  CHECK(started.dropped > 0);
  for (int i = 0; i < 2 * messages; i++) OK(MPI_Request_free(&requests[i]));
  forget(registration);
}

int main(int argc, char** argv) {
  int provided = 0;
  CHECK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS);
  descriptions();
  Seen early;
  MPI_T_event_registration before_init =
      listen("herald_recv_done", MPI_T_CB_REQUIRE_NONE, &early, on_event); /* there is no MPI yet */
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int out = 1, in = 0;
  early.count = 0;
  OK(MPI_Sendrecv(&out, 1, MPI_INT, (rank + 1) % size, 0, &in, 1, MPI_INT, (rank + size - 1) % size, 0,
                  MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  CHECK(early.count >= 1);
  forget(before_init);
  late_messages();
  collectives();
  too_many();
  CHECK(MPI_T_finalize() == MPI_SUCCESS);
  return check_finalize();
}
