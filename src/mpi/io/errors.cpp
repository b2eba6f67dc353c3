// SPDX-License-Identifier: BSD-3-Clause
// From errors of system calls to error classes, and agreement on the errors of collective calls.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "mpi/io/agreement.hpp"

namespace herald::mpi {
namespace {

int class_of(int error) noexcept {
  switch (error) {
    case ENOENT: return MPI_ERR_NO_SUCH_FILE;
    case EEXIST: return MPI_ERR_FILE_EXISTS;
    case EACCES:
    case EPERM: return MPI_ERR_ACCESS;
    case EROFS: return MPI_ERR_READ_ONLY;
    case ENOSPC:
    case EFBIG: return MPI_ERR_NO_SPACE;
    case EDQUOT: return MPI_ERR_QUOTA;
    case EBUSY:
    case ETXTBSY: return MPI_ERR_FILE_IN_USE;
    case ENAMETOOLONG:
    case ENOTDIR:
    case EISDIR:
    case ELOOP: return MPI_ERR_BAD_FILE;
    case ENOMEM: return MPI_ERR_NO_MEM;
    default: return MPI_ERR_IO;
  }
}

const char* cure_of(int error) noexcept {
  switch (error) {
    case ENOENT: return "; check the path, or add MPI_MODE_CREATE";
    case EEXIST: return "; leave out MPI_MODE_EXCL, or delete the file first";
    case EACCES: return "; check the permissions of the file and its directory";
    case ENOSPC: return "; make room on the file system";
    case EFBIG: return "; the file system, or a limit of this process, does not allow so long a file";
    default: return "";
  }
}

Failure first_failure(const std::vector<Verdict>& all, int rank, const Failure& mine) noexcept {
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].error_class == MPI_SUCCESS) continue;
    if (static_cast<int>(i) == rank) return mine;
    return {all[i].error_class, "rank " + std::to_string(i) + " of the file: " + all[i].text};
  }
  return {};
}

Verdict verdict_of(const Failure& mine) noexcept {
  Verdict verdict{mine.error_class, {}};
  const std::size_t length = std::min(mine.text.size(), sizeof verdict.text - 1);
  std::memcpy(verdict.text, mine.text.data(), length);
  return verdict;
}

Failure lost_rank(int error) noexcept { return {error, "a rank of the file has ended or cannot be reached"}; }

// The class and value of each rank; texts follow only if there is a failure.
struct Short {
  std::int64_t value;
  std::int32_t error_class, unused;
};
Failure exchange(File& file, const Failure& mine, std::int64_t value, std::vector<Short>& all) noexcept {
  Comm& comm = *file.comm;
  const Short own{value, mine.error_class, 0};
  all.resize(static_cast<std::size_t>(comm.size));
  if (const int error = allgather_bytes(comm, &own, all.data(), sizeof own)) return lost_rank(error);
  const auto first =
      std::find_if(all.begin(), all.end(), [](const Short& one) { return one.error_class != MPI_SUCCESS; });
  if (first == all.end()) return {};
  const int rank = static_cast<int>(first - all.begin());
  Verdict verdict = verdict_of(mine);
  if (const int error = bcast_bytes(comm, &verdict, sizeof verdict, rank)) return lost_rank(error);
  if (rank == comm.rank) return mine;
  return {verdict.error_class, "rank " + std::to_string(rank) + " of the file: " + verdict.text};
}

}  // namespace

Failure failure_of(int error, const char* doing, const std::string& file) noexcept {
  if (error == 0) return {};
  char reason[128];
  return {class_of(error), std::string("cannot ") + doing + " " + file + ": " +
                               ::strerror_r(error, reason, sizeof reason) + cure_of(error)};
}

int fail(Call& call, const Failure& failure) noexcept {
  return failure ? int{call.fail(failure.error_class, "%s", failure.text.c_str())} : MPI_SUCCESS;
}

Failure agree(File& file, const Failure& mine) noexcept {
  if (file.comm->size == 1) return mine;
  std::vector<Short> all;
  return exchange(file, mine, 0, all);
}

Failure agree_on(File& file, const Failure& mine, std::int64_t value, const char* argument) noexcept {
  if (file.comm->size == 1) return mine;
  std::vector<Short> all;
  if (Failure failure = exchange(file, mine, value, all)) return failure;
  for (std::size_t i = 1; i < all.size(); ++i)
    if (all[i].value != all[0].value)
      return {MPI_ERR_NOT_SAME, std::string("argument ") + argument + " differs between rank 0 and rank " +
                                    std::to_string(i) + " of the file; give the same at all ranks"};
  return {};
}

BackgroundAgreement::BackgroundAgreement(File& file, const Failure& mine) noexcept
    : comm_(*file.comm),
      failure_(mine),
      mine_(verdict_of(mine)),
      all_(static_cast<std::size_t>(file.comm->size)) {}

std::unique_ptr<Work> BackgroundAgreement::make_work(Finisher finisher) noexcept {
  return iallgather_bytes(comm_, &mine_, all_.data(), sizeof mine_, finisher);
}

Failure BackgroundAgreement::result() const noexcept { return first_failure(all_, comm_.rank, failure_); }

}  // namespace herald::mpi
