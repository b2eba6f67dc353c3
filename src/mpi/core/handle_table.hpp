// SPDX-License-Identifier: BSD-3-Clause
// mpi/core/handle_table.hpp: the base of MPI objects, and the table from handles to objects.
// A handle is a small number, never an address: 22 bits of slot, 9 bits of generation. It fits an int (so
// MPI_Comm_toint is a cast), a freed or invalid handle is recognised, and values below 4096 stay free for
// the predefined handles of the ABI. See docs/decisions/0001-handles.md.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "base/fatal.hpp"

namespace herald::mpi {

struct Object {
  std::uint32_t handle = 0;  // as the program knows it; 0 once the program has freed it
  std::uint32_t refs = 1;    // one for the program's handle; all calls run under the engine's lock
};
template <class H>
struct ObjectOf : Object {
  using Handle = H;
};
template <class T>
typename T::Handle handle_of(const T* object) noexcept {
  return reinterpret_cast<typename T::Handle>(std::uintptr_t{object->handle});
}

template <class T>
class HandleTable {
 public:
  static constexpr std::uint32_t kFirst = 4096, kIndexBits = 22, kPerSlab = 256;

  template <class... Args>
  T* create(Args&&... args) noexcept {
    if (free_.empty()) grow();
    const std::uint32_t index = free_.back();
    free_.pop_back();
    Slot& slot = at(index);
    slot.handle = (slot.generation << kIndexBits) | index;
    T* object = ::new (slot.storage) T(std::forward<Args>(args)...);
    object->handle = slot.handle;
    ++live_;
    return object;
  }

  // The program's handle becomes invalid; the object stays while it has counts.
  void retire(T* object) noexcept {
    slot_of(object).handle = 0;
    object->handle = 0;
  }

  void destroy(T* object) noexcept {
    Slot& slot = slot_of(object);
    const std::uint32_t index = slot.index;
    slot.handle = 0;
    slot.generation = (slot.generation + 1) & 0x1ff;
    object->~T();
    free_.push_back(index);
    --live_;
  }

  T* find(std::uintptr_t value) const noexcept {
    const std::uintptr_t index = (value & ((1u << kIndexBits) - 1)) - kFirst;
    if (value >> 31 != 0 || index >= slabs_.size() * kPerSlab) return nullptr;
    Slot& slot = slabs_[index / kPerSlab][index % kPerSlab];
    return slot.handle == value ? reinterpret_cast<T*>(slot.storage) : nullptr;
  }

  std::size_t live() const noexcept { return live_; }

  template <class Visit>
  void each(Visit visit) noexcept {
    for (auto& slab : slabs_)
      for (std::uint32_t i = 0; i < kPerSlab; ++i)
        if (slab[i].handle != 0) visit(*reinterpret_cast<T*>(slab[i].storage));
  }

 private:
  struct Slot {
    std::uint32_t handle = 0, generation = 0, index = 0;
    alignas(T) std::byte storage[sizeof(T)];
  };

  Slot& at(std::uint32_t index) noexcept {
    return slabs_[(index - kFirst) / kPerSlab][(index - kFirst) % kPerSlab];
  }
  static Slot& slot_of(T* object) noexcept {
    return *reinterpret_cast<Slot*>(reinterpret_cast<std::byte*>(object) - offsetof(Slot, storage));
  }
  void grow() noexcept {
    const std::uint32_t first = kFirst + static_cast<std::uint32_t>(slabs_.size()) * kPerSlab;
    HERALD_ASSERT(first + kPerSlab < (1u << kIndexBits));
    slabs_.push_back(std::make_unique<Slot[]>(kPerSlab));
    for (std::uint32_t i = kPerSlab; i-- > 0;) {
      slabs_.back()[i].index = first + i;
      free_.push_back(first + i);
    }
  }

  std::vector<std::unique_ptr<Slot[]>> slabs_;
  std::vector<std::uint32_t> free_;
  std::size_t live_ = 0;
};

}  // namespace herald::mpi
