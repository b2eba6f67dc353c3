/* SPDX-License-Identifier: BSD-3-Clause */
/* Info objects. What could go wrong: a value cut without its end, a buffer length that forgets the
   terminator, keys numbered wrongly after a deletion, lengths beyond the limits taken, MPI_INFO_ENV empty or
   open to change. */
#include "check.h"

static void test_values(void) {
  MPI_Info info, copy;
  char value[32], key[MPI_MAX_INFO_KEY];
  int flag, length, n;
  OK(MPI_Info_create(&info));
  OK(MPI_Info_get_nkeys(info, &n));
  CHECK(n == 0);
  OK(MPI_Info_set(info, "one", "first"));
  OK(MPI_Info_set(info, "two", "second"));
  OK(MPI_Info_set(info, "three", "third"));
  OK(MPI_Info_set(info, "two", "2nd"));
  OK(MPI_Info_get_nkeys(info, &n));
  CHECK(n == 3);
  OK(MPI_Info_get(info, "two", 31, value, &flag));
  CHECK(flag && strcmp(value, "2nd") == 0);
  OK(MPI_Info_get(info, "one", 2, value, &flag));
  CHECK(flag && strcmp(value, "fi") == 0);
  OK(MPI_Info_get_valuelen(info, "three", &length, &flag));
  CHECK(flag && length == 5);
  length = 77;
  OK(MPI_Info_get_valuelen(info, "four", &length, &flag));
  CHECK(!flag && length == 77);
  length = 0; /* how long is it? */
  OK(MPI_Info_get_string(info, "three", &length, NULL, &flag));
  CHECK(flag && length == 6);
  length = 3;
  OK(MPI_Info_get_string(info, "three", &length, value, &flag));
  CHECK(flag && length == 6 && strcmp(value, "th") == 0);
  length = 32;
  OK(MPI_Info_get_string(info, "three", &length, value, &flag));
  CHECK(flag && length == 6 && strcmp(value, "third") == 0);
  length = 32;
  OK(MPI_Info_get_string(info, "none", &length, value, &flag));
  CHECK(!flag && length == 32);
  OK(MPI_Info_dup(info, &copy));
  OK(MPI_Info_delete(info, "one"));
  OK(MPI_Info_get_nthkey(info, 0, key));
  CHECK(strcmp(key, "two") == 0);
  OK(MPI_Info_get_nthkey(copy, 0, key));
  CHECK(strcmp(key, "one") == 0);
  OK(MPI_Info_get_nkeys(copy, &n));
  CHECK(n == 3);
  OK(MPI_Info_free(&info));
  CHECK(info == MPI_INFO_NULL);
  OK(MPI_Info_free(&copy));
}

static void test_errors(void) {
  MPI_Info info, freed;
  char text[MPI_MAX_INFO_VAL + 2], value[8];
  int flag, n;
  OK(MPI_Info_create(&info));
  memset(text, 'k', sizeof text);
  text[MPI_MAX_INFO_KEY] = 0;
  CHECK_CLASS(MPI_Info_set(info, text, "v"), MPI_ERR_INFO_KEY);
  text[MPI_MAX_INFO_KEY - 1] = 0;
  OK(MPI_Info_set(info, text, "v"));
  memset(text, 'v', sizeof text);
  text[MPI_MAX_INFO_VAL] = 0;
  CHECK_CLASS(MPI_Info_set(info, "key", text), MPI_ERR_INFO_VALUE);
  text[MPI_MAX_INFO_VAL - 1] = 0;
  OK(MPI_Info_set(info, "key", text));
  CHECK_CLASS(MPI_Info_set(info, "", "v"), MPI_ERR_INFO_KEY);
  CHECK_CLASS(MPI_Info_delete(info, "nothing"), MPI_ERR_INFO_NOKEY);
  CHECK_CLASS(MPI_Info_get_nthkey(info, 9, text), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Info_get_nthkey(info, -1, text), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Info_get(info, "key", -1, value, &flag), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Info_set(info, NULL, "v"), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Info_get_nkeys(MPI_INFO_NULL, &n), MPI_ERR_INFO);
  freed = info;
  OK(MPI_Info_free(&info));
  CHECK_CLASS(MPI_Info_get_nkeys(freed, &n), MPI_ERR_INFO);
  CHECK_CLASS(MPI_Info_free(&freed), MPI_ERR_INFO);
}

static void test_env(int argc, char** argv) {
  MPI_Info info;
  char value[MPI_MAX_INFO_VAL], size_text[16];
  int flag, length = MPI_MAX_INFO_VAL, size;
  OK(MPI_Info_get_string(MPI_INFO_ENV, "command", &length, value, &flag));
  CHECK(flag && strstr(value, "infos") != NULL);
  length = MPI_MAX_INFO_VAL;
  OK(MPI_Info_get_string(MPI_INFO_ENV, "maxprocs", &length, value, &flag));
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  snprintf(size_text, sizeof size_text, "%d", size);
  CHECK(flag && strcmp(value, size_text) == 0);
  length = MPI_MAX_INFO_VAL;
  OK(MPI_Info_get_string(MPI_INFO_ENV, "thread_level", &length, value, &flag));
  CHECK(flag && strcmp(value, "MPI_THREAD_SINGLE") == 0);
  length = MPI_MAX_INFO_VAL;
  OK(MPI_Info_get_string(MPI_INFO_ENV, "wdir", &length, value, &flag));
  CHECK(flag && value[0] == '/');
  CHECK_CLASS(MPI_Info_set(MPI_INFO_ENV, "command", "x"), MPI_ERR_INFO);
  info = MPI_INFO_ENV;
  CHECK_CLASS(MPI_Info_free(&info), MPI_ERR_INFO);
  OK(MPI_Info_create_env(argc, argv, &info));
  length = MPI_MAX_INFO_VAL;
  OK(MPI_Info_get_string(info, "command", &length, value, &flag));
  CHECK(flag && strcmp(value, argv[0]) == 0);
  OK(MPI_Info_free(&info));
}

int main(int argc, char** argv) {
  int failed, flag;
  char value[8];
  MPI_Info early;
  /* All of it works before MPI_Init. */
  OK(MPI_Info_create(&early));
  OK(MPI_Info_set(early, "key", "value"));
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  OK(MPI_Info_get(early, "key", 7, value, &flag));
  CHECK(flag && strcmp(value, "value") == 0);
  test_values();
  test_errors();
  test_env(argc, argv);
  failed = check_finalize();
  if (MPI_Info_free(&early) != MPI_SUCCESS) failed = 1;
  return failed;
}
