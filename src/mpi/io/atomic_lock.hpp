// SPDX-License-Identifier: BSD-3-Clause
// mpi/io/atomic_lock.hpp: held while a file in atomic mode is accessed; reads share it. Rank 0 of the file
// grants it.
#pragma once
#include "mpi/io/file.hpp"

namespace herald::mpi {

class AtomicLock {
 public:
  AtomicLock(FileState& state, bool exclusive) noexcept : state_(state), exclusive_(exclusive) {}
  AtomicLock(const AtomicLock&) = delete;
  AtomicLock& operator=(const AtomicLock&) = delete;
  ~AtomicLock() { release(); }

  // True: it is held, or not needed, or failure() says why it cannot be had. Called in turns until then.
  bool advance() noexcept;
  void release() noexcept;
  const Failure& failure() const noexcept { return failure_; }

 private:
  enum class Phase : std::uint8_t { idle, asked, held, ended };

  FileState& state_;
  const bool exclusive_;
  Phase phase_ = Phase::idle;
  io::Question granted_;
  Failure failure_;
};

}  // namespace herald::mpi
