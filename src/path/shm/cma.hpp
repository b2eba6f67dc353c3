// SPDX-License-Identifier: BSD-3-Clause
// path/shm/cma.hpp: copies between our memory and that of another process of this host, by the kernel, in one
// system call (process_vm_readv and process_vm_writev). No call is made without a Cma, and there is none
// where HERALD_CMA=off.
#pragma once
#include <sys/types.h>
#include <sys/uio.h>

#include <cstdint>
#include <optional>
#include <span>

#include "base/status.hpp"

namespace herald::path {

class Cma {
 public:
  // Lets the processes of this user access our memory where the kernel wants to be asked (Yama). Nothing if
  // not `allowed`.
  static std::optional<Cma> open(bool allowed) noexcept;

  // Both sides have as many bytes. unsupported: refused or not mapped; peer_lost: there is no such process.
  Status read(pid_t pid, std::span<const iovec> here, std::span<const iovec> there) const noexcept;
  Status write(pid_t pid, std::span<const iovec> here, std::span<const iovec> there) const noexcept;
  // Whether the process is the expected one and grants access: `expected` lies at `address` there.
  bool probe(pid_t pid, std::uint64_t address, std::uint64_t expected) const noexcept;

 private:
  Cma() noexcept = default;
};

}  // namespace herald::path
