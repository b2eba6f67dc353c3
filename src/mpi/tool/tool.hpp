// SPDX-License-Identifier: BSD-3-Clause
// mpi/tool/tool.hpp: shared parts of MPI_T. Its calls return their errors and never call a handler.
#pragma once
#include <cstdint>

#include "mpi.h"

namespace herald::mpi {

// MPI_T_init_thread calls not yet matched by MPI_T_finalize; while there is none, other calls are refused.
int tool_users() noexcept;

// Text to a buffer of *length characters, as MPI_T gives strings: cut to fit, ended by a zero; *length
// becomes the size of the whole text. Either pointer may be null.
void give_text(const char* text, char* out, int* length) noexcept;

// A number that the caller must take.
inline int give_number(int value, int* out) noexcept {
  if (out == nullptr) return MPI_T_ERR_INVALID;
  *out = value;
  return MPI_SUCCESS;
}
template <class T>
void give(T value, T* out) noexcept {
  if (out != nullptr) *out = value;
}

// Settings as control variables: one for each knob, in the knobs' order.
int cvar_count() noexcept;
// Choices of a text knob, "a|b|c": the word at `index`, its length in `length`; null if there is none.
const char* choice(const char* choices, int index, int* length) noexcept;
int choice_count(const char* choices) noexcept;
void forget_cvar_handles() noexcept;

// Performance variables.
enum class PvarGroup : std::uint8_t { traffic, objects };
int pvar_count() noexcept;
PvarGroup pvar_group(int index) noexcept;
void forget_pvar_sessions() noexcept;

// Events (base/trace.def).
void forget_events() noexcept;
// Enumerations: of the choices of a knob, and of the elements of an event.
MPI_T_enum event_enum(int event) noexcept;

}  // namespace herald::mpi
