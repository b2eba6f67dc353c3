// SPDX-License-Identifier: BSD-3-Clause
// mpi/core/info.hpp: info objects as the library itself uses them.
#pragma once
#include <string>

#include "mpi/core/objects.hpp"

namespace herald::mpi {

const std::string* info_value(const Info& info, const char* key) noexcept;
void info_put(Info& info, const char* key, std::string value) noexcept;
bool info_remove(Info& info, const char* key) noexcept;
Info* new_info() noexcept;

// How this program was started, as the kernel knows it: command, argv, wdir, arch, host ...
void fill_env_info(Info& info) noexcept;
// The keys that only MPI_Init knows: maxprocs, thread_level.
void complete_env_info(Info& info, int thread_level) noexcept;

// "MPI_THREAD_SERIALIZED" and back; -1 for other texts.
const char* thread_level_name(int level) noexcept;
int thread_level_of(const std::string& name) noexcept;

}  // namespace herald::mpi
