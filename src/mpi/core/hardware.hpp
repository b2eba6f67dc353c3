// SPDX-License-Identifier: BSD-3-Clause
// mpi/core/hardware.hpp: to which parts of the machine this process is bound, as the kernel tells it.
#pragma once
#include <cstdint>

namespace herald::mpi {

// Kinds of hardware, the widest first.
constexpr const char* kHardwareKinds[] = {"package", "numanode", "core", "hwthread"};
constexpr int kHardwareCount = 4;

// For each kind the number of the one instance that the process is bound to; -1 if it may run on several.
struct HardwarePlace {
  std::int32_t id[kHardwareCount] = {-1, -1, -1, -1};
};
HardwarePlace hardware_place() noexcept;

// Index in kHardwareKinds, also by the names that hwloc uses ("hwloc://NUMANode"); -1 for other names.
int hardware_kind(const char* name) noexcept;

}  // namespace herald::mpi
