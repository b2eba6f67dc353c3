// SPDX-License-Identifier: BSD-3-Clause
// The calls on attributes, and the attributes that the library itself hangs on MPI_COMM_WORLD.
#include <utility>

#include "calls.hpp"
#include "mpi/attr.hpp"
#include "mpi/errors.hpp"
#include "mpi/keyvals.hpp"

namespace herald::mpi::api {
namespace {

template <class F>
auto plain(F* function) noexcept -> void (*)() {
  return reinterpret_cast<void (*)()>(function);
}

// The key, if it may be used with this kind of object.
Keyval* good_key(Call& call, int number, Keyval::For made_for) noexcept {
  Keyval* key = keyval(number);
  if (number == MPI_KEYVAL_INVALID)
    (void)call.fail(MPI_ERR_KEYVAL, "argument 2 (keyval) is MPI_KEYVAL_INVALID; give a key that was made");
  else if (key == nullptr)
    (void)call.fail(MPI_ERR_KEYVAL, "argument 2 (keyval) is %d, which was never made, or has been freed",
                    number);
  else if (key->made_for != made_for)
    (void)call.fail(MPI_ERR_KEYVAL, "argument 2 (keyval) is %d, which was made for another kind of object",
                    number);
  else
    return key;
  return nullptr;
}

bool is_predefined(int number) noexcept {
  return (number >= MPI_TAG_UB && number <= MPI_UNIVERSE_SIZE) ||
         (number >= MPI_WIN_BASE && number <= MPI_WIN_MODEL);
}

int refuse_predefined(Call& call, int number) noexcept {
  return call.fail(MPI_ERR_KEYVAL, "argument 2 (keyval) is %d, a predefined key, which can only be read",
                   number);
}

// Predefined attributes are the address of an int. Null: the communicator does not have it.
int* predefined_value(const Comm& comm, int number) noexcept {
  static int tag_ub = 0x7fffffff, io = MPI_ANY_SOURCE, host = MPI_PROC_NULL, global = 0;
  static int appnum, universe, last_code;
  switch (number) {
    case MPI_TAG_UB: return &tag_ub;
    case MPI_IO: return &io;
    case MPI_HOST: return &host;
    case MPI_WTIME_IS_GLOBAL: return &global;
    case MPI_LASTUSEDCODE: last_code = added_errors().last_used(); return &last_code;
    case MPI_APPNUM:
      appnum = runtime().boot().app_number();
      return comm.predefined && appnum >= 0 ? &appnum : nullptr;
    case MPI_UNIVERSE_SIZE:
      universe = runtime().boot().universe_size();
      return comm.predefined && universe > 0 ? &universe : nullptr;
    default: return nullptr;
  }
}

template <class F, class G>
int create_key(Keyval::For made_for, F* copy, G* remove, int* number, void* extra) noexcept {
  *number = new_keyval(made_for, plain(copy), plain(remove), extra).number;
  return MPI_SUCCESS;
}

int free_key(Call& call, int* number, Keyval::For made_for) noexcept {
  if (is_predefined(*number))
    return call.fail(MPI_ERR_KEYVAL, "argument 1 (keyval) is %d, a predefined key, which cannot be freed",
                     *number);
  Keyval* key = good_key(call, *number, made_for);
  if (key == nullptr) return call.error();
  if (!std::exchange(key->freed, true)) release(*key);  // again while in use: no harm
  *number = MPI_KEYVAL_INVALID;
  return MPI_SUCCESS;
}

int get_comm(Call& call, Comm* comm, int number, void* value, int* flag) noexcept {
  if (is_predefined(number) && number < MPI_WIN_BASE) {
    int* found = predefined_value(*comm, number);
    *flag = found != nullptr;
    if (found != nullptr) *static_cast<void**>(value) = found;
    return MPI_SUCCESS;
  }
  if (good_key(call, number, Keyval::For::comm) == nullptr) return call.error();
  void** found = attribute(*comm, number);
  *flag = found != nullptr;
  if (found != nullptr) *static_cast<void**>(value) = *found;
  return MPI_SUCCESS;
}

template <class T>
int set(Call& call, T* object, int number, void* value, Keyval::For made_for) noexcept {
  if (is_predefined(number)) return refuse_predefined(call, number);
  Keyval* key = good_key(call, number, made_for);
  return key == nullptr ? call.error() : set_attribute(call, *object, *key, value);
}

template <class T>
int remove(Call& call, T* object, int number, Keyval::For made_for) noexcept {
  if (is_predefined(number)) return refuse_predefined(call, number);
  Keyval* key = good_key(call, number, made_for);
  return key == nullptr ? call.error() : remove_attribute(call, *object, *key);
}

}  // namespace

int comm_create_keyval(Call&, MPI_Comm_copy_attr_function* copy, MPI_Comm_delete_attr_function* remove,
                       int* number, void* extra) {
  return create_key(Keyval::For::comm, copy, remove, number, extra);
}
int keyval_create(Call&, MPI_Copy_function* copy, MPI_Delete_function* remove, int* number, void* extra) {
  return create_key(Keyval::For::comm, copy, remove, number, extra);
}
int type_create_keyval(Call&, MPI_Type_copy_attr_function* copy, MPI_Type_delete_attr_function* remove,
                       int* number, void* extra) {
  return create_key(Keyval::For::type, copy, remove, number, extra);
}
int win_create_keyval(Call&, MPI_Win_copy_attr_function* copy, MPI_Win_delete_attr_function* remove,
                      int* number, void* extra) {
  return create_key(Keyval::For::win, copy, remove, number, extra);
}

int comm_free_keyval(Call& call, int* number) { return free_key(call, number, Keyval::For::comm); }
int keyval_free(Call& call, int* number) { return free_key(call, number, Keyval::For::comm); }
int type_free_keyval(Call& call, int* number) { return free_key(call, number, Keyval::For::type); }
int win_free_keyval(Call& call, int* number) { return free_key(call, number, Keyval::For::win); }

int comm_set_attr(Call& call, Comm* comm, int number, void* value) {
  return set(call, comm, number, value, Keyval::For::comm);
}
int attr_put(Call& call, Comm* comm, int number, void* value) {
  return set(call, comm, number, value, Keyval::For::comm);
}
int type_set_attr(Call& call, Datatype* datatype, int number, void* value) {
  return set(call, datatype, number, value, Keyval::For::type);
}

int comm_get_attr(Call& call, Comm* comm, int number, void* value, int* flag) {
  return get_comm(call, comm, number, value, flag);
}
int attr_get(Call& call, Comm* comm, int number, void* value, int* flag) {
  return get_comm(call, comm, number, value, flag);
}
int type_get_attr(Call& call, Datatype* datatype, int number, void* value, int* flag) {
  if (good_key(call, number, Keyval::For::type) == nullptr) return call.error();
  void** found = attribute(*datatype, number);
  *flag = found != nullptr;
  if (found != nullptr) *static_cast<void**>(value) = *found;
  return MPI_SUCCESS;
}

int comm_delete_attr(Call& call, Comm* comm, int number) {
  return remove(call, comm, number, Keyval::For::comm);
}
int attr_delete(Call& call, Comm* comm, int number) { return remove(call, comm, number, Keyval::For::comm); }
int type_delete_attr(Call& call, Datatype* datatype, int number) {
  return remove(call, datatype, number, Keyval::For::type);
}

}  // namespace herald::mpi::api
