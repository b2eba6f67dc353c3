// SPDX-License-Identifier: BSD-3-Clause
// mpi/core/attr.hpp: attributes that the program attaches to objects, and their keys. Written once for all
// kinds of objects: only the callbacks differ, in the type of the handle that they get.
// A key exists until the program has freed it and no object has an attribute with it.
#pragma once
#include <cstdint>

#include "mpi/core/objects.hpp"

namespace herald::mpi {

class Call;

struct Keyval {
  ObjectKind kind = ObjectKind::comm;
  bool freed = false;  // by the program: stays valid while an object has an attribute with it
  int number = 0;
  std::uint32_t uses = 1;      // the program's, and one for each attribute
  void (*copy)() = nullptr;    // cast to the type that `kind` says; 0: copies nothing, 1: copies the value
  void (*remove)() = nullptr;  // 0: does nothing
  void* extra = nullptr;
};

Keyval& new_keyval(ObjectKind kind, void (*copy)(), void (*remove)(), void* extra) noexcept;
Keyval* keyval(int number) noexcept;  // null if there is none
void release(Keyval& key) noexcept;

// The attributes of one object, with the handle that callbacks get.
struct AttributeStore {
  ObjectKind kind;
  std::uint32_t handle;
  Attributes& attributes;
};
inline AttributeStore store_of(Comm& comm) noexcept {
  return {ObjectKind::comm, comm.handle, comm.attributes};
}
inline AttributeStore store_of(Win& win) noexcept { return {ObjectKind::win, win.handle, win.attributes}; }
inline AttributeStore store_of(Datatype& datatype) noexcept {
  return {ObjectKind::type, datatype.handle, datatype.attributes};
}

// Null if the object has no attribute with this key.
void** find_attribute(AttributeStore store, int number) noexcept;
int set_attribute(Call& call, AttributeStore store, Keyval& key, void* value) noexcept;
int delete_attribute(Call& call, AttributeStore store, Keyval& key) noexcept;

// When an object is duplicated: copies the attributes that the keys' copy callbacks let pass. If a callback
// fails, deletes the copies so far and returns the failure of `call`; `to` then has no attributes.
int copy_attributes(Call& call, AttributeStore from, AttributeStore to) noexcept;
// When an object is freed: calls the delete callbacks, the newest attribute first. Stops at the first that
// fails: it and older ones stay. The object's handle must still be valid, since callbacks get it.
int delete_attributes(Call& call, AttributeStore store) noexcept;

}  // namespace herald::mpi
