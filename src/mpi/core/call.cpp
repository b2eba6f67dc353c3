// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/core/call.hpp"

#include <cstdarg>
#include <cstdio>

#include "mpi/core/check.hpp"
#include "mpi/core/errors.hpp"

namespace herald::mpi {

Failed Call::fail(int error_class, const char* format, ...) noexcept {
  if (error_ != MPI_SUCCESS) return {error_};
  error_ = error_class;
  LastError& last = last_error();
  last.error_class = error_class;
  va_list args;
  va_start(args, format);
  std::vsnprintf(last.text, sizeof last.text, format, args);
  va_end(args);
  return {error_class};
}

void Call::bad_handle(Arg arg, HandleKind kind, const void* handle) noexcept {
  if (kind.error_class == MPI_ERR_COMM && (handle == MPI_COMM_WORLD || handle == MPI_COMM_SELF))
    (void)fail(MPI_ERR_COMM, "argument %d (%s) is %s, which exists from MPI_Init to MPI_Finalize only",
               arg.number, arg.name, handle == MPI_COMM_WORLD ? "MPI_COMM_WORLD" : "MPI_COMM_SELF");
  else if (kind.null == handle)
    (void)fail(kind.error_class, "argument %d (%s) is the null %s; give a valid one", arg.number, arg.name,
               kind.noun);
  else
    (void)fail(kind.error_class, "argument %d (%s) is not a %s: it was never made, or it has been freed",
               arg.number, arg.name, kind.noun);
}

void bad_value(Call& call, Arg arg, int error_class, MPI_Count value) noexcept {
  (void)call.fail(error_class, "argument %d (%s) is %lld; it must not be negative", arg.number, arg.name,
                  static_cast<long long>(value));
}

void bad_rank(Call& call, Arg arg, int error_class, int rank, const Comm& comm, bool wildcard) noexcept {
  const char* also = error_class == MPI_ERR_ROOT ? comm.remote == nullptr ? "" : ", MPI_ROOT or MPI_PROC_NULL"
                     : wildcard                  ? ", MPI_ANY_SOURCE or MPI_PROC_NULL"
                                                 : " or MPI_PROC_NULL";
  (void)call.fail(error_class,
                  "argument %d (%s) is %d; the communicator %s has ranks 0 to %d%s: use one of them%s",
                  arg.number, arg.name, rank, comm.name.empty() ? "given" : comm.name.c_str(),
                  comm.partner_count - 1, comm.remote == nullptr ? "" : " in its other group", also);
}

void bad_tag(Call& call, Arg arg, int value, bool wildcard) noexcept {
  (void)call.fail(MPI_ERR_TAG, "argument %d (%s) is %d; tags are 0 to MPI_TAG_UB%s", arg.number, arg.name,
                  value, wildcard ? ", or MPI_ANY_TAG" : "");
}

void not_committed(Call& call, Arg arg) noexcept {
  (void)call.fail(MPI_ERR_TYPE,
                  "argument %d (%s) is a datatype that is not committed; call MPI_Type_commit first",
                  arg.number, arg.name);
}

void null_buffer(Call& call, const Datatype& datatype, Arg arg) noexcept {
  // MPI_BOTTOM is the null pointer in the ABI: with absolute displacements it is right.
  const type::Layout& layout = *datatype.layout;
  if (layout.size() == 0 || layout.true_lb() >= 4096 || layout.true_lb() < 0) return;
  (void)call.fail(MPI_ERR_BUFFER,
                  "argument %d (%s) is a null pointer, but there is data to move; give the buffer's address",
                  arg.number, arg.name);
}

void null_pointer(Call& call, Arg arg) noexcept {
  (void)call.fail(MPI_ERR_ARG, "argument %d (%s) is a null pointer; give the address of a variable",
                  arg.number, arg.name);
}

void too_large(Call& call, MPI_Count elements, Arg arg) noexcept {
  (void)call.fail(
      MPI_ERR_COUNT,
      "%lld elements at argument %d (%s) span more than 64 bits can address; give a smaller count",
      static_cast<long long>(elements), arg.number, arg.name);
}

int Call::raise(int error) noexcept {
  if (error == MPI_SUCCESS || tool_) return error;
  LastError& last = last_error();
  if (last.error_class != error || error_ == MPI_SUCCESS) {  // the implementation gave a class without a text
    last.error_class = error;
    last.text[0] = '\0';
  }
  last.function = function_;
  if (handler_ != nullptr) return call_errhandler(handler_, kNoObject, error);
  if (file_ != nullptr) return call_errhandler(file_->errhandler, file_->handle, error);
  if (about_files_)
    return call_errhandler(file_errhandler(), reinterpret_cast<std::uintptr_t>(MPI_FILE_NULL), error);
  if (win_ != nullptr) return call_errhandler(win_->errhandler, win_->handle, error);
  return raise_error(error, comm_, session_);
}

}  // namespace herald::mpi
