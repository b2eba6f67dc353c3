// SPDX-License-Identifier: BSD-3-Clause
// mpi/io/access.hpp: one data access: what the program asked for, and how it is carried out.
// In:  the arguments of a call. Out: bytes that were moved; a Failure.
#pragma once
#include <vector>

#include "io/access.hpp"
#include "mpi/io/file.hpp"

namespace herald::mpi {

enum class Pointer : std::uint8_t { explicit_offset, individual, shared };

// The arguments of a data access.
struct Transfer {
  File* file;
  bool writes;
  Pointer pointer;
  MPI_Offset offset;  // explicit_offset: in etypes
  void* buffer;       // of a write: only read
  MPI_Count count;
  Datatype* type;  // null: the handle is not valid
};

class AtomicLock;

// Shorter transfers take less time than to wake a thread.
constexpr std::int64_t kLeastForThread = 256 << 10;

// A transfer that passed its checks, with what it means for the file.
class Access {
 public:
  explicit Access(const Transfer& transfer) noexcept
      : transfer_(transfer), state_(state_of(*transfer.file)) {}

  // Checks the arguments.
  Failure prepare() noexcept;
  // Sets where in the view it begins, and moves an individual or shared pointer past it.
  Failure take_position() noexcept;
  void set_position(MPI_Offset etypes) noexcept { position_ = etypes * state_.view.etype_bytes(); }

  // This rank alone. After take_position() or set_position().
  TransferResult run() noexcept;
  // As run(), where the caller has advanced the lock; releases it.
  TransferResult run_with(AtomicLock& lock) noexcept;

  // It is worth a thread: long, without a lock and without functions of the program.
  bool suits_thread() const noexcept;
  // The part of run() that a thread may do; the rest of it.
  io::Outcome transfer() noexcept;
  TransferResult conclude(const io::Outcome& outcome) noexcept;

  // The parts of run(), for collective access: converts data that is written, or that was read.
  Failure begin() noexcept;
  TransferResult end(std::int64_t file_bytes) noexcept;
  const type::Cursor& memory() const noexcept { return memory_; }

  bool writes() const noexcept { return transfer_.writes; }
  File& file() noexcept { return *transfer_.file; }
  FileState& state() noexcept { return state_; }
  std::int64_t position() const noexcept { return position_; }
  std::int64_t bytes() const noexcept { return bytes_; }
  MPI_Offset etypes() const noexcept { return bytes_ / state_.view.etype_bytes(); }
  void clip(std::int64_t bytes) noexcept;

 private:
  Failure check_arguments() noexcept;
  Failure check_mode() noexcept;
  bool converts() const noexcept;
  io::Sieve sieve() const noexcept;
  Failure convert_out() noexcept;
  Failure convert_in(std::int64_t items) noexcept;

  const Transfer transfer_;
  FileState& state_;
  std::int64_t position_ = 0;  // in the view, in bytes
  std::int64_t bytes_ = 0;     // in the file
  std::int64_t item_bytes_ = 0;
  type::Cursor memory_;
  std::vector<char> converted_;
  bool begun_ = false;
};

// The whole of a blocking call by one rank.
TransferResult run_alone(const Transfer& transfer) noexcept;

}  // namespace herald::mpi
