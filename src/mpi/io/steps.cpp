// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/io/steps.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "mpi/coll/internal.hpp"

namespace herald::mpi {

void FileSteps::start(std::unique_ptr<Work> work) noexcept {
  collective_.kind = work ? Request::Kind::work : Request::Kind::nothing;
  collective_.error = work ? MPI_SUCCESS : MPI_ERR_NO_MEM;
  collective_.work_done = false;
  collective_.work = std::move(work);
  if (collective_.work) collective_.work->start(collective_);
}

void FileSteps::allgather(const void* mine, void* all, std::size_t bytes_each) noexcept {
  if (in_background_) return start(iallgather_bytes(comm_, mine, all, bytes_each));
  collective_.error = allgather_bytes(comm_, mine, all, bytes_each);
}

void FileSteps::bcast(void* data, std::size_t bytes, int root) noexcept {
  if (in_background_) return start(ibcast_bytes(comm_, data, bytes, root));
  collective_.error = bcast_bytes(comm_, data, bytes, root);
}

void FileSteps::alltoallv(const void* send, const std::vector<std::int64_t>& send_bytes, void* recv,
                          const std::vector<std::int64_t>& recv_bytes) noexcept {
  if (in_background_) return start(ialltoallv_bytes(comm_, send, send_bytes, recv, recv_bytes));
  collective_.error = alltoallv_bytes(comm_, send, send_bytes, recv, recv_bytes);
}

// Texts follow only if there is a failure.
void Agreement::begin(FileSteps& steps, const Failure& mine, std::int64_t value) noexcept {
  result_ = mine;
  own_ = {value, mine.error_class, 0};
  if (steps.comm().size == 1) return;
  parts_.resize(static_cast<std::size_t>(steps.comm().size));
  phase_ = Phase::comparing;
  steps.allgather(&own_, parts_.data(), sizeof own_);
}

bool Agreement::advance(FileSteps& steps) noexcept {
  while (phase_ != Phase::over) {
    if (!steps.is_over()) return false;
    const Phase ended = std::exchange(phase_, Phase::over);
    if (steps.error() != MPI_SUCCESS) {
      result_ = lost_rank(steps.error());
    } else if (ended == Phase::telling) {
      if (first_ != steps.comm().rank)
        result_ = {verdict_.error_class, "rank " + std::to_string(first_) + " of the file: " + verdict_.text};
    } else {
      const auto failed = [](const Part& part) { return part.error_class != MPI_SUCCESS; };
      const auto first = std::find_if(parts_.begin(), parts_.end(), failed);
      if (first == parts_.end()) continue;
      first_ = static_cast<int>(first - parts_.begin());
      verdict_.error_class = result_.error_class;
      std::memcpy(verdict_.text, result_.text.c_str(),
                  std::min(result_.text.size(), sizeof verdict_.text - 1));
      phase_ = Phase::telling;
      steps.bcast(&verdict_, sizeof verdict_, first_);
    }
  }
  return true;
}

int Agreement::other_value() const noexcept {
  const auto differs = [&](const Part& part) { return part.value != parts_[0].value; };
  const auto other = std::find_if(parts_.begin(), parts_.end(), differs);
  return other == parts_.end() ? 0 : static_cast<int>(other - parts_.begin());
}

Failure lost_rank(int error) noexcept { return {error, "a rank of the file has ended or cannot be reached"}; }

void await_background(FileState& state) noexcept {
  wait_until([&] { return state.background.empty(); });
}

Failure agree(File& file, const Failure& mine) noexcept {
  await_background(state_of(file));
  FileSteps steps(*file.comm, false);
  Agreement agreement;
  agreement.begin(steps, mine);
  (void)agreement.advance(steps);
  return agreement.result();
}

Failure agree_on(File& file, const Failure& mine, std::int64_t value, const char* argument) noexcept {
  await_background(state_of(file));
  FileSteps steps(*file.comm, false);
  Agreement agreement;
  agreement.begin(steps, mine, value);
  (void)agreement.advance(steps);
  const int other = agreement.other_value();
  if (agreement.result() || other == 0) return agreement.result();
  return {MPI_ERR_NOT_SAME, std::string("argument ") + argument + " differs between rank 0 and rank " +
                                std::to_string(other) + " of the file; give the same at all ranks"};
}

}  // namespace herald::mpi
