// SPDX-License-Identifier: BSD-3-Clause
// mpi/core/errors.hpp: the texts of error classes, and how an error reaches its handler.
#pragma once
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "mpi.h"

namespace herald::mpi {

class Call;
struct Comm;
struct Session;
struct Errhandler;
enum class ObjectKind : std::uint8_t;

// The last failed call of this thread. MPI_Error_string adds its text to that of the class.
struct LastError {
  int error_class = MPI_SUCCESS;
  const char* function = "";
  char text[400] = "";
};
LastError& last_error() noexcept;

// Passes the error to the handler of `comm`, else of `session`, else to the one for errors without an object
// (MPI_COMM_SELF's when MPI is live, the initial one before). Returns the error code if the handler does.
// Fatal handlers print rank, call and reason, tell the launcher, and do not return.
// The lock is held on entry; user handlers are called with it held (it is recursive).
int raise_error(int error, Comm* comm, Session* session) noexcept;
// Calls one handler, for the object with this handle, of the kind that the handler was made for. Written once
// for all kinds of objects: a handler of the program gets the address of a handle of the right type.
int call_errhandler(Errhandler* errhandler, std::uintptr_t handle, int error) noexcept;
inline const auto kNoObject = reinterpret_cast<std::uintptr_t>(MPI_COMM_NULL);
// Fails `call` if this handler, argument `number`, was made for another kind of object.
bool check_errhandler(Call& call, const Errhandler& errhandler, ObjectKind kind, int number) noexcept;
// The first handler of communicators and sessions, and the handler of errors while there are none.
Errhandler* initial_errhandler() noexcept;

// The handler of MPI_FILE_NULL: of errors without a file that is open, and the first one of new files.
Errhandler*& file_errhandler() noexcept;

// The handle of an error handler for the program, which frees it.
MPI_Errhandler hand_out(Errhandler* errhandler) noexcept;

// The text of a class or code; for codes that the program added, the program's text.
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
