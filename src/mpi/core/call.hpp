// SPDX-License-Identifier: BSD-3-Clause
// mpi/core/call.hpp: one call of the program into the library: lock, argument checks, error handling.
// In:  the arguments of the program, each with its number and name.
// Out: objects; or a message that names call, argument and cure, handed to the right error handler.
// The first failed check decides; later ones do nothing.
#pragma once
#include <type_traits>

#include "mpi/core/counts.hpp"
#include "mpi/core/objects.hpp"
#include "mpi/core/runtime.hpp"

namespace herald::mpi {

struct Arg {
  int number;
  const char* name;
};

// unlocked: as live, but the implementation takes the lock where it needs it (Runtime::enter).
enum class When : std::uint8_t { live, unlocked, any, tool };

// The three forms of every collective; prepare: only what the next such call needs is made (mpix.h).
struct How {
  enum class Form : std::uint8_t { wait, start, keep, prepare };
  Form form = Form::wait;
  MPI_Request* request = nullptr;
};

// The return value of a function after a failure: the error class, false or null.
struct Failed {
  int error_class;
  operator int() const noexcept { return error_class; }
  operator bool() const noexcept { return false; }
  template <class T>
  operator T*() const noexcept {
    return nullptr;
  }
};

class Call {
 public:
  Call(const char* function, When when, bool large) noexcept
      : function_(function), outer_(current), large_(large), tool_(when == When::tool) {
    current = this;
    const Mode mode = mode_now.load(std::memory_order_acquire);
    if ((when == When::live && mode == Mode::one) || (when == When::unlocked && mode != Mode::off)) [[likely]]
      return;
    runtime().enter(*this, when);
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  ~Call() {
    current = outer_;
    if (locked_ != 0) runtime().leave(locked_);
  }

  const char* function() const noexcept { return function_; }
  const Comm* comm() const noexcept { return comm_; }  // of the first argument that is one, or null
  const Win* win() const noexcept { return win_; }
  // The innermost call of this thread, for descriptions of what it waits for.
  [[gnu::tls_model("initial-exec")]] static inline thread_local const Call* current = nullptr;
  bool large() const noexcept { return large_; }  // called by its _c name
  bool failed() const noexcept { return error_ != MPI_SUCCESS; }
  int error() const noexcept { return error_; }  // the class of the first failed check

  // The object of a handle; null and failed() if the handle is not valid.
  template <class Handle>
  auto* object(Handle handle, Arg arg) noexcept {
    auto* found = find(handle);
    if (found == nullptr) [[unlikely]]
      bad_handle(arg, kind_of(handle), handle);
    if constexpr (std::is_same_v<Handle, MPI_Comm>)
      if (comm_ == nullptr && !failed()) comm_ = found;
    if constexpr (std::is_same_v<Handle, MPI_Session>)
      if (session_ == nullptr && !failed()) session_ = found;
    if constexpr (std::is_same_v<Handle, MPI_Win>)
      if (win_ == nullptr && !failed()) win_ = found;
    if constexpr (std::is_same_v<Handle, MPI_File>)
      if (file_ == nullptr && !failed()) file_ = found;
    return found;
  }
  // The same; null also for the null handle.
  template <class Handle>
  auto* maybe(Handle handle, Arg arg) noexcept {
    return handle == kind_of(handle).null ? nullptr : object(handle, arg);
  }

  // Describes the failure (printf-like; the name of the call is put before the text).
  [[gnu::format(printf, 3, 4)]] Failed fail(int error_class, const char* format, ...) noexcept;

  // Selects the error handler for errors of this call; by default that of the communicator, session, window
  // or file among the arguments, else of MPI_COMM_SELF.
  void blame(Comm* comm) noexcept { comm_ = comm, win_ = nullptr, file_ = nullptr, about_files_ = false; }
  void blame(Win* win) noexcept { win_ = win; }
  // Null: errors go to the handler of MPI_FILE_NULL.
  void blame(File* file) noexcept { file_ = file, about_files_ = true; }
  void blame(Session* session) noexcept { session_ = session; }
  void blame(MPI_Errhandler handle) noexcept { handler_ = find(handle); }

  int finish() noexcept { return raise(error_); }
  int finish(int error) noexcept { return error == MPI_SUCCESS ? MPI_SUCCESS : raise(error); }

 private:
  friend class Runtime;
  void bad_handle(Arg arg, HandleKind kind, const void* handle) noexcept;
  int raise(int error) noexcept;

  const char* function_;
  const Call* outer_;
  Comm* comm_ = nullptr;
  Session* session_ = nullptr;
  Win* win_ = nullptr;
  File* file_ = nullptr;
  Errhandler* handler_ = nullptr;
  int error_ = MPI_SUCCESS;
  bool large_;
  bool about_files_ = false;
  bool tool_;  // MPI_T: errors go back to the caller, never to a handler
  std::uint8_t locked_ = 0;
};

}  // namespace herald::mpi
