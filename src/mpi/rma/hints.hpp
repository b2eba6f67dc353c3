// SPDX-License-Identifier: BSD-3-Clause
// mpi/rma/hints.hpp: info keys of windows.
#pragma once
#include "mpi/core/objects.hpp"

namespace herald::mpi {

// Keeps the hints that the standard defines; others are dropped.
void take_hints(Win& win, const Info& info) noexcept;

}  // namespace herald::mpi
