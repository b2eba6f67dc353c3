// SPDX-License-Identifier: BSD-3-Clause
// The text of every error class of the ABI, and the classes and codes that the program added.
#include <algorithm>
#include <iterator>

#include "mpi/core/errors.hpp"

namespace herald::mpi {
namespace {

struct Words {
  int error_class;
  const char* text;
};

constexpr Words kWords[] = {
    {MPI_SUCCESS, "no error"},
    {MPI_ERR_BUFFER, "MPI_ERR_BUFFER: the buffer cannot be used"},
    {MPI_ERR_COUNT, "MPI_ERR_COUNT: the count is not valid"},
    {MPI_ERR_TYPE, "MPI_ERR_TYPE: the datatype is not valid here"},
    {MPI_ERR_TAG, "MPI_ERR_TAG: the tag is out of range"},
    {MPI_ERR_COMM, "MPI_ERR_COMM: the communicator is not valid"},
    {MPI_ERR_RANK, "MPI_ERR_RANK: no such rank"},
    {MPI_ERR_REQUEST, "MPI_ERR_REQUEST: the request is not valid"},
    {MPI_ERR_ROOT, "MPI_ERR_ROOT: no such root"},
    {MPI_ERR_GROUP, "MPI_ERR_GROUP: the group is not valid"},
    {MPI_ERR_OP, "MPI_ERR_OP: the operation is not valid, or not defined on this datatype"},
    {MPI_ERR_TOPOLOGY, "MPI_ERR_TOPOLOGY: the communicator has no such topology"},
    {MPI_ERR_DIMS, "MPI_ERR_DIMS: the dimensions are not valid"},
    {MPI_ERR_ARG, "MPI_ERR_ARG: an argument is not valid"},
    {MPI_ERR_UNKNOWN, "MPI_ERR_UNKNOWN: an error of unknown kind"},
    {MPI_ERR_TRUNCATE, "MPI_ERR_TRUNCATE: the message is longer than the receive buffer"},
    {MPI_ERR_OTHER, "MPI_ERR_OTHER: an error of no other class"},
    {MPI_ERR_INTERN, "MPI_ERR_INTERN: an error inside the library"},
    {MPI_ERR_PENDING, "MPI_ERR_PENDING: the operation has neither failed nor finished yet"},
    {MPI_ERR_IN_STATUS, "MPI_ERR_IN_STATUS: look at the error field of each status"},
    {MPI_ERR_ACCESS, "MPI_ERR_ACCESS: permission denied"},
    {MPI_ERR_AMODE, "MPI_ERR_AMODE: the file's access mode does not allow this"},
    {MPI_ERR_ASSERT, "MPI_ERR_ASSERT: the assertion is not valid"},
    {MPI_ERR_BAD_FILE, "MPI_ERR_BAD_FILE: the file name is not valid"},
    {MPI_ERR_BASE, "MPI_ERR_BASE: not memory that MPI_Alloc_mem gave"},
    {MPI_ERR_CONVERSION, "MPI_ERR_CONVERSION: a data conversion function failed"},
    {MPI_ERR_DISP, "MPI_ERR_DISP: the displacement is not valid"},
    {MPI_ERR_DUP_DATAREP, "MPI_ERR_DUP_DATAREP: a data representation of this name exists"},
    {MPI_ERR_FILE_EXISTS, "MPI_ERR_FILE_EXISTS: the file exists"},
    {MPI_ERR_FILE_IN_USE, "MPI_ERR_FILE_IN_USE: the file is open elsewhere"},
    {MPI_ERR_FILE, "MPI_ERR_FILE: the file handle is not valid"},
    {MPI_ERR_INFO_KEY, "MPI_ERR_INFO_KEY: the info key is too long or empty"},
    {MPI_ERR_INFO_NOKEY, "MPI_ERR_INFO_NOKEY: the info object has no such key"},
    {MPI_ERR_INFO_VALUE, "MPI_ERR_INFO_VALUE: the info value is too long or missing"},
    {MPI_ERR_INFO, "MPI_ERR_INFO: the info object is not valid"},
    {MPI_ERR_IO, "MPI_ERR_IO: input or output failed"},
    {MPI_ERR_KEYVAL, "MPI_ERR_KEYVAL: no such attribute key"},
    {MPI_ERR_LOCKTYPE, "MPI_ERR_LOCKTYPE: the lock type is not valid"},
    {MPI_ERR_NAME, "MPI_ERR_NAME: the service is not published under this name"},
    {MPI_ERR_NO_MEM, "MPI_ERR_NO_MEM: out of memory"},
    {MPI_ERR_NOT_SAME, "MPI_ERR_NOT_SAME: the arguments differ between the processes"},
    {MPI_ERR_NO_SPACE, "MPI_ERR_NO_SPACE: the disk is full"},
    {MPI_ERR_NO_SUCH_FILE, "MPI_ERR_NO_SUCH_FILE: there is no such file"},
    {MPI_ERR_PORT, "MPI_ERR_PORT: the port name is not valid"},
    {MPI_ERR_QUOTA, "MPI_ERR_QUOTA: the disk quota is used up"},
    {MPI_ERR_READ_ONLY, "MPI_ERR_READ_ONLY: the file or file system cannot be written"},
    {MPI_ERR_RMA_ATTACH, "MPI_ERR_RMA_ATTACH: the memory cannot be attached to the window"},
    {MPI_ERR_RMA_CONFLICT, "MPI_ERR_RMA_CONFLICT: accesses to the window conflict"},
    {MPI_ERR_RMA_RANGE, "MPI_ERR_RMA_RANGE: the target memory is outside the window"},
    {MPI_ERR_RMA_SHARED, "MPI_ERR_RMA_SHARED: the memory cannot be shared by these processes"},
    {MPI_ERR_RMA_SYNC, "MPI_ERR_RMA_SYNC: the window is not in the right synchronisation state"},
    {MPI_ERR_SERVICE, "MPI_ERR_SERVICE: the service name cannot be withdrawn"},
    {MPI_ERR_SIZE, "MPI_ERR_SIZE: the size is not valid"},
    {MPI_ERR_SPAWN, "MPI_ERR_SPAWN: the processes could not be started"},
    {MPI_ERR_UNSUPPORTED_DATAREP, "MPI_ERR_UNSUPPORTED_DATAREP: the data representation is not known"},
    {MPI_ERR_UNSUPPORTED_OPERATION, "MPI_ERR_UNSUPPORTED_OPERATION: this is not supported"},
    {MPI_ERR_WIN, "MPI_ERR_WIN: the window is not valid"},
    {MPI_ERR_RMA_FLAVOR, "MPI_ERR_RMA_FLAVOR: the window is of the wrong kind for this"},
    {MPI_ERR_PROC_ABORTED, "MPI_ERR_PROC_ABORTED: a process that this needs has ended"},
    {MPI_ERR_VALUE_TOO_LARGE,
     "MPI_ERR_VALUE_TOO_LARGE: the value does not fit the variable; use the _c form"},
    {MPI_ERR_SESSION, "MPI_ERR_SESSION: the session is not valid"},
    {MPI_ERR_ERRHANDLER, "MPI_ERR_ERRHANDLER: the error handler is not valid"},
    {MPI_ERR_ABI, "MPI_ERR_ABI: the ABI was asked for something it was not built with"},
    {MPI_T_ERR_CANNOT_INIT, "MPI_T_ERR_CANNOT_INIT: the tool interface cannot start"},
    {MPI_T_ERR_NOT_ACCESSIBLE, "MPI_T_ERR_NOT_ACCESSIBLE: this cannot be reached now"},
    {MPI_T_ERR_NOT_INITIALIZED, "MPI_T_ERR_NOT_INITIALIZED: call MPI_T_init_thread first"},
    {MPI_T_ERR_NOT_SUPPORTED, "MPI_T_ERR_NOT_SUPPORTED: the tool interface does not offer this"},
    {MPI_T_ERR_MEMORY, "MPI_T_ERR_MEMORY: out of memory"},
    {MPI_T_ERR_INVALID, "MPI_T_ERR_INVALID: an argument of the tool call is not valid"},
    {MPI_T_ERR_INVALID_INDEX, "MPI_T_ERR_INVALID_INDEX: no variable or category has this index"},
    {MPI_T_ERR_INVALID_ITEM, "MPI_T_ERR_INVALID_ITEM: the enumeration has no such item"},
    {MPI_T_ERR_INVALID_SESSION, "MPI_T_ERR_INVALID_SESSION: the tool session is not valid"},
    {MPI_T_ERR_INVALID_HANDLE, "MPI_T_ERR_INVALID_HANDLE: the variable's handle is not valid"},
    {MPI_T_ERR_INVALID_NAME, "MPI_T_ERR_INVALID_NAME: nothing has this name"},
    {MPI_T_ERR_OUT_OF_HANDLES, "MPI_T_ERR_OUT_OF_HANDLES: no more handles can be made"},
    {MPI_T_ERR_OUT_OF_SESSIONS, "MPI_T_ERR_OUT_OF_SESSIONS: no more tool sessions can be made"},
    {MPI_T_ERR_CVAR_SET_NOT_NOW, "MPI_T_ERR_CVAR_SET_NOT_NOW: the variable cannot be set any more"},
    {MPI_T_ERR_CVAR_SET_NEVER, "MPI_T_ERR_CVAR_SET_NEVER: the variable can only be read"},
    {MPI_T_ERR_PVAR_NO_WRITE, "MPI_T_ERR_PVAR_NO_WRITE: the variable cannot be written or reset"},
    {MPI_T_ERR_PVAR_NO_STARTSTOP, "MPI_T_ERR_PVAR_NO_STARTSTOP: the variable always runs"},
    {MPI_T_ERR_PVAR_NO_ATOMIC, "MPI_T_ERR_PVAR_NO_ATOMIC: the variable cannot be read and reset at once"},
    {MPI_ERR_LASTCODE, "MPI_ERR_LASTCODE: the end of the error codes that the standard keeps"},
};

const Words* words_of(int error) noexcept {
  const auto* found = std::lower_bound(std::begin(kWords), std::end(kWords), error,
                                       [](const Words& row, int value) { return row.error_class < value; });
  return found != std::end(kWords) && found->error_class == error ? found : nullptr;
}

}  // namespace

AddedErrors& added_errors() noexcept {
  static auto& one = *new AddedErrors;
  return one;
}

const AddedErrors::Row* AddedErrors::find(int code) const noexcept {
  if (code < kFirst || static_cast<std::size_t>(code - kFirst) >= rows_.size()) return nullptr;
  const Row& row = rows_[static_cast<std::size_t>(code - kFirst)];
  return row.used ? &row : nullptr;
}

// Removed numbers are reused, the one removed longest ago first.
int AddedErrors::add(int error_class) noexcept {
  int code = kFirst + static_cast<int>(rows_.size());
  if (removed_.empty()) {
    rows_.emplace_back();
  } else {
    code = removed_.front();
    removed_.pop_front();
  }
  Row& row = rows_[static_cast<std::size_t>(code - kFirst)];
  row.used = true;
  row.error_class = error_class == 0 ? code : error_class;
  if (error_class >= kFirst) ++rows_[static_cast<std::size_t>(error_class - kFirst)].codes;
  return code;
}

bool AddedErrors::is_class(int code) const noexcept {
  const Row* row = find(code);
  return row != nullptr && row->error_class == code;
}

bool AddedErrors::has_codes(int error_class) const noexcept { return find(error_class)->codes != 0; }

int AddedErrors::class_of(int code) const noexcept { return find(code)->error_class; }

void AddedErrors::set_text(int code, const char* text) noexcept {
  Row& row = rows_[static_cast<std::size_t>(code - kFirst)];
  row.has_text = text != nullptr;
  row.text = text != nullptr ? text : "";
}

bool AddedErrors::has_text(int code) const noexcept {
  const Row* row = find(code);
  return row != nullptr && row->has_text;
}

const char* AddedErrors::text(int code) const noexcept { return find(code)->text.c_str(); }

void AddedErrors::remove(int code) noexcept {
  const int error_class = class_of(code);
  if (error_class != code && error_class >= kFirst)
    --rows_[static_cast<std::size_t>(error_class - kFirst)].codes;
  rows_[static_cast<std::size_t>(code - kFirst)] = Row{};
  removed_.push_back(code);
}

int AddedErrors::last_used() const noexcept {
  for (std::size_t i = rows_.size(); i-- > 0;)
    if (rows_[i].used) return kFirst + static_cast<int>(i);
  return MPI_ERR_LASTCODE;
}

bool is_error_class(int code) noexcept { return words_of(code) != nullptr || added_errors().is_class(code); }
bool is_error_code(int code) noexcept { return words_of(code) != nullptr || added_errors().known(code); }

const char* error_text(int error) noexcept {
  if (const Words* words = words_of(error)) return words->text;
  if (added_errors().known(error)) return added_errors().text(error);
  return "not an error code";
}

}  // namespace herald::mpi
