// SPDX-License-Identifier: BSD-3-Clause
// path/shm/cma.hpp: copies between our memory and that of another process of this host, by the kernel, in one
// go (process_vm_readv and process_vm_writev).
#pragma once
#include <sys/types.h>
#include <sys/uio.h>

#include <cstdint>
#include <span>

#include "base/status.hpp"

namespace herald::path {

// Lets the processes of this user reach our memory, where the kernel wants to be asked (Yama).
void allow_cma() noexcept;

// Whether the process really is who we think it is and lets us in: `expected` lies at `address` there.
bool probe_cma(pid_t pid, std::uint64_t address, std::uint64_t expected) noexcept;

// Both sides have as many bytes. unsupported: refused or not mapped; peer_lost: there is no such process.
Status read_cma(pid_t pid, std::span<const iovec> here, std::span<const iovec> there) noexcept;
Status write_cma(pid_t pid, std::span<const iovec> here, std::span<const iovec> there) noexcept;

}  // namespace herald::path
