/* SPDX-License-Identifier: BSD-3-Clause */
/* Attributes. What could go wrong: callbacks called with wrong arguments, in the wrong order, twice or not at
   all; a failing copy callback that leaves half a communicator behind; a failing delete callback that loses
   the attribute; a freed key that takes its attributes with it; predefined attributes missing, or open to
   change. */
#include "check.h"

static int copies, deletes, refuse_copy, refuse_delete;
static int last_deleted[8], deleted_count;
static char state;

static int copy_plus_one(MPI_Comm comm, int key, void* extra, void* in, void* out, int* flag) {
  (void)comm;
  (void)key;
  CHECK(extra == &state);
  if (refuse_copy) return MPI_ERR_OTHER;
  copies++;
  *(void**)out = (char*)in + 1;
  *flag = 1;
  return MPI_SUCCESS;
}

static int count_delete(MPI_Comm comm, int key, void* value, void* extra) {
  (void)comm;
  (void)value;
  CHECK(extra == &state);
  if (refuse_delete) return MPI_ERR_INTERN;
  deletes++;
  if (deleted_count < 8) last_deleted[deleted_count++] = key;
  return MPI_SUCCESS;
}

static int type_copy(MPI_Datatype type, int key, void* extra, void* in, void* out, int* flag) {
  (void)type;
  (void)key;
  (void)extra;
  copies++;
  *(void**)out = in;
  *flag = 1;
  return MPI_SUCCESS;
}

static int type_delete(MPI_Datatype type, int key, void* value, void* extra) {
  (void)type;
  (void)key;
  (void)value;
  (void)extra;
  deletes++;
  return MPI_SUCCESS;
}

static void test_predefined(void) {
  int* value;
  int flag, code;
  OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &flag));
  CHECK(flag && *value >= 32767);
  OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_HOST, &value, &flag));
  CHECK(flag);
  OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_IO, &value, &flag));
  CHECK(flag);
  OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, &value, &flag));
  CHECK(flag && (*value == 0 || *value == 1));
  OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &value, &flag));
  CHECK(flag && *value >= MPI_ERR_LASTCODE);
  code = *value;
  OK(MPI_Add_error_class(&code));
  OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &value, &flag));
  CHECK(flag && *value == code);
  OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &value, &flag));
  CHECK(!flag || *value >= 0);
  OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &value, &flag));
  CHECK(!flag || *value > 0);
  CHECK_CLASS(MPI_Comm_set_attr(MPI_COMM_WORLD, MPI_TAG_UB, &code), MPI_ERR_KEYVAL);
  CHECK_CLASS(MPI_Comm_delete_attr(MPI_COMM_WORLD, MPI_TAG_UB), MPI_ERR_KEYVAL);
  code = MPI_TAG_UB;
  CHECK_CLASS(MPI_Comm_free_keyval(&code), MPI_ERR_KEYVAL);
}

static void test_copies(void) {
  int dup_key, null_key, own_key, flag;
  char data[4];
  char* value;
  MPI_Comm copy;
  OK(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &dup_key, NULL));
  OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &null_key, NULL));
  OK(MPI_Comm_create_keyval(copy_plus_one, count_delete, &own_key, &state));
  OK(MPI_Comm_set_attr(MPI_COMM_WORLD, dup_key, data));
  OK(MPI_Comm_set_attr(MPI_COMM_WORLD, null_key, data));
  OK(MPI_Comm_set_attr(MPI_COMM_WORLD, own_key, data));
  copies = deletes = 0;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
  CHECK(copies == 1);
  OK(MPI_Comm_get_attr(copy, dup_key, &value, &flag));
  CHECK(flag && value == data);
  OK(MPI_Comm_get_attr(copy, null_key, &value, &flag));
  CHECK(!flag);
  OK(MPI_Comm_get_attr(copy, own_key, &value, &flag));
  CHECK(flag && value == data + 1);
  OK(MPI_Comm_set_attr(copy, own_key, data + 3)); /* the old value is deleted */
  CHECK(deletes == 1);
  OK(MPI_Comm_free(&copy));
  CHECK(deletes == 2);
  /* A failing copy: no communicator, the parent as it was. */
  refuse_copy = 1;
  copy = MPI_COMM_NULL;
  CHECK_CLASS(MPI_Comm_dup(MPI_COMM_WORLD, &copy), MPI_ERR_OTHER);
  CHECK(copy == MPI_COMM_NULL);
  refuse_copy = 0;
  /* A failing delete: the attribute stays, and so does the communicator. */
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
  refuse_delete = 1;
  CHECK_CLASS(MPI_Comm_delete_attr(copy, own_key), MPI_ERR_INTERN);
  OK(MPI_Comm_get_attr(copy, own_key, &value, &flag));
  CHECK(flag && value == data + 1);
  CHECK_CLASS(MPI_Comm_free(&copy), MPI_ERR_INTERN);
  CHECK(copy != MPI_COMM_NULL);
  refuse_delete = 0;
  OK(MPI_Comm_free(&copy));
  OK(MPI_Comm_delete_attr(MPI_COMM_WORLD, own_key));
  OK(MPI_Comm_get_attr(MPI_COMM_WORLD, own_key, &value, &flag));
  CHECK(!flag);
  CHECK_CLASS(MPI_Comm_delete_attr(MPI_COMM_WORLD, own_key), MPI_ERR_KEYVAL);
  OK(MPI_Comm_delete_attr(MPI_COMM_WORLD, dup_key));
  OK(MPI_Comm_delete_attr(MPI_COMM_WORLD, null_key));
  OK(MPI_Comm_free_keyval(&dup_key));
  OK(MPI_Comm_free_keyval(&null_key));
  OK(MPI_Comm_free_keyval(&own_key));
}

/* A freed key works on while an object has an attribute with it; after that it is not valid. */
static void test_freed_key(void) {
  int key, old, flag, i, keys[4];
  void* value;
  MPI_Comm copy, copy2;
  OK(MPI_Comm_dup(MPI_COMM_SELF, &copy));
  OK(MPI_Comm_create_keyval(copy_plus_one, count_delete, &key, &state));
  OK(MPI_Comm_set_attr(copy, key, NULL));
  old = key;
  OK(MPI_Comm_free_keyval(&key));
  CHECK(key == MPI_KEYVAL_INVALID);
  OK(MPI_Comm_get_attr(copy, old, &value, &flag));
  CHECK(flag);
  key = old;
  OK(MPI_Comm_free_keyval(&key)); /* a second free of the key changes nothing */
  CHECK_CLASS(MPI_Comm_get_attr(copy, MPI_KEYVAL_INVALID, &value, &flag), MPI_ERR_KEYVAL);
  copies = deletes = 0;
  OK(MPI_Comm_dup(copy, &copy2));
  OK(MPI_Comm_free(&copy2));
  OK(MPI_Comm_free(&copy));
  CHECK(copies == 1 && deletes == 2);
  CHECK_CLASS(MPI_Comm_get_attr(MPI_COMM_SELF, old, &value, &flag), MPI_ERR_KEYVAL);
  /* Last set, first deleted. */
  OK(MPI_Comm_dup(MPI_COMM_SELF, &copy));
  for (i = 0; i < 4; i++) {
    OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, count_delete, &keys[i], &state));
    OK(MPI_Comm_set_attr(copy, keys[i], NULL));
  }
  deleted_count = 0;
  OK(MPI_Comm_free(&copy));
  CHECK(deleted_count == 4);
  for (i = 0; i < 4; i++) CHECK(last_deleted[i] == keys[3 - i]);
  for (i = 0; i < 4; i++) OK(MPI_Comm_free_keyval(&keys[i]));
}

static void test_types(void) {
  int key, comm_key, flag, data;
  int* value;
  MPI_Datatype type, copy;
  OK(MPI_Type_create_keyval(type_copy, type_delete, &key, NULL));
  OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &comm_key, NULL));
  OK(MPI_Type_contiguous(2, MPI_INT, &type));
  OK(MPI_Type_set_attr(type, key, &data));
  copies = deletes = 0;
  OK(MPI_Type_dup(type, &copy));
  CHECK(copies == 1);
  OK(MPI_Type_get_attr(copy, key, &value, &flag));
  CHECK(flag && value == &data);
  OK(MPI_Type_free(&type));
  OK(MPI_Type_free(&copy));
  CHECK(deletes == 2);
  CHECK_CLASS(MPI_Type_set_attr(MPI_INT, comm_key, &data), MPI_ERR_KEYVAL);
  CHECK_CLASS(MPI_Comm_set_attr(MPI_COMM_SELF, key, &data), MPI_ERR_KEYVAL);
  OK(MPI_Type_set_attr(MPI_INT, key, &data)); /* predefined types can have attributes */
  OK(MPI_Type_delete_attr(MPI_INT, key));
  OK(MPI_Type_free_keyval(&key));
  OK(MPI_Comm_free_keyval(&comm_key));
  OK(MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &key, NULL));
  OK(MPI_Win_free_keyval(&key));
}

static void test_deprecated(void) {
  int key, flag, data;
  int* value;
  OK(MPI_Keyval_create(MPI_DUP_FN, MPI_NULL_DELETE_FN, &key, NULL));
  OK(MPI_Attr_put(MPI_COMM_SELF, key, &data));
  OK(MPI_Attr_get(MPI_COMM_SELF, key, &value, &flag));
  CHECK(flag && value == &data);
  OK(MPI_Attr_delete(MPI_COMM_SELF, key));
  OK(MPI_Attr_get(MPI_COMM_SELF, key, &value, &flag));
  CHECK(!flag);
  OK(MPI_Keyval_free(&key));
  CHECK(key == MPI_KEYVAL_INVALID);
  OK(MPI_Attr_get(MPI_COMM_WORLD, MPI_TAG_UB, &value, &flag));
  CHECK(flag);
}

static int at_end, end_failures;
static int end_callback(MPI_Comm comm, int key, void* value, void* extra) {
  int flag = 1, *place = value;
  (void)key;
  (void)extra;
  MPI_Finalized(&flag);
  if (flag || comm != MPI_COMM_SELF || *place != 2 - at_end) end_failures++;
  at_end++;
  return MPI_SUCCESS;
}

int main(int argc, char** argv) {
  static int places[3] = {0, 1, 2};
  int failed, i, key;
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  test_predefined();
  test_copies();
  test_freed_key();
  test_types();
  test_deprecated();
  for (i = 0; i < 3; i++) {
    OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, end_callback, &key, NULL));
    OK(MPI_Comm_set_attr(MPI_COMM_SELF, key, &places[i]));
    OK(MPI_Comm_free_keyval(&key));
  }
  failed = check_finalize();
  if (at_end != 3 || end_failures != 0) printf("failed: %d end callbacks, %d wrong\n", at_end, end_failures);
  return failed || at_end != 3 || end_failures != 0;
}
