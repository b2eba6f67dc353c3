// SPDX-License-Identifier: BSD-3-Clause
// mpi/io/file.hpp: a file that is open, as this process has it.
#pragma once
#include <array>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "io/coordinator.hpp"
#include "io/hints.hpp"
#include "io/scratch.hpp"
#include "io/view.hpp"
#include "mpi/core/call.hpp"
#include "mpi/core/request.hpp"
#include "mpi/io/datarep.hpp"
#include "mpi/type/datatype.hpp"
#include "path/file/file.hpp"
#include "path/file/file_thread.hpp"

namespace herald::mpi {

// Why an operation failed; error_class is MPI_SUCCESS if it did not.
struct Failure {
  int error_class = MPI_SUCCESS;
  std::string text;
  explicit operator bool() const noexcept { return error_class != MPI_SUCCESS; }
};
// The failure of a system call: `doing` says what was tried ("write to").
Failure failure_of(int error, const char* doing, const std::string& file) noexcept;
int fail(Call& call, const Failure& failure) noexcept;

// Bytes in memory that were read or written.
struct TransferResult {
  std::int64_t bytes = 0;
  Failure failure;
};

// A split collective between its two calls.
struct SplitOperation {
  enum class Kind : std::uint8_t {
    none,
    read_all,
    read_at_all,
    read_ordered,
    write_all,
    write_at_all,
    write_ordered
  };
  Kind kind = Kind::none;
  const void* buffer = nullptr;
  Request* request = nullptr;
};

// The ranks that are aggregators, and the views of all ranks as an aggregator knows them.
struct AggregatorSet {
  std::vector<int> ranks;
  std::vector<io::View> views;
  std::uint32_t view_number = 0;  // of the views; 0: none yet
};

// Of one collective access in two phases.
struct ExchangeMemory {
  std::array<io::WindowMemory, 2> windows;
  io::Scratch user;
  std::size_t room() const noexcept { return windows[0].room() + windows[1].room() + user.room(); }
};

struct FileState {
  FileState(std::uint64_t id, const Comm& comm) noexcept;

  bool can_read() const noexcept { return (amode & MPI_MODE_WRONLY) == 0; }
  bool can_write() const noexcept { return (amode & MPI_MODE_RDONLY) == 0; }
  bool sequential() const noexcept { return (amode & MPI_MODE_SEQUENTIAL) != 0; }

  path::File storage;
  path::FileSystem system = path::FileSystem::other;
  std::string name;
  int amode = 0;
  bool atomic = false;
  bool alone = false;  // no other process can write into the file
  io::Hints hints;
  io::View view;
  std::uint32_t view_number = 1;  // counts the views
  AggregatorSet aggregators;
  std::unique_ptr<ExchangeMemory> exchange_memory;  // for the next access; null: in use, or none yet
  Contents types{MPI_COMBINER_DUP};                 // etype and filetype
  const Datarep* datarep;
  MPI_Offset position = 0;  // the individual pointer, in etypes
  io::Coordinator coordinator;
  ServiceOffer offer;       // of rank 0, which has the shared pointer and the lock of atomic mode
  bool holds_lock = false;  // an access of this process (mpi/io/atomic_lock.hpp)
  SplitOperation split;
  std::deque<const Work*> background;  // nonblocking collective calls, in their order; the first goes on
  path::FileThread thread;             // last: its jobs use the members above
};

inline FileState& state_of(File& file) noexcept { return *file.state; }

// A rank that has ended cannot answer: fails then.
Failure await(FileState& state, io::Question& question) noexcept;
Failure lost_owner(const FileState& state) noexcept;

// The shared pointer, in etypes: returns what it was, and adds to it.
Failure fetch_add_shared(FileState& state, MPI_Offset add, MPI_Offset& was) noexcept;
Failure store_shared(FileState& state, MPI_Offset value) noexcept;

// Collective: the failure of the first rank that has one, at all ranks.
Failure agree(File& file, const Failure& mine) noexcept;
// Collective: fails if a rank gave another value than rank 0.
Failure agree_on(File& file, const Failure& mine, std::int64_t value, const char* argument) noexcept;

// Fails if the file was not opened for it.
Failure check_individual(const FileState& state) noexcept;

void take_hints(FileState& state, const Info* info) noexcept;

// The end of the file, in etypes of the view.
Failure end_of_view(FileState& state, MPI_Offset& etypes) noexcept;

}  // namespace herald::mpi
