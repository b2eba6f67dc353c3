/* SPDX-License-Identifier: BSD-3-Clause */
/* Error handlers, classes, codes and strings. What could go wrong: the handler of the wrong object is called,
   or with the wrong code; a handler freed while it is attached dies; strings too long for the program's
   buffer; codes that the program added get a meaning twice. */
#include "check.h"

static int calls, last_code;
static MPI_Comm last_comm;

static void note(MPI_Comm* comm, int* code, ...) {
  calls++;
  last_comm = *comm;
  last_code = *code;
}

static void note_session(MPI_Session* session, int* code, ...) {
  (void)session;
  calls++;
  last_code = *code;
}

static void note_file(MPI_File* file, int* code, ...) {
  CHECK(*file == MPI_FILE_NULL);
  calls++;
  last_code = *code;
}

static void test_user_handler(void) {
  MPI_Errhandler handler, got, freed;
  MPI_Comm copy, copy2;
  int value = 0, class;
  OK(MPI_Comm_create_errhandler(note, &handler));
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
  OK(MPI_Comm_set_errhandler(copy, handler));
  OK(MPI_Comm_get_errhandler(copy, &got));
  CHECK(got == handler);
  OK(MPI_Errhandler_free(&got));
  CHECK(got == MPI_ERRHANDLER_NULL);
  freed = handler;
  OK(MPI_Errhandler_free(&handler)); /* still attached */
  CHECK_CLASS(MPI_Comm_set_errhandler(MPI_COMM_SELF, freed), MPI_ERR_ERRHANDLER);
  calls = 0;
  class = MPI_Send(&value, 1, MPI_INT, 100000, 0, copy);
  CHECK(calls == 1 && last_comm == copy && last_code == class);
  MPI_Error_class(class, &class);
  CHECK(class == MPI_ERR_RANK);
  OK(MPI_Comm_dup(copy, &copy2)); /* inherited */
  class = MPI_Send(&value, 1, MPI_INT, 0, -7, copy2);
  CHECK(calls == 2 && last_comm == copy2);
  OK(MPI_Comm_call_errhandler(copy2, MPI_ERR_OTHER));
  CHECK(calls == 3 && last_code == MPI_ERR_OTHER);
  OK(MPI_Comm_get_errhandler(copy2, &got)); /* a new handle to an error handler that was freed */
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, got));
  OK(MPI_Errhandler_free(&got));
  MPI_Type_size(MPI_DATATYPE_NULL, &value); /* no communicator: that of MPI_COMM_SELF */
  CHECK(calls == 4 && last_comm == MPI_COMM_SELF);
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  OK(MPI_Comm_free(&copy));
  OK(MPI_Comm_free(&copy2));
}

static void test_predefined(void) {
  MPI_Errhandler got;
  OK(MPI_Comm_get_errhandler(MPI_COMM_WORLD, &got));
  CHECK(got == MPI_ERRORS_RETURN);
  OK(MPI_Errhandler_free(&got));
  CHECK(got == MPI_ERRHANDLER_NULL);
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ABORT));
  OK(MPI_Comm_get_errhandler(MPI_COMM_WORLD, &got));
  CHECK(got == MPI_ERRORS_ABORT);
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  CHECK_CLASS(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRHANDLER_NULL), MPI_ERR_ERRHANDLER);
  CHECK_CLASS(MPI_Comm_create_errhandler(NULL, &got), MPI_ERR_ARG);
}

static void test_other_kinds(void) {
  MPI_Errhandler session_handler, file_handler, got;
  MPI_Session session;
  OK(MPI_Session_create_errhandler(note_session, &session_handler));
  CHECK_CLASS(MPI_Comm_set_errhandler(MPI_COMM_WORLD, session_handler), MPI_ERR_ERRHANDLER);
  OK(MPI_Session_init(MPI_INFO_NULL, session_handler, &session));
  calls = 0;
  OK(MPI_Session_call_errhandler(session, MPI_ERR_ARG));
  CHECK(calls == 1 && last_code == MPI_ERR_ARG);
  MPI_Group group;
  CHECK_CLASS(MPI_Group_from_session_pset(session, "mpi://nowhere", &group), MPI_ERR_ARG);
  CHECK(calls == 2);
  OK(MPI_Session_set_errhandler(session, MPI_ERRORS_RETURN));
  OK(MPI_Session_get_errhandler(session, &got));
  CHECK(got == MPI_ERRORS_RETURN);
  OK(MPI_Session_finalize(&session));
  OK(MPI_Errhandler_free(&session_handler));
  OK(MPI_File_get_errhandler(MPI_FILE_NULL, &got));
  CHECK(got == MPI_ERRORS_RETURN);
  OK(MPI_File_create_errhandler(note_file, &file_handler));
  OK(MPI_File_set_errhandler(MPI_FILE_NULL, file_handler));
  OK(MPI_File_call_errhandler(MPI_FILE_NULL, MPI_ERR_FILE));
  CHECK(calls == 3 && last_code == MPI_ERR_FILE);
  OK(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN));
  OK(MPI_Errhandler_free(&file_handler));
}

static void test_strings(void) {
  char text[MPI_MAX_ERROR_STRING];
  int i, length, class, value = 0, known = 0;
  for (i = 0; i <= MPI_ERR_LASTCODE; i++) {
    if (MPI_Error_class(i, &class) != MPI_SUCCESS) continue;
    CHECK(class == i);
    text[0] = 0;
    OK(MPI_Error_string(i, text, &length));
    CHECK(length > 0 && length < MPI_MAX_ERROR_STRING && (int)strlen(text) == length);
    known++;
  }
  CHECK(known == 63 + 18 + 1);
  CHECK_CLASS(MPI_Error_class(-3, &class), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Error_string(999999, text, &length), MPI_ERR_ARG);
  /* The message of the last failed call is part of the string. */
  class = MPI_Send(&value, 1, MPI_INT, 424242, 0, MPI_COMM_WORLD);
  OK(MPI_Error_string(class, text, &length));
  CHECK(strstr(text, "MPI_Send") != NULL && strstr(text, "424242") != NULL);
  CHECK(length < MPI_MAX_ERROR_STRING);
}

static void test_added(void) {
  int class, code, code2, got, length, flag, *last;
  char text[MPI_MAX_ERROR_STRING];
  OK(MPI_Add_error_class(&class));
  CHECK(class > MPI_ERR_LASTCODE);
  OK(MPI_Error_string(class, text, &length));
  CHECK(length == 0);
  OK(MPI_Add_error_code(class, &code));
  OK(MPI_Add_error_code(MPI_ERR_TAG, &code2));
  OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &last, &flag));
  CHECK(flag && *last == code2);
  OK(MPI_Error_class(code, &got));
  CHECK(got == class);
  OK(MPI_Error_class(code2, &got));
  CHECK(got == MPI_ERR_TAG);
  OK(MPI_Add_error_string(code, "out of cheese"));
  OK(MPI_Error_string(code, text, &length));
  CHECK(strcmp(text, "out of cheese") == 0 && length == 13);
  CHECK_CLASS(MPI_Add_error_string(MPI_ERR_TAG, "mine"), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Add_error_code(code, &got), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Remove_error_class(class), MPI_ERR_OTHER); /* has a code */
  CHECK_CLASS(MPI_Remove_error_code(code), MPI_ERR_OTHER);   /* has a string */
  CHECK_CLASS(MPI_Remove_error_class(MPI_ERR_TAG), MPI_ERR_ARG);
  OK(MPI_Remove_error_string(code));
  OK(MPI_Remove_error_code(code));
  OK(MPI_Remove_error_class(class));
  CHECK_CLASS(MPI_Error_class(code, &got), MPI_ERR_ARG);
  OK(MPI_Remove_error_code(code2));
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  test_user_handler();
  test_predefined();
  test_other_kinds();
  test_strings();
  test_added();
  return check_finalize();
}
