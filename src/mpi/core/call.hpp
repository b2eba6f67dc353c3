// SPDX-License-Identifier: BSD-3-Clause
// mpi/core/call.hpp: one call of the program into the library: lock, argument checks, error handling.
// In:  the arguments of the program, each with its number and name.
// Out: objects; or a message that names call, argument and cure, handed to the right error handler.
// The first failed check decides; later ones do nothing.
#pragma once
#include "mpi/core/counts.hpp"
#include "mpi/core/objects.hpp"
#include "mpi/core/runtime.hpp"

namespace herald::mpi {

struct Arg {
  int number;
  const char* name;
};

enum class When : std::uint8_t { live, any, tool };

class Call {
 public:
  Call(const char* function, When when, bool large) noexcept
      : function_(function), large_(large), tool_(when == When::tool) {
    if (when == When::live && mode_now.load(std::memory_order_acquire) == Mode::one) [[likely]]
      return;
    runtime().enter(*this, when);
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  ~Call() {
    if (locked_ != 0) runtime().leave(locked_);
  }

  const char* function() const noexcept { return function_; }
  bool large() const noexcept { return large_; }  // called by its _c name
  bool failed() const noexcept { return error_ != MPI_SUCCESS; }
  int error() const noexcept { return error_; }  // the class of the first failed check

  // Handles to objects. Null and failed() if the handle is not valid.
  Comm* comm(MPI_Comm handle, Arg arg) noexcept {
    Comm* object = find(handle);
    if (object == nullptr) return bad_comm(arg, handle), nullptr;
    if (comm_ == nullptr && !failed()) comm_ = object;
    return object;
  }
  Comm* maybe_comm(MPI_Comm handle, Arg arg) noexcept {
    return handle == MPI_COMM_NULL ? nullptr : comm(handle, arg);
  }
  Datatype* datatype(MPI_Datatype handle, Arg arg) noexcept {
    Datatype* object = find(handle);
    if (object == nullptr) bad_handle(arg, MPI_ERR_TYPE, "datatype", handle == MPI_DATATYPE_NULL);
    return object;
  }
  Datatype* maybe_datatype(MPI_Datatype handle, Arg) noexcept { return find(handle); }
  Datatype* committed(MPI_Datatype handle, Arg arg) noexcept {
    Datatype* object = datatype(handle, arg);
    if (object != nullptr && !object->committed) not_committed(arg);
    return object;
  }
  // No data moves to or from MPI_PROC_NULL: any datatype is allowed there, the null one too.
  Datatype* committed_for(int rank, MPI_Datatype handle, Arg arg) noexcept {
    if (rank == MPI_PROC_NULL && find(handle) == nullptr) [[unlikely]]
      return find(MPI_BYTE);
    return committed(handle, arg);
  }
  Group* group(MPI_Group handle, Arg arg) noexcept {
    Group* object = find(handle);
    if (object == nullptr) bad_handle(arg, MPI_ERR_GROUP, "group", handle == MPI_GROUP_NULL);
    return object;
  }
  Info* info(MPI_Info handle, Arg arg) noexcept {
    Info* object = find(handle);
    if (object == nullptr) bad_handle(arg, MPI_ERR_INFO, "info", handle == MPI_INFO_NULL);
    return object;
  }
  Info* maybe_info(MPI_Info handle, Arg arg) noexcept {
    return handle == MPI_INFO_NULL ? nullptr : info(handle, arg);
  }
  Errhandler* errhandler(MPI_Errhandler handle, Arg arg) noexcept {
    Errhandler* object = find(handle);
    if (object == nullptr)
      bad_handle(arg, MPI_ERR_ERRHANDLER, "error handler", handle == MPI_ERRHANDLER_NULL);
    return object;
  }
  Op* op(MPI_Op handle, Arg arg) noexcept {
    Op* object = find(handle);
    if (object == nullptr) bad_handle(arg, MPI_ERR_OP, "operation", handle == MPI_OP_NULL);
    return object;
  }
  Session* session(MPI_Session handle, Arg arg) noexcept {
    Session* object = find(handle);
    if (object == nullptr)
      return bad_handle(arg, MPI_ERR_SESSION, "session", handle == MPI_SESSION_NULL), nullptr;
    if (session_ == nullptr && !failed()) session_ = object;
    return object;
  }

  // Values.
  void count(MPI_Count value, Arg arg) noexcept {
    if (value < 0) [[unlikely]]
      bad_value(arg, MPI_ERR_COUNT, value, "must not be negative");
  }
  void length(MPI_Count value, Arg arg) noexcept {
    if (value < 0) [[unlikely]]
      bad_value(arg, MPI_ERR_ARG, value, "must not be negative");
  }
  void dest(int rank, const Comm* comm, Arg arg) noexcept {
    if (comm != nullptr && !comm->names(rank) && rank != MPI_PROC_NULL) [[unlikely]]
      bad_rank(arg, MPI_ERR_RANK, rank, comm, false);
  }
  void source(int rank, const Comm* comm, Arg arg) noexcept {
    if (comm != nullptr && !comm->names(rank) && rank != MPI_PROC_NULL && rank != MPI_ANY_SOURCE) [[unlikely]]
      bad_rank(arg, MPI_ERR_RANK, rank, comm, true);
  }
  void root(int rank, const Comm* comm, Arg arg) noexcept {
    if (comm != nullptr && !comm->names(rank) && !comm->has_own_roots(rank)) [[unlikely]]
      bad_rank(arg, MPI_ERR_ROOT, rank, comm, false);
  }
  void tag(int value, Arg arg) noexcept {
    if (value < 0) [[unlikely]]
      bad_tag(arg, value, false);
  }
  void recv_tag(int value, Arg arg) noexcept {
    if (value < 0 && value != MPI_ANY_TAG) [[unlikely]]
      bad_tag(arg, value, true);
  }
  void buffer(const void* address, MPI_Count elements, const Datatype* datatype, Arg arg) noexcept {
    if (address == nullptr && elements > 0 && datatype != nullptr) [[unlikely]]
      null_buffer(datatype, arg);
  }
  void out(const void* address, Arg arg) noexcept {
    if (address == nullptr) [[unlikely]]
      null_pointer(arg);
  }
  void text(const char* string, Arg arg) noexcept { out(string, arg); }
  template <class F>
  void function(F* address, Arg arg) noexcept {
    if (address == nullptr) [[unlikely]]
      null_pointer(arg);
  }

  // Describes the failure (printf-like; the name of the call is put before the text). Returns the class.
  [[gnu::format(printf, 3, 4)]] int fail(int error_class, const char* format, ...) noexcept;

  // Selects the error handler for errors of this call; by default that of the communicator or session among
  // the arguments, else of MPI_COMM_SELF.
  void blame(Comm* comm) noexcept { comm_ = comm; }
  void blame(Session* session) noexcept { session_ = session; }
  void blame(MPI_Comm handle) noexcept { comm_ = find(handle); }
  void blame(MPI_Session handle) noexcept { session_ = find(handle); }
  void blame(MPI_Errhandler handle) noexcept { handler_ = find(handle); }

  int finish() noexcept { return raise(error_); }
  int finish(int error) noexcept { return error == MPI_SUCCESS ? MPI_SUCCESS : raise(error); }
  // A call that Herald does not have yet.
  int later(const char* what) noexcept;

 private:
  friend class Runtime;
  void bad_handle(Arg arg, int error_class, const char* what, bool null) noexcept;
  void bad_comm(Arg arg, MPI_Comm handle) noexcept;
  void bad_value(Arg arg, int error_class, MPI_Count value, const char* rule) noexcept;
  void bad_rank(Arg arg, int error_class, int rank, const Comm* comm, bool wildcard) noexcept;
  void bad_tag(Arg arg, int value, bool wildcard) noexcept;
  void not_committed(Arg arg) noexcept;
  void null_buffer(const Datatype* datatype, Arg arg) noexcept;
  void null_pointer(Arg arg) noexcept;
  void too_large(MPI_Count elements, Arg arg) noexcept;
  int raise(int error) noexcept;

  const char* function_;
  Comm* comm_ = nullptr;
  Session* session_ = nullptr;
  Errhandler* handler_ = nullptr;
  int error_ = MPI_SUCCESS;
  bool large_;
  bool tool_;  // MPI_T: errors go back to the caller, never to a handler
  std::uint8_t locked_ = 0;
};

}  // namespace herald::mpi
