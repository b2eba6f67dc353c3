// SPDX-License-Identifier: BSD-3-Clause
// The way from an error to its handler.
#include "mpi/errors.hpp"

#include <cstdio>

#include "mpi/runtime.hpp"
#include "mpi/tables.hpp"

namespace herald::mpi {
namespace {

[[noreturn]] void die(int error) noexcept {
  const LastError& last = last_error();
  char text[900];
  const bool detail = last.error_class == error && last.text[0] != '\0';
  std::snprintf(text, sizeof text, "herald: %s: %s: %s: aborting the job", who_am_i(),
                last.error_class == error && last.function[0] != '\0' ? last.function : "error handler",
                detail ? last.text : error_text(error));
  const int code = added_errors().known(error) ? added_errors().class_of(error) : error;
  runtime().abort(code, text);
}

}  // namespace

LastError& last_error() noexcept {
  static thread_local LastError last;
  return last;
}

int call_errhandler(Errhandler* errhandler, void* object, int error) noexcept {
  switch (errhandler->kind) {
    case Errhandler::Kind::fatal:
    case Errhandler::Kind::abort: die(error);
    case Errhandler::Kind::give_back: return error;
    case Errhandler::Kind::user: break;
  }
  int code = error;
  retain(errhandler);  // the function may free it
  const auto function = errhandler->function;
  switch (errhandler->made_for) {
    case Errhandler::For::any:
    case Errhandler::For::comm:
      reinterpret_cast<MPI_Comm_errhandler_function*>(function)(static_cast<MPI_Comm*>(object), &code);
      break;
    case Errhandler::For::session:
      reinterpret_cast<MPI_Session_errhandler_function*>(function)(static_cast<MPI_Session*>(object), &code);
      break;
    case Errhandler::For::win:
      reinterpret_cast<MPI_Win_errhandler_function*>(function)(static_cast<MPI_Win*>(object), &code);
      break;
    case Errhandler::For::file:
      reinterpret_cast<MPI_File_errhandler_function*>(function)(static_cast<MPI_File*>(object), &code);
      break;
  }
  release(errhandler);
  return error;
}

Errhandler* initial_errhandler() noexcept {
  const std::string& name = runtime().knobs().initial_errhandler;
  if (name == "mpi_errors_return") return tables().give_back;
  return name == "mpi_errors_abort" ? tables().abort : tables().fatal;
}

int raise_error(int error, Comm* comm, Session* session) noexcept {
  Runtime& run = runtime();
  // Errors without an object belong to MPI_COMM_SELF; before MPI 4 it was MPI_COMM_WORLD, and programs that
  // know only that one set its handler alone.
  if (comm == nullptr && session == nullptr)
    comm = run.self != nullptr && run.self->errhandler == initial_errhandler() ? run.world : run.self;
  if (comm != nullptr) {
    MPI_Comm handle = handle_of(comm);
    return call_errhandler(comm->errhandler, &handle, error);
  }
  if (session != nullptr) {
    MPI_Session handle = handle_of(session);
    return call_errhandler(session->errhandler, &handle, error);
  }
  MPI_Comm none = MPI_COMM_NULL;
  return call_errhandler(initial_errhandler(), &none, error);
}

}  // namespace herald::mpi
