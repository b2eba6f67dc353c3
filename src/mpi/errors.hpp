// SPDX-License-Identifier: BSD-3-Clause
// mpi/errors.hpp: error classes in words, and the way from an error to its handler.
#pragma once
#include "mpi.h"

namespace herald::mpi {

struct Comm;
struct Session;

// What this thread's last failed call said. MPI_Error_string adds it to the class's own words.
struct LastError {
  int error_class = MPI_SUCCESS;
  const char* function = "";
  char text[400] = "";
};
LastError& last_error() noexcept;

// Hands the error to the handler of `comm`, else of `session`, else to the one for errors without an object
// (MPI_COMM_SELF's when MPI is live, the initial one before). Returns the error code if the handler does.
// Fatal handlers print rank, call and reason, tell the launcher, and do not return.
// The lock is held on entry; user handlers are called with it held (it is recursive).
int raise_error(int error, Comm* comm, Session* session) noexcept;

// A class or code in words; for codes the user added, what the user said.
const char* error_text(int error) noexcept;

}  // namespace herald::mpi
