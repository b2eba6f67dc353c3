// SPDX-License-Identifier: BSD-3-Clause
// Attribute keys and their callbacks; copying and deleting the attributes of an object.
#include "mpi/attr.hpp"

#include "mpi/call.hpp"
#include "mpi/keyvals.hpp"

namespace herald::mpi {
namespace {

constexpr int kFirstKey = 4096;

std::vector<std::unique_ptr<Keyval>>& keys() noexcept {
  static auto& list = *new std::vector<std::unique_ptr<Keyval>>;
  return list;
}

bool is_constant(void (*function)(), std::uintptr_t value) noexcept {
  return reinterpret_cast<std::uintptr_t>(function) == value;
}

// The callbacks differ in the type of the object's handle only.
int run_copy(const Keyval& key, Comm& from, void* value, void** copy, int* flag) noexcept {
  return reinterpret_cast<MPI_Comm_copy_attr_function*>(key.copy)(handle_of(&from), key.number, key.extra,
                                                                  value, copy, flag);
}
int run_copy(const Keyval& key, Datatype& from, void* value, void** copy, int* flag) noexcept {
  return reinterpret_cast<MPI_Type_copy_attr_function*>(key.copy)(handle_of(&from), key.number, key.extra,
                                                                  value, copy, flag);
}
int run_delete(const Keyval& key, Comm& object, void* value) noexcept {
  return reinterpret_cast<MPI_Comm_delete_attr_function*>(key.remove)(handle_of(&object), key.number, value,
                                                                      key.extra);
}
int run_delete(const Keyval& key, Datatype& object, void* value) noexcept {
  return reinterpret_cast<MPI_Type_delete_attr_function*>(key.remove)(handle_of(&object), key.number, value,
                                                                      key.extra);
}

template <class T>
int copy_all(Call& call, T& from, T& to) noexcept {
  const auto values = from.attributes.values;  // a callback may set or delete attributes
  for (const auto& [number, value] : values) {
    Keyval& key = *keyval(number);
    if (is_constant(key.copy, 0)) continue;
    void* copy = value;
    int flag = 1;
    if (!is_constant(key.copy, 1)) {
      flag = 0;
      const int error = run_copy(key, from, value, &copy, &flag);
      if (error != MPI_SUCCESS) {
        (void)delete_attributes(call, to);
        return call.fail(error, "the copy callback of attribute key %d returned %d", number, error);
      }
    }
    if (flag == 0) continue;
    to.attributes.values.emplace_back(number, copy);
    ++key.uses;
  }
  return MPI_SUCCESS;
}

template <class T>
int delete_one(Call& call, T& object, std::size_t at) noexcept {
  auto& values = object.attributes.values;
  const auto [number, value] = values[at];
  Keyval& key = *keyval(number);
  if (!is_constant(key.remove, 0)) {
    const int error = run_delete(key, object, value);
    if (error != MPI_SUCCESS)
      return call.fail(error, "the delete callback of attribute key %d returned %d", number, error);
  }
  // The callback may have changed the list.
  for (std::size_t i = values.size(); i-- > 0;) {
    if (values[i].first != number) continue;
    values.erase(values.begin() + static_cast<std::ptrdiff_t>(i));
    release(key);
    break;
  }
  return MPI_SUCCESS;
}

template <class T>
int delete_all(Call& call, T& object) noexcept {
  while (!object.attributes.values.empty()) {
    const int error = delete_one(call, object, object.attributes.values.size() - 1);
    if (error != MPI_SUCCESS) return error;
  }
  return MPI_SUCCESS;
}

template <class T>
void** find_value(T& object, int number) noexcept {
  for (auto& entry : object.attributes.values)
    if (entry.first == number) return &entry.second;
  return nullptr;
}

template <class T>
int set_one(Call& call, T& object, Keyval& key, void* value) noexcept {
  auto& values = object.attributes.values;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i].first != key.number) continue;
    ++key.uses;  // the deletion below must not end the key
    const int error = delete_one(call, object, i);
    --key.uses;
    if (error != MPI_SUCCESS) return error;
    break;
  }
  values.emplace_back(key.number, value);
  ++key.uses;
  return MPI_SUCCESS;
}

template <class T>
int remove_one(Call& call, T& object, Keyval& key) noexcept {
  auto& values = object.attributes.values;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i].first == key.number) return delete_one(call, object, i);
  return call.fail(MPI_ERR_KEYVAL, "argument 2 (keyval): the object has no attribute with key %d",
                   key.number);
}

}  // namespace

Keyval* keyval(int number) noexcept {
  const auto index = static_cast<std::size_t>(number) - kFirstKey;
  return number >= kFirstKey && index < keys().size() ? keys()[index].get() : nullptr;
}

Keyval& new_keyval(Keyval::For made_for, void (*copy)(), void (*remove)(), void* extra) noexcept {
  auto key = std::make_unique<Keyval>();
  key->made_for = made_for;
  key->copy = copy;
  key->remove = remove;
  key->extra = extra;
  key->number = kFirstKey + static_cast<int>(keys().size());  // never given out twice
  keys().push_back(std::move(key));
  return *keys().back();
}

void release(Keyval& key) noexcept {
  if (--key.uses == 0) keys()[static_cast<std::size_t>(key.number - kFirstKey)].reset();
}

int copy_attributes(Call& call, Comm& from, Comm& to) noexcept { return copy_all(call, from, to); }
int copy_attributes(Call& call, Datatype& from, Datatype& to) noexcept { return copy_all(call, from, to); }
int delete_attributes(Call& call, Comm& comm) noexcept { return delete_all(call, comm); }
int delete_attributes(Call& call, Datatype& datatype) noexcept { return delete_all(call, datatype); }

void** attribute(Comm& comm, int number) noexcept { return find_value(comm, number); }
void** attribute(Datatype& datatype, int number) noexcept { return find_value(datatype, number); }
int set_attribute(Call& call, Comm& comm, Keyval& key, void* value) noexcept {
  return set_one(call, comm, key, value);
}
int set_attribute(Call& call, Datatype& datatype, Keyval& key, void* value) noexcept {
  return set_one(call, datatype, key, value);
}
int remove_attribute(Call& call, Comm& comm, Keyval& key) noexcept { return remove_one(call, comm, key); }
int remove_attribute(Call& call, Datatype& datatype, Keyval& key) noexcept {
  return remove_one(call, datatype, key);
}

}  // namespace herald::mpi
