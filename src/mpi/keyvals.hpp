// SPDX-License-Identifier: BSD-3-Clause
// mpi/keyvals.hpp: attribute keys. A key lives until the program has freed it and no object has an attribute
// with it.
#pragma once
#include <cstdint>

#include "mpi/objects.hpp"

namespace herald::mpi {

class Call;

struct Keyval {
  enum class For : std::uint8_t { comm, type, win };
  For made_for = For::comm;
  bool freed = false;  // by the program: stays valid while an object has an attribute with it
  int number = 0;
  std::uint32_t uses = 1;      // the program's, and one for each attribute
  void (*copy)() = nullptr;    // cast to the type that made_for says; 0: copies nothing, 1: copies the value
  void (*remove)() = nullptr;  // 0: does nothing
  void* extra = nullptr;
};

Keyval& new_keyval(Keyval::For made_for, void (*copy)(), void (*remove)(), void* extra) noexcept;
// By number; null if there is none.
Keyval* keyval(int number) noexcept;
void release(Keyval& key) noexcept;

// The attribute's value, or null. Setting deletes the old value first.
void** attribute(Comm& comm, int number) noexcept;
void** attribute(Datatype& datatype, int number) noexcept;
int set_attribute(Call& call, Comm& comm, Keyval& key, void* value) noexcept;
int set_attribute(Call& call, Datatype& datatype, Keyval& key, void* value) noexcept;
int remove_attribute(Call& call, Comm& comm, Keyval& key) noexcept;
int remove_attribute(Call& call, Datatype& datatype, Keyval& key) noexcept;

}  // namespace herald::mpi
