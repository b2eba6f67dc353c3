/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_T. What could go wrong: it needs MPI_Init; a setting written before MPI_Init is ignored, or taken after
   it; wrong error codes, or an error handler called; strings cut without a terminator; counters that run
   while stopped. */
#include "check.h"

static void test_cvars_before_init(void) {
  int n, index, i, value, count, verbosity, bind, scope, length, name_length;
  char name[64], text[1024], desc[200];
  MPI_Datatype type;
  MPI_T_enum choices;
  MPI_T_cvar_handle handle;
  OK(MPI_T_cvar_get_num(&n));
  CHECK(n >= 6);
  for (i = 0; i < n; i++) {
    name_length = sizeof name;
    length = sizeof desc;
    OK(MPI_T_cvar_get_info(i, name, &name_length, &verbosity, &type, &choices, desc, &length, &bind, &scope));
    CHECK(strncmp(name, "herald_", 7) == 0 && name_length == (int)strlen(name) + 1);
    CHECK(bind == MPI_T_BIND_NO_OBJECT && desc[0] != 0);
    CHECK(scope == MPI_T_SCOPE_ALL_EQ || scope == MPI_T_SCOPE_LOCAL);
    CHECK(type == MPI_INT || type == MPI_CHAR || type == MPI_COUNT);
    OK(MPI_T_cvar_get_index(name, &index));
    CHECK(index == i);
    OK(MPI_T_cvar_handle_alloc(i, NULL, &handle, &count));
    CHECK(count == (type == MPI_CHAR ? 1024 : 1));
    OK(MPI_T_cvar_read(handle, text));
    OK(MPI_T_cvar_handle_free(&handle));
    CHECK(handle == MPI_T_CVAR_HANDLE_NULL);
  }
  length = 4;
  OK(MPI_T_cvar_get_info(0, name, &length, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  CHECK(strcmp(name, "her") == 0 && length > 8);
  CHECK(MPI_T_cvar_get_info(n, name, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL) ==
        MPI_T_ERR_INVALID_INDEX);
  CHECK(MPI_T_cvar_get_index("herald_nonsense", &index) == MPI_T_ERR_INVALID_NAME);
  CHECK(MPI_T_cvar_get_index(NULL, &index) == MPI_T_ERR_INVALID);
  OK(MPI_T_cvar_get_index("herald_unexpected_bytes", &index));
  OK(MPI_T_cvar_handle_alloc(index, NULL, &handle, &count));
  value = 1234;
  OK(MPI_T_cvar_write(handle, &value));
  value = -5;
  CHECK(MPI_T_cvar_write(handle, &value) == MPI_T_ERR_INVALID);
  value = 0;
  OK(MPI_T_cvar_read(handle, &value));
  CHECK(value == 1234);
  OK(MPI_T_cvar_handle_free(&handle));
  CHECK(MPI_T_cvar_read(handle, &value) == MPI_T_ERR_INVALID_HANDLE);
}

static void test_enum(void) {
  int index, num, value, count, length = 64, set = 2;
  char name[64];
  MPI_Datatype type;
  MPI_T_enum choices;
  MPI_T_cvar_handle handle;
  OK(MPI_T_cvar_get_index("herald_initial_errhandler", &index));
  OK(MPI_T_cvar_get_info(index, NULL, NULL, NULL, &type, &choices, NULL, NULL, NULL, NULL));
  CHECK(type == MPI_INT && choices != MPI_T_ENUM_NULL);
  OK(MPI_T_enum_get_info(choices, &num, name, &length));
  CHECK(num == 3);
  length = 64;
  OK(MPI_T_enum_get_item(choices, 2, &value, name, &length));
  CHECK(value == 2 && strcmp(name, "mpi_errors_return") == 0);
  CHECK(MPI_T_enum_get_item(choices, 3, &value, name, &length) == MPI_T_ERR_INVALID_ITEM);
  CHECK(MPI_T_enum_get_info(MPI_T_ENUM_NULL, &num, name, &length) == MPI_T_ERR_INVALID_HANDLE);
  OK(MPI_T_cvar_handle_alloc(index, NULL, &handle, &count));
  OK(MPI_T_cvar_write(handle, &set)); /* MPI_Init will find it */
  OK(MPI_T_cvar_handle_free(&handle));
}

static void test_categories(void) {
  int n, i, cvars, pvars, cats, events, index, stamp, list[64], length = 64, in_categories = 0;
  char name[64];
  OK(MPI_T_category_get_num(&n));
  CHECK(n >= 1);
  for (i = 0; i < n; i++) {
    length = 64;
    OK(MPI_T_category_get_info(i, name, &length, NULL, NULL, &cvars, &pvars, &cats));
    OK(MPI_T_category_get_index(name, &index));
    OK(MPI_T_category_get_num_events(i, &events));
    CHECK(index == i && cvars + pvars + events > 0);
    OK(MPI_T_category_get_cvars(i, 64, list));
    OK(MPI_T_category_get_pvars(i, 64, list));
    in_categories += events;
  }
  OK(MPI_T_category_changed(&stamp));
  OK(MPI_T_event_get_num(&events));
  CHECK(events == in_categories && events > 0); /* tool_events.c has more about them */
  OK(MPI_T_source_get_num(&events));
  CHECK(events == 1);
  CHECK(MPI_T_category_get_index("none", &index) == MPI_T_ERR_INVALID_NAME);
  CHECK(MPI_T_category_get_info(n, NULL, NULL, NULL, NULL, NULL, NULL, NULL) == MPI_T_ERR_INVALID_INDEX);
}

static unsigned long long read_pvar(MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
  unsigned long long value = 0;
  OK(MPI_T_pvar_read(session, handle, &value));
  return value;
}

static void test_pvars(void) {
  MPI_T_pvar_session session, other;
  MPI_T_pvar_handle sent, bytes, level;
  MPI_Request request;
  int index, count, data = 1, i, n, class, readonly, continuous, atomic;
  unsigned long long value;
  char name[64];
  OK(MPI_T_pvar_get_num(&n));
  for (i = 0; i < n; i++) {
    count = sizeof name;
    OK(MPI_T_pvar_get_info(i, name, &count, NULL, &class, NULL, NULL, NULL, NULL, NULL, &readonly,
                           &continuous, &atomic));
    OK(MPI_T_pvar_get_index(name, class, &index));
    CHECK(index == i);
  }
  OK(MPI_T_pvar_session_create(&session));
  OK(MPI_T_pvar_session_create(&other));
  OK(MPI_T_pvar_get_index("herald_messages_sent", MPI_T_PVAR_CLASS_COUNTER, &index));
  OK(MPI_T_pvar_handle_alloc(session, index, NULL, &sent, &count));
  CHECK(count == 1);
  OK(MPI_T_pvar_get_index("herald_bytes_sent", MPI_T_PVAR_CLASS_AGGREGATE, &index));
  OK(MPI_T_pvar_handle_alloc(session, index, NULL, &bytes, &count));
  CHECK(MPI_T_pvar_get_index("herald_requests", MPI_T_PVAR_CLASS_COUNTER, &index) == MPI_T_ERR_INVALID_NAME);
  OK(MPI_T_pvar_get_index("herald_requests", MPI_T_PVAR_CLASS_LEVEL, &index));
  OK(MPI_T_pvar_handle_alloc(session, index, NULL, &level, &count));
  OK(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES));
  for (i = 0; i < 3; i++)
    OK(MPI_Sendrecv(&data, 1, MPI_INT, 0, 0, &n, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE));
  CHECK(read_pvar(session, sent) == 3);
  CHECK(read_pvar(session, bytes) == 3 * sizeof(int));
  OK(MPI_T_pvar_stop(session, sent));
  OK(MPI_Sendrecv(&data, 1, MPI_INT, 0, 0, &n, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE));
  CHECK(read_pvar(session, sent) == 3); /* stopped */
  CHECK(read_pvar(session, bytes) == 4 * sizeof(int));
  OK(MPI_T_pvar_readreset(session, bytes, &value));
  CHECK(value == 4 * sizeof(int) && read_pvar(session, bytes) == 0);
  OK(MPI_T_pvar_reset(session, sent));
  CHECK(read_pvar(session, sent) == 0);
  value = read_pvar(session, level);
  OK(MPI_Irecv(&data, 1, MPI_INT, 0, 9, MPI_COMM_SELF, &request));
  CHECK(read_pvar(session, level) == value + 1);
  OK(MPI_Cancel(&request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK(read_pvar(session, level) == value);
  CHECK(MPI_T_pvar_start(session, level) == MPI_T_ERR_PVAR_NO_STARTSTOP);
  CHECK(MPI_T_pvar_reset(session, level) == MPI_T_ERR_PVAR_NO_WRITE);
  CHECK(MPI_T_pvar_write(session, level, &value) == MPI_T_ERR_PVAR_NO_WRITE);
  CHECK(MPI_T_pvar_readreset(session, level, &value) == MPI_T_ERR_PVAR_NO_ATOMIC);
  CHECK(MPI_T_pvar_read(other, level, &value) == MPI_T_ERR_INVALID_HANDLE);
  CHECK(MPI_T_pvar_read(MPI_T_PVAR_SESSION_NULL, level, &value) == MPI_T_ERR_INVALID_SESSION);
  CHECK(MPI_T_pvar_handle_alloc(session, 9999, NULL, &level, &count) == MPI_T_ERR_INVALID_INDEX);
  OK(MPI_T_pvar_handle_free(session, &sent));
  CHECK(sent == MPI_T_PVAR_HANDLE_NULL);
  OK(MPI_T_pvar_session_free(&session));
  OK(MPI_T_pvar_session_free(&other));
  CHECK(session == MPI_T_PVAR_SESSION_NULL);
}

/* What could go wrong: a short message to a rank of this host is not counted, or counted twice. */
static void test_message_counters(void) {
  enum { kMessages = 1000, kLongest = 3000 };
  static const char* const names[2][2] = {{"herald_messages_sent", "herald_bytes_sent"},
                                          {"herald_messages_received", "herald_bytes_received"}};
  static char data[kLongest];
  MPI_T_pvar_session session;
  MPI_T_pvar_handle messages, bytes;
  unsigned long long expected = 0;
  int rank, size, index, count, i;
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  if (size < 2 || rank > 1) return;
  OK(MPI_T_pvar_session_create(&session));
  OK(MPI_T_pvar_get_index(names[rank][0], MPI_T_PVAR_CLASS_COUNTER, &index));
  OK(MPI_T_pvar_handle_alloc(session, index, NULL, &messages, &count));
  OK(MPI_T_pvar_get_index(names[rank][1], MPI_T_PVAR_CLASS_AGGREGATE, &index));
  OK(MPI_T_pvar_handle_alloc(session, index, NULL, &bytes, &count));
  OK(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES));
  for (i = 0; i < kMessages; i++) {
    count = i % 3 == 0 ? 8 : i * 7 % kLongest;
    if (rank == 0)
      OK(MPI_Send(data, count, MPI_CHAR, 1, 5, MPI_COMM_WORLD));
    else
      OK(MPI_Recv(data, kLongest, MPI_CHAR, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    expected += (unsigned)count;
  }
  CHECK(read_pvar(session, messages) == kMessages);
  CHECK(read_pvar(session, bytes) == expected);
  OK(MPI_T_pvar_session_free(&session));
}

static void test_frozen(void) {
  int index, count, scope = -1, value = 99;
  MPI_T_cvar_handle handle;
  MPI_Errhandler handler;
  OK(MPI_T_cvar_get_index("herald_unexpected_bytes", &index));
  OK(MPI_T_cvar_handle_alloc(index, NULL, &handle, &count));
  CHECK(MPI_T_cvar_write(handle, &value) == MPI_T_ERR_CVAR_SET_NOT_NOW);
  OK(MPI_T_cvar_get_info(index, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, &scope));
  CHECK(scope == MPI_T_SCOPE_READONLY);
  OK(MPI_T_cvar_read(handle, &value));
  CHECK(value == 1234);
  OK(MPI_T_cvar_handle_free(&handle));
  OK(MPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler));
  CHECK(handler == MPI_ERRORS_RETURN);
  OK(MPI_Errhandler_free(&handler));
}

int main(int argc, char** argv) {
  int failed, n, provided;
  CHECK(MPI_T_cvar_get_num(&n) == MPI_T_ERR_NOT_INITIALIZED);
  CHECK(MPI_T_finalize() == MPI_T_ERR_NOT_INITIALIZED);
  OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
  OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided)); /* counted */
  test_cvars_before_init();
  test_enum();
  test_categories();
  OK(MPI_T_finalize());
  MPI_Init(&argc, &argv);
  test_pvars();
  test_message_counters();
  test_frozen();
  OK(MPI_T_finalize());
  CHECK(MPI_T_pvar_get_num(&n) == MPI_T_ERR_NOT_INITIALIZED);
  failed = check_finalize();
  OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided)); /* after the end, too */
  OK(MPI_T_finalize());
  return failed || check_failures_ != 0;
}
