// SPDX-License-Identifier: BSD-3-Clause
// mpi/io/steps.hpp: the steps of a collective call on a file: collectives of the library, one after another,
// and other things to wait for. A blocking call waits inside each step. A nonblocking call returns from its
// machine, which continues in turns of the engine.
// Invariant: all ranks take the same collectives in the same order. So calls on one file run one after
// another: FileState::background lists those that go on, await_background() waits for them.
#pragma once
#include <vector>

#include "mpi/core/request.hpp"
#include "mpi/io/file.hpp"

namespace herald::mpi {

class FileSteps {
 public:
  FileSteps(Comm& comm, bool in_background) noexcept : comm_(comm), in_background_(in_background) {}
  FileSteps(const FileSteps&) = delete;
  FileSteps& operator=(const FileSteps&) = delete;

  Comm& comm() const noexcept { return comm_; }
  bool in_background() const noexcept { return in_background_; }

  // Begin a collective. Only when the last one is over; buffers stay in place until this one is.
  void allgather(const void* mine, void* all, std::size_t bytes_each) noexcept;
  void bcast(void* data, std::size_t bytes, int root) noexcept;
  void alltoallv(const void* send, const std::vector<std::int64_t>& send_bytes, void* recv,
                 const std::vector<std::int64_t>& recv_bytes) noexcept;
  bool is_over() const noexcept { return collective_.ready(); }
  int error() const noexcept { return collective_.error; }  // MPI error class, of the last one

  // True: the condition holds. A blocking call waits until then.
  template <class Condition>
  bool reached(Condition condition) noexcept {
    if (!in_background_) wait_until(condition);
    return in_background_ ? condition() : true;
  }

 private:
  void start(std::unique_ptr<Work> work) noexcept;

  Comm& comm_;
  const bool in_background_;
  Request collective_;  // no handle stands for it
};

// The failure of the first rank that has one, at all ranks.
class Agreement {
 public:
  // `value`: of this rank, for all others.
  void begin(FileSteps& steps, const Failure& mine, std::int64_t value = 0) noexcept;
  // True: over.
  bool advance(FileSteps& steps) noexcept;
  const Failure& result() const noexcept { return result_; }
  // The rank that gave another value than rank 0; 0: none did.
  int other_value() const noexcept;

 private:
  enum class Phase : std::uint8_t { over, comparing, telling };
  struct Part {
    std::int64_t value;
    std::int32_t error_class, unused;
  };
  struct Verdict {
    std::int32_t error_class;
    char text[188];
  };

  Phase phase_ = Phase::over;
  Part own_{};
  std::vector<Part> parts_;
  int first_ = 0;      // rank that failed
  Verdict verdict_{};  // of that rank
  Failure result_;
};

Failure lost_rank(int error) noexcept;

// Waits until no nonblocking collective call on the file goes on.
void await_background(FileState& state) noexcept;

}  // namespace herald::mpi
