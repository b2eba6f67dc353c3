// SPDX-License-Identifier: BSD-3-Clause
// From an error to its handler.
#include "mpi/core/errors.hpp"

#include <cstdio>

#include "mpi/core/runtime.hpp"
#include "mpi/core/tables.hpp"

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

template <class F, class Handle>
int call_as(void (*function)(), std::uintptr_t handle, int code) noexcept {
  auto typed = reinterpret_cast<Handle>(handle);
  reinterpret_cast<F*>(function)(&typed, &code);
  return code;
}

}  // namespace

LastError& last_error() noexcept {
  static thread_local LastError last;
  return last;
}

int call_errhandler(Errhandler* errhandler, std::uintptr_t handle, int error) noexcept {
  switch (errhandler->kind) {
    case Errhandler::Kind::fatal:
    case Errhandler::Kind::abort: die(error);
    case Errhandler::Kind::give_back: return error;
    case Errhandler::Kind::user: break;
  }
  retain(errhandler);  // the function may free it
  const auto function = errhandler->function;
  switch (errhandler->made_for) {
    case ObjectKind::any:
    case ObjectKind::type:
    case ObjectKind::comm:
      (void)call_as<MPI_Comm_errhandler_function, MPI_Comm>(function, handle, error);
      break;
    case ObjectKind::session:
      (void)call_as<MPI_Session_errhandler_function, MPI_Session>(function, handle, error);
      break;
    case ObjectKind::win: (void)call_as<MPI_Win_errhandler_function, MPI_Win>(function, handle, error); break;
    case ObjectKind::file:  // as in ROMIO, a handler of files may change the code
      error = call_as<MPI_File_errhandler_function, MPI_File>(function, handle, error);
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
  // predate that set the handler of MPI_COMM_WORLD only.
  if (comm == nullptr && session == nullptr)
    comm = run.self != nullptr && run.self->errhandler == initial_errhandler() ? run.world : run.self;
  if (comm != nullptr) return call_errhandler(comm->errhandler, comm->handle, error);
  if (session != nullptr) return call_errhandler(session->errhandler, session->handle, error);
  return call_errhandler(initial_errhandler(), kNoObject, error);
}

}  // namespace herald::mpi
