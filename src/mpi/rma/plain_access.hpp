// SPDX-License-Identifier: BSD-3-Clause
// mpi/rma/plain_access.hpp: accesses to memory that is mapped here, of predefined elements in a row on both
// sides: a copy, or processor atomics. Most accesses inside a host are of this kind.
#pragma once
#include <cstring>

#include "base/copy.hpp"
#include "mpi/rma/access.hpp"

namespace herald::mpi {

// No later load of this processor overtakes an atomic update.
#if defined(__x86_64__)
inline constexpr bool kAtomicsAreFences = true;
#else
inline constexpr bool kAtomicsAreFences = false;
#endif

// As many elements of the same type as at the target.
inline bool is_alike(const Access& access, const OriginBuffer& buffer) noexcept {
  return buffer.type == access.type && buffer.count == access.count && buffer.address != nullptr;
}

inline bool has_plain_buffers(const Access& access, op::Kind op) noexcept {
  switch (access.kind) {
    case wire::RmaKind::put:
    case wire::RmaKind::accumulate: return is_alike(access, access.data);
    case wire::RmaKind::get: return is_alike(access, access.result);
    case wire::RmaKind::get_accumulate:
      return is_alike(access, access.result) && (op == op::Kind::no_op || is_alike(access, access.data));
    case wire::RmaKind::compare_swap: return is_alike(access, access.result) && is_alike(access, access.data);
    default: return false;
  }
}

// Where the bytes are; null: not all of them are in the window.
inline std::byte* find_range(const WinMember& member, const Access& access, std::int64_t bytes) noexcept {
  std::int64_t offset = 0, end = 0;
  if (__builtin_mul_overflow(static_cast<std::int64_t>(access.disp), member.disp_unit, &offset) ||
      __builtin_add_overflow(offset, bytes, &end) || offset < 0 ||
      static_cast<std::uint64_t>(end) > member.size)
    return nullptr;
  return member.base + offset;
}

inline void copy_plain(const Access& access, std::byte* there, std::size_t bytes) noexcept {
  const bool writes = access.kind == wire::RmaKind::put;
  void* const to = writes ? there : const_cast<void*>(access.result.address);
  const void* const from = writes ? access.data.address : there;
  if (!copy_few(to, from, bytes)) std::memmove(to, from, bytes);
}

inline void update_plain(const Access& access, op::Kind op, type::Basic basic, std::byte* there,
                         std::size_t bytes) noexcept {
  const void* const data = op == op::Kind::no_op ? nullptr : access.data.address;
  auto* const before = static_cast<std::byte*>(const_cast<void*>(access.result.address));
  if (access.kind == wire::RmaKind::compare_swap)
    rma::swap_word(there, bytes, access.data.address, access.compared, before);
  else
    rma::update_words(op, basic, there, static_cast<std::size_t>(access.count),
                      static_cast<const std::byte*>(data), before);
}

// False: the access is of another kind, or something is wrong with it; run_access() finds out.
// True: `result` is what the entry point returns. Inlined, so that the compiler knows the kind of access.
[[gnu::always_inline]] inline bool try_plain_access(Call& call, const Access& access, int& result) noexcept {
  WinState& state = state_of(*access.win);
  const WinMember& member = state.member(access.target);
  if (!member.is_plain || access.request != nullptr || !access.type->predefined) return false;
  const type::Layout& layout = *access.type->layout;
  const bool copies = access.kind == wire::RmaKind::put || access.kind == wire::RmaKind::get;
  const bool has_op = access.op != nullptr && access.op->kind == Op::Kind::predefined;
  if (!copies && access.kind != wire::RmaKind::compare_swap && !has_op) return false;
  const op::Kind op = has_op ? static_cast<op::Kind>(access.op->builtin) : op::Kind::replace;
  std::int64_t bytes = 0;
  if (!layout.dense() || !has_plain_buffers(access, op) ||
      __builtin_mul_overflow(access.count, layout.size(), &bytes))
    return false;
  std::byte* const there = find_range(member, access, bytes);
  if (there == nullptr) return false;
  if (!copies && (member.guard.lock == nullptr || !rma::is_word(layout.basic(), there) ||
                  !rma::may_accumulate(op, layout.basic())))
    return false;
  const bool is_held = state.epochs.is_lock_all() && member.held != Held::no;
  result = is_held ? MPI_SUCCESS : prepare_access(call, state, access.target, access.args->target);
  if (result != MPI_SUCCESS) return true;
  turn_now_and_then();
  state.has_stores |= access.kind == wire::RmaKind::put || (!copies && !kAtomicsAreFences);
  if (copies)
    copy_plain(access, there, static_cast<std::size_t>(bytes));
  else
    update_plain(access, op, layout.basic(), there, static_cast<std::size_t>(bytes));
  return true;
}

}  // namespace herald::mpi
