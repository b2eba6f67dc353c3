// SPDX-License-Identifier: BSD-3-Clause
// mpi/errors.hpp: error classes in words, and the way from an error to its handler.
#pragma once
#include <deque>
#include <string>
#include <vector>

#include "mpi.h"

namespace herald::mpi {

struct Comm;
struct Session;
struct Errhandler;

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
// Calls one handler for an object whose handle is at `object` (the program's handler gets that address).
int call_errhandler(Errhandler* errhandler, void* object, int error) noexcept;
// What communicators and sessions begin with, and what errors go to while there are none.
Errhandler* initial_errhandler() noexcept;

// A class or code in words; for codes the user added, what the user said.
const char* error_text(int error) noexcept;

// Classes and codes that the program added. They begin above MPI_ERR_LASTCODE.
class AddedErrors {
 public:
  static constexpr int kFirst = MPI_ERR_LASTCODE + 1;
  int add(int error_class) noexcept;  // `error_class` 0: a new class; else a code of that class
  bool known(int code) const noexcept { return find(code) != nullptr; }
  bool is_class(int code) const noexcept;
  bool has_codes(int error_class) const noexcept;
  int class_of(int code) const noexcept;  // of a known one
  void set_text(int code, const char* text) noexcept;
  bool has_text(int code) const noexcept;
  const char* text(int code) const noexcept;
  void remove(int code) noexcept;
  int last_used() const noexcept;

 private:
  struct Row {
    bool used = false;
    int error_class = 0;
    int codes = 0;  // of a class: how many codes it has
    bool has_text = false;
    std::string text;
  };
  const Row* find(int code) const noexcept;
  std::vector<Row> rows_;
  std::deque<int> removed_;
};
AddedErrors& added_errors() noexcept;
// A class of the ABI, or one that was added.
bool is_error_class(int code) noexcept;
bool is_error_code(int code) noexcept;

}  // namespace herald::mpi
