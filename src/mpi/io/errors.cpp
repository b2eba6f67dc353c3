// SPDX-License-Identifier: BSD-3-Clause
// From errors of system calls to error classes.
#include <cerrno>
#include <cstring>

#include "mpi/io/file.hpp"

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

}  // namespace herald::mpi
