// SPDX-License-Identifier: BSD-3-Clause
// The calls on attributes, and the predefined attributes of communicators.
#include <utility>

#include "calls.hpp"
#include "mpi/core/attr.hpp"
#include "mpi/core/errors.hpp"

namespace herald::mpi::api {
namespace {

template <class F>
auto plain(F* function) noexcept -> void (*)() {
  return reinterpret_cast<void (*)()>(function);
}

// The key, if it may be used with this kind of object.
Keyval* good_key(Call& call, int number, ObjectKind kind) noexcept {
  Keyval* key = keyval(number);
  if (key != nullptr && key->kind == kind) return key;
  if (number == MPI_KEYVAL_INVALID)
    return call.fail(MPI_ERR_KEYVAL, "argument 2 (keyval) is MPI_KEYVAL_INVALID; give a key that was made");
  return call.fail(MPI_ERR_KEYVAL, "argument 2 (keyval) is %d, which was %s", number,
                   key == nullptr ? "never made, or has been freed" : "made for another kind of object");
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

// MPI_WIN_BASE is the address itself, the others are addresses of values.
void* predefined_value(Win& win, int number) noexcept {
  switch (number) {
    case MPI_WIN_BASE: return win.base;
    case MPI_WIN_SIZE: return &win.size;
    case MPI_WIN_DISP_UNIT: return &win.disp_unit;
    case MPI_WIN_CREATE_FLAVOR: return &win.flavor;
    default: return &win.model;
  }
}

template <class F, class G>
int create_key(ObjectKind kind, F* copy, G* remove, int* number, void* extra) noexcept {
  *number = new_keyval(kind, plain(copy), plain(remove), extra).number;
  return MPI_SUCCESS;
}

int free_key(Call& call, int* number, ObjectKind kind) noexcept {
  if (is_predefined(*number))
    return call.fail(MPI_ERR_KEYVAL, "argument 1 (keyval) is %d, a predefined key, which cannot be freed",
                     *number);
  Keyval* key = good_key(call, *number, kind);
  if (key == nullptr) return call.error();
  if (!std::exchange(key->freed, true)) release(*key);  // a second free while in use is allowed
  *number = MPI_KEYVAL_INVALID;
  return MPI_SUCCESS;
}

int get(Call& call, AttributeStore store, int number, void* value, int* flag) noexcept {
  if (good_key(call, number, store.kind) == nullptr) return call.error();
  void** found = find_attribute(store, number);
  *flag = found != nullptr;
  if (found != nullptr) *static_cast<void**>(value) = *found;
  return MPI_SUCCESS;
}

int set(Call& call, AttributeStore store, int number, void* value) noexcept {
  if (is_predefined(number)) return refuse_predefined(call, number);
  Keyval* key = good_key(call, number, store.kind);
  return key == nullptr ? call.error() : set_attribute(call, store, *key, value);
}

int remove(Call& call, AttributeStore store, int number) noexcept {
  if (is_predefined(number)) return refuse_predefined(call, number);
  Keyval* key = good_key(call, number, store.kind);
  return key == nullptr ? call.error() : delete_attribute(call, store, *key);
}

}  // namespace

int comm_create_keyval(Call&, MPI_Comm_copy_attr_function* copy, MPI_Comm_delete_attr_function* remove,
                       int* number, void* extra) {
  return create_key(ObjectKind::comm, copy, remove, number, extra);
}
int type_create_keyval(Call&, MPI_Type_copy_attr_function* copy, MPI_Type_delete_attr_function* remove,
                       int* number, void* extra) {
  return create_key(ObjectKind::type, copy, remove, number, extra);
}
int win_create_keyval(Call&, MPI_Win_copy_attr_function* copy, MPI_Win_delete_attr_function* remove,
                      int* number, void* extra) {
  return create_key(ObjectKind::win, copy, remove, number, extra);
}

int comm_free_keyval(Call& call, int* number) { return free_key(call, number, ObjectKind::comm); }
int type_free_keyval(Call& call, int* number) { return free_key(call, number, ObjectKind::type); }
int win_free_keyval(Call& call, int* number) { return free_key(call, number, ObjectKind::win); }

int comm_set_attr(Call& call, Comm* comm, int number, void* value) {
  return set(call, store_of(*comm), number, value);
}
int type_set_attr(Call& call, Datatype* datatype, int number, void* value) {
  return set(call, store_of(*datatype), number, value);
}

int win_set_attr(Call& call, Win* win, int number, void* value) {
  return set(call, store_of(*win), number, value);
}

int win_get_attr(Call& call, Win* win, int number, void* value, int* flag) {
  if (number < MPI_WIN_BASE || number > MPI_WIN_MODEL) return get(call, store_of(*win), number, value, flag);
  *static_cast<void**>(value) = predefined_value(*win, number);
  *flag = 1;
  return MPI_SUCCESS;
}
int comm_get_attr(Call& call, Comm* comm, int number, void* value, int* flag) {
  if (!is_predefined(number) || number >= MPI_WIN_BASE)
    return get(call, store_of(*comm), number, value, flag);
  int* found = predefined_value(*comm, number);
  *flag = found != nullptr;
  if (found != nullptr) *static_cast<void**>(value) = found;
  return MPI_SUCCESS;
}
int type_get_attr(Call& call, Datatype* datatype, int number, void* value, int* flag) {
  return get(call, store_of(*datatype), number, value, flag);
}

int comm_delete_attr(Call& call, Comm* comm, int number) { return remove(call, store_of(*comm), number); }
int win_delete_attr(Call& call, Win* win, int number) { return remove(call, store_of(*win), number); }
int type_delete_attr(Call& call, Datatype* datatype, int number) {
  return remove(call, store_of(*datatype), number);
}

}  // namespace herald::mpi::api
