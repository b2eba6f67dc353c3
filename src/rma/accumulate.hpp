// SPDX-License-Identifier: BSD-3-Clause
// rma/accumulate.hpp: atomic updates of window memory, element by element.
// Memory that several processes of a host map has a guard. Aligned elements of up to 8 bytes are updated
// there by processor atomics; the others by a process that holds the guard meanwhile.
#pragma once
#include <cstddef>

#include "op/op.hpp"
#include "type/cursor.hpp"

namespace herald::rma {

// The lock around updates of one rank's memory; without functions: the engine's lock is enough.
struct Guard {
  void (*lock)(void* context) = nullptr;
  void (*unlock)(void* context) = nullptr;
  void* context = nullptr;
};

class HoldGuard {
 public:
  explicit HoldGuard(const Guard& guard) noexcept : guard_(guard) {
    if (guard_.lock != nullptr) guard_.lock(guard_.context);
  }
  ~HoldGuard() {
    if (guard_.unlock != nullptr) guard_.unlock(guard_.context);
  }
  HoldGuard(const HoldGuard&) = delete;
  HoldGuard& operator=(const HoldGuard&) = delete;

 private:
  const Guard& guard_;
};

// Whether MPI allows the reduction on these elements.
bool may_accumulate(op::Kind kind, type::Basic basic) noexcept;

// Reduces the packed elements `in` into those of `target`, in pieces, each of them under the guard. `before`:
// null, or gets the packed values from before. With no_op `in` may be null.
void accumulate(const Guard& guard, type::Cursor target, op::Kind kind, type::Basic basic,
                const std::byte* in, std::byte* before) noexcept;

// Elements that the processor updates atomically at this address.
bool is_word(type::Basic basic, const void* at) noexcept;
// accumulate() and compare_and_swap() of such elements in a row, in memory with a guard.
void update_words(op::Kind kind, type::Basic basic, std::byte* at, std::size_t count, const std::byte* in,
                  std::byte* before) noexcept;
void swap_word(std::byte* at, std::size_t bytes, const void* value, const void* compared,
               void* before) noexcept;

// Writes `value` to the element at `target` if it equals `compared`; `before` gets the old value.
void compare_and_swap(const Guard& guard, void* target, std::size_t bytes, const void* value,
                      const void* compared, void* before) noexcept;

}  // namespace herald::rma
