// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/core/attr.hpp"

#include "mpi/core/call.hpp"

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

// Calls `function` as a callback of type F with a handle of type Handle before the other arguments.
template <class F, class Handle, class... Args>
int call_as(void (*function)(), std::uint32_t handle, Args... args) noexcept {
  return reinterpret_cast<F*>(function)(reinterpret_cast<Handle>(std::uintptr_t{handle}), args...);
}

int run_copy(const Keyval& key, std::uint32_t from, void* value, void** copy, int* flag) noexcept {
  switch (key.kind) {
    case ObjectKind::type:
      return call_as<MPI_Type_copy_attr_function, MPI_Datatype>(key.copy, from, key.number, key.extra, value,
                                                                copy, flag);
    case ObjectKind::win:
      return call_as<MPI_Win_copy_attr_function, MPI_Win>(key.copy, from, key.number, key.extra, value, copy,
                                                          flag);
    default:
      return call_as<MPI_Comm_copy_attr_function, MPI_Comm>(key.copy, from, key.number, key.extra, value,
                                                            copy, flag);
  }
}

int run_delete(const Keyval& key, std::uint32_t object, void* value) noexcept {
  switch (key.kind) {
    case ObjectKind::type:
      return call_as<MPI_Type_delete_attr_function, MPI_Datatype>(key.remove, object, key.number, value,
                                                                  key.extra);
    case ObjectKind::win:
      return call_as<MPI_Win_delete_attr_function, MPI_Win>(key.remove, object, key.number, value, key.extra);
    default:
      return call_as<MPI_Comm_delete_attr_function, MPI_Comm>(key.remove, object, key.number, value,
                                                              key.extra);
  }
}

}  // namespace

Keyval* keyval(int number) noexcept {
  const auto index = static_cast<std::size_t>(number) - kFirstKey;
  return number >= kFirstKey && index < keys().size() ? keys()[index].get() : nullptr;
}

Keyval& new_keyval(ObjectKind kind, void (*copy)(), void (*remove)(), void* extra) noexcept {
  auto key = std::make_unique<Keyval>();
  key->kind = kind;
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

void** find_attribute(AttributeStore store, int number) noexcept {
  for (auto& entry : store.attributes.values)
    if (entry.first == number) return &entry.second;
  return nullptr;
}

int delete_attribute(Call& call, AttributeStore store, Keyval& key) noexcept {
  const int number = key.number;
  void** value = find_attribute(store, number);
  if (value == nullptr)
    return call.fail(MPI_ERR_KEYVAL, "argument 2 (keyval): the object has no attribute with key %d", number);
  if (!is_constant(key.remove, 0)) {
    const int error = run_delete(key, store.handle, *value);
    if (error != MPI_SUCCESS)
      return call.fail(error, "the delete callback of attribute key %d returned %d", number, error);
  }
  // The callback may have changed the list.
  const auto has_key = [number](const auto& entry) { return entry.first == number; };
  if (std::erase_if(store.attributes.values, has_key) != 0) release(key);
  return MPI_SUCCESS;
}

int set_attribute(Call& call, AttributeStore store, Keyval& key, void* value) noexcept {
  if (find_attribute(store, key.number) != nullptr) {
    ++key.uses;  // the deletion must not end the key
    const int error = delete_attribute(call, store, key);
    --key.uses;
    if (error != MPI_SUCCESS) return error;
  }
  store.attributes.values.emplace_back(key.number, value);
  ++key.uses;
  return MPI_SUCCESS;
}

int copy_attributes(Call& call, AttributeStore from, AttributeStore to) noexcept {
  const auto values = from.attributes.values;  // a callback may set or delete attributes
  for (const auto& [number, value] : values) {
    Keyval& key = *keyval(number);
    if (is_constant(key.copy, 0)) continue;
    void* copy = value;
    int flag = 1;
    if (!is_constant(key.copy, 1)) {
      flag = 0;
      const int error = run_copy(key, from.handle, value, &copy, &flag);
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

int delete_attributes(Call& call, AttributeStore store) noexcept {
  while (!store.attributes.values.empty()) {
    Keyval& key = *keyval(store.attributes.values.back().first);
    if (const int error = delete_attribute(call, store, key); error != MPI_SUCCESS) return error;
  }
  return MPI_SUCCESS;
}

}  // namespace herald::mpi
