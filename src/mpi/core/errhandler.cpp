// SPDX-License-Identifier: BSD-3-Clause
// The calls on error handlers and error codes.
#include <cstdio>
#include <cstring>

#include "calls.hpp"
#include "mpi/core/errors.hpp"
#include "mpi/core/tables.hpp"

namespace herald::mpi {

MPI_Errhandler hand_out(Errhandler* errhandler) noexcept {
  if (!errhandler->predefined) {
    ++errhandler->users;
    retain(errhandler);
  }
  return handle_of(errhandler);
}

Errhandler*& file_errhandler() noexcept {
  static Errhandler* errhandler = tables().give_back;
  return errhandler;
}

bool check_errhandler(Call& call, const Errhandler& errhandler, ObjectKind kind, int number) noexcept {
  if (errhandler.made_for == ObjectKind::any || errhandler.made_for == kind) return true;
  static constexpr const char* kNames[] = {"Comm", "Comm", "Type", "Win", "File", "Session"};
  return call.fail(MPI_ERR_ERRHANDLER,
                   "argument %d (errhandler) was made for another kind of object; make one with "
                   "MPI_%s_create_errhandler",
                   number, kNames[static_cast<int>(kind)]);
}

namespace api {
namespace {

template <class F>
int create(ObjectKind made_for, F* function, MPI_Errhandler* errhandler) noexcept {
  Errhandler* made = tables().errhandlers.create();
  made->kind = Errhandler::Kind::user;
  made->made_for = made_for;
  made->function = reinterpret_cast<void (*)()>(function);
  made->users = 1;
  *errhandler = handle_of(made);
  return MPI_SUCCESS;
}

int set(Call& call, ObjectKind kind, Errhandler*& place, Errhandler* errhandler) noexcept {
  if (!check_errhandler(call, *errhandler, kind, 2)) return call.error();
  retain(errhandler);
  if (place != nullptr) release(place);
  place = errhandler;
  return MPI_SUCCESS;
}

int get(Errhandler* place, MPI_Errhandler* errhandler) noexcept {
  *errhandler = hand_out(place);
  return MPI_SUCCESS;
}

// For an error that the program itself raises.
int raise_for(Call& call, Errhandler* errhandler, std::uintptr_t handle, int code) noexcept {
  if (!is_error_code(code))
    return call.fail(MPI_ERR_ARG, "argument 2 (errorcode) is %d, which is no error code", code);
  LastError& last = last_error();
  last.error_class = code;
  last.function = call.function();
  std::snprintf(last.text, sizeof last.text, "the program raised error %d (%s)", code, error_text(code));
  (void)call_errhandler(errhandler, handle, code);
  return MPI_SUCCESS;
}

Errhandler*& errhandler_of(File* file) noexcept {
  return file != nullptr ? file->errhandler : file_errhandler();
}

int need_added(Call& call, int code, const char* name) noexcept {
  if (added_errors().known(code)) return MPI_SUCCESS;
  return call.fail(MPI_ERR_ARG,
                   "argument 1 (%s) is %d, which MPI_Add_error_class or MPI_Add_error_code did not make",
                   name, code);
}

}  // namespace

int comm_create_errhandler(Call&, MPI_Comm_errhandler_function* function, MPI_Errhandler* errhandler) {
  return create(ObjectKind::comm, function, errhandler);
}
int win_create_errhandler(Call&, MPI_Win_errhandler_function* function, MPI_Errhandler* errhandler) {
  return create(ObjectKind::win, function, errhandler);
}
int file_create_errhandler(Call&, MPI_File_errhandler_function* function, MPI_Errhandler* errhandler) {
  return create(ObjectKind::file, function, errhandler);
}
int session_create_errhandler(Call&, MPI_Session_errhandler_function* function, MPI_Errhandler* errhandler) {
  return create(ObjectKind::session, function, errhandler);
}

int errhandler_free(Call& call, MPI_Errhandler* errhandler) {
  Errhandler* object = call.object(*errhandler, {1, "errhandler"});
  if (object == nullptr) return call.error();
  if (!object->predefined) {
    --object->users;
    release(object);
  }
  *errhandler = MPI_ERRHANDLER_NULL;
  return MPI_SUCCESS;
}

int comm_set_errhandler(Call& call, Comm* comm, Errhandler* errhandler) {
  return set(call, ObjectKind::comm, comm->errhandler, errhandler);
}
int comm_get_errhandler(Call&, Comm* comm, MPI_Errhandler* errhandler) {
  return get(comm->errhandler, errhandler);
}
int comm_call_errhandler(Call& call, Comm* comm, int errorcode) {
  return raise_for(call, comm->errhandler, comm->handle, errorcode);
}

int session_set_errhandler(Call& call, Session* session, Errhandler* errhandler) {
  return set(call, ObjectKind::session, session->errhandler, errhandler);
}
int session_get_errhandler(Call&, Session* session, MPI_Errhandler* errhandler) {
  return get(session->errhandler, errhandler);
}
int session_call_errhandler(Call& call, Session* session, int errorcode) {
  return raise_for(call, session->errhandler, session->handle, errorcode);
}

int win_set_errhandler(Call& call, Win* win, Errhandler* errhandler) {
  return set(call, ObjectKind::win, win->errhandler, errhandler);
}
int win_get_errhandler(Call&, Win* win, MPI_Errhandler* errhandler) {
  return get(win->errhandler, errhandler);
}
int win_call_errhandler(Call& call, Win* win, int errorcode) {
  return raise_for(call, win->errhandler, win->handle, errorcode);
}

int file_set_errhandler(Call& call, File* file, Errhandler* errhandler) {
  return set(call, ObjectKind::file, errhandler_of(file), errhandler);
}
int file_get_errhandler(Call&, File* file, MPI_Errhandler* errhandler) {
  return get(errhandler_of(file), errhandler);
}
int file_call_errhandler(Call& call, File* fh, int errorcode) {
  const auto handle = reinterpret_cast<std::uintptr_t>(MPI_FILE_NULL);
  return raise_for(call, errhandler_of(fh), fh != nullptr ? fh->handle : handle, errorcode);
}

int error_class(Call& call, int errorcode, int* errorclass) {
  if (!is_error_code(errorcode))
    return call.fail(MPI_ERR_ARG, "argument 1 (errorcode) is %d, which is no error code", errorcode);
  *errorclass = added_errors().known(errorcode) ? added_errors().class_of(errorcode) : errorcode;
  return MPI_SUCCESS;
}

int error_string(Call& call, int errorcode, char* string, int* resultlen) {
  if (!is_error_code(errorcode))
    return call.fail(MPI_ERR_ARG, "argument 1 (errorcode) is %d, which is no error code", errorcode);
  if (string == nullptr)
    return call.fail(MPI_ERR_ARG,
                     "argument 2 (string) is a null pointer; give a buffer of MPI_MAX_ERROR_STRING");
  const LastError& last = last_error();
  const bool detail = errorcode != MPI_SUCCESS && last.error_class == errorcode && last.text[0] != '\0' &&
                      !added_errors().known(errorcode);
  if (detail)
    std::snprintf(string, MPI_MAX_ERROR_STRING, "%s (%s: %s)", error_text(errorcode), last.function,
                  last.text);
  else
    std::snprintf(string, MPI_MAX_ERROR_STRING, "%s", error_text(errorcode));
  *resultlen = static_cast<int>(std::strlen(string));
  return MPI_SUCCESS;
}

int add_error_class(Call&, int* errorclass) {
  *errorclass = added_errors().add(0);
  return MPI_SUCCESS;
}

int add_error_code(Call& call, int errorclass, int* errorcode) {
  if (!is_error_class(errorclass))
    return call.fail(MPI_ERR_ARG, "argument 1 (errorclass) is %d, which is no error class", errorclass);
  if (errorclass == MPI_SUCCESS)
    return call.fail(MPI_ERR_ARG, "argument 1 (errorclass) is MPI_SUCCESS, which is no error");
  *errorcode = added_errors().add(errorclass);
  return MPI_SUCCESS;
}

int add_error_string(Call& call, int errorcode, const char* string) {
  if (need_added(call, errorcode, "errorcode") != MPI_SUCCESS) return call.error();
  if (std::strlen(string) >= MPI_MAX_ERROR_STRING)
    return call.fail(MPI_ERR_ARG, "argument 2 (string) has %zu characters; at most %d fit",
                     std::strlen(string), MPI_MAX_ERROR_STRING - 1);
  added_errors().set_text(errorcode, string);
  return MPI_SUCCESS;
}

int remove_error_class(Call& call, int errorclass) {
  if (need_added(call, errorclass, "errorclass") != MPI_SUCCESS) return call.error();
  if (!added_errors().is_class(errorclass))
    return call.fail(MPI_ERR_ARG, "argument 1 (errorclass) is %d, a code; use MPI_Remove_error_code",
                     errorclass);
  if (added_errors().has_codes(errorclass))
    return call.fail(MPI_ERR_OTHER, "argument 1 (errorclass) still has error codes; remove them first");
  if (added_errors().has_text(errorclass))
    return call.fail(MPI_ERR_OTHER, "argument 1 (errorclass) still has a string; remove it first");
  added_errors().remove(errorclass);
  return MPI_SUCCESS;
}

int remove_error_code(Call& call, int errorcode) {
  if (need_added(call, errorcode, "errorcode") != MPI_SUCCESS) return call.error();
  if (added_errors().is_class(errorcode))
    return call.fail(MPI_ERR_ARG, "argument 1 (errorcode) is %d, a class; use MPI_Remove_error_class",
                     errorcode);
  if (added_errors().has_text(errorcode))
    return call.fail(MPI_ERR_OTHER, "argument 1 (errorcode) still has a string; remove it first");
  added_errors().remove(errorcode);
  return MPI_SUCCESS;
}

int remove_error_string(Call& call, int errorcode) {
  if (need_added(call, errorcode, "errorcode") != MPI_SUCCESS) return call.error();
  if (!added_errors().has_text(errorcode))
    return call.fail(MPI_ERR_ARG, "argument 1 (errorcode) is %d, which has no string", errorcode);
  added_errors().set_text(errorcode, nullptr);
  return MPI_SUCCESS;
}

}  // namespace api
}  // namespace herald::mpi
