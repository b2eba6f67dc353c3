// SPDX-License-Identifier: BSD-3-Clause
#include "path/file/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>

#include "base/fd.hpp"

namespace herald::path {
namespace {

constexpr std::size_t kMostRuns = 512;  // below IOV_MAX
// The kernel moves at most 2 GiB - 4 KiB per call; shorter calls can be interrupted sooner.
constexpr std::size_t kMostBytes = std::size_t{1} << 30;

static_assert(sizeof(type::Run) == sizeof(iovec));

// Fills `out` with the next runs from `at` bytes into `memory` on.
class Runs {
 public:
  explicit Runs(std::span<const type::Run> memory) noexcept : left_(memory) {}
  int fill(std::array<iovec, kMostRuns>& out) const noexcept {
    std::size_t count = 0, bytes = 0;
    for (std::size_t i = 0; i < left_.size() && count < kMostRuns && bytes < kMostBytes; ++i) {
      const std::size_t skip = i == 0 ? skipped_ : 0;
      const std::size_t length = std::min(left_[i].bytes - skip, kMostBytes - bytes);
      if (length == 0) continue;
      out[count++] = {static_cast<char*>(left_[i].data) + skip, length};
      bytes += length;
    }
    return static_cast<int>(count);
  }
  void skip(std::size_t bytes) noexcept {
    skipped_ += bytes;
    while (!left_.empty() && skipped_ >= left_[0].bytes) {
      skipped_ -= left_[0].bytes;
      left_ = left_.subspan(1);
    }
  }

 private:
  std::span<const type::Run> left_;
  std::size_t skipped_ = 0;
};

}  // namespace

const char* name_of(FileSystem system) noexcept {
  switch (system) {
    case FileSystem::local: return "local";
    case FileSystem::memory: return "memory";
    case FileSystem::nfs: return "nfs";
    case FileSystem::parallel: return "parallel";
    case FileSystem::other: break;
  }
  return "other";
}

int File::open(const std::string& path, int flags, unsigned permissions) noexcept {
  do fd_ = safe_fd(::open(path.c_str(), flags | O_CLOEXEC, permissions));
  while (fd_ < 0 && errno == EINTR);
  return fd_ < 0 ? errno : 0;
}

// A file system may report a failed write here only (NFS). The descriptor is gone in any case.
int File::close() noexcept {
  if (fd_ < 0) return 0;
  const int fd = fd_;
  fd_ = -1;
  return ::close(fd) != 0 && errno != EINTR ? errno : 0;
}

io::Outcome File::read(std::int64_t offset, std::span<const type::Run> memory) noexcept {
  return transfer(offset, memory, false);
}
io::Outcome File::write(std::int64_t offset, std::span<const type::Run> memory) noexcept {
  return transfer(offset, memory, true);
}

io::Outcome File::transfer(std::int64_t offset, std::span<const type::Run> memory, bool writes) noexcept {
  io::Outcome out;
  Runs runs(memory);
  std::array<iovec, kMostRuns> vector;
  while (const int count = runs.fill(vector)) {
    const off_t at = offset + out.bytes;
    ssize_t moved = 0;
    if (count == 1)
      moved = writes ? ::pwrite(fd_, vector[0].iov_base, vector[0].iov_len, at)
                     : ::pread(fd_, vector[0].iov_base, vector[0].iov_len, at);
    else
      moved = writes ? ::pwritev(fd_, vector.data(), count, at) : ::preadv(fd_, vector.data(), count, at);
    if (moved < 0 && errno == EINTR) continue;
    if (moved < 0) {
      out.error = errno;
      break;
    }
    if (moved == 0) {  // the end of the file; a write that moves nothing will not move more
      if (writes) out.error = ENOSPC;
      break;
    }
    out.bytes += moved;
    runs.skip(static_cast<std::size_t>(moved));
  }
  return out;
}

int File::size(std::int64_t& bytes) noexcept {
  struct stat facts {};
  if (::fstat(fd_, &facts) != 0) return errno;
  bytes = facts.st_size;
  return 0;
}

int File::set_size(std::int64_t bytes) noexcept {
  while (::ftruncate(fd_, bytes) != 0)
    if (errno != EINTR) return errno;
  return 0;
}

// File systems that cannot reserve (older NFS) make the file longer instead.
int File::reserve(std::int64_t bytes) noexcept {
  if (bytes == 0) return 0;
  while (::fallocate(fd_, 0, 0, bytes) != 0) {
    if (errno == EINTR) continue;
    if (errno != EOPNOTSUPP && errno != ENOSYS) return errno;
    std::int64_t now = 0;
    const int error = size(now);
    return error != 0 || now >= bytes ? error : set_size(bytes);
  }
  return 0;
}

int File::sync() noexcept {
  while (::fsync(fd_) != 0) {
    if (errno == EINVAL || errno == EROFS) return 0;  // nothing to synchronise: a pipe, a read-only file
    if (errno != EINTR) return errno;
  }
  return 0;
}

// An NFS client asks the server at an open whether its cache is still right; a file that is already open
// keeps what it has for seconds.
void File::revalidate() const noexcept {
  const std::string again = "/proc/self/fd/" + std::to_string(fd_);
  const int fd = ::open(again.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd >= 0) ::close(fd);
}

int File::identify(FileIdentity& identity) noexcept {
  struct statx facts {};
  if (::statx(fd_, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &facts) != 0) return errno;
  identity.inode = facts.stx_ino;
  if ((facts.stx_mask & STATX_BTIME) != 0)
    identity.birth_ns =
        static_cast<std::uint64_t>(facts.stx_btime.tv_sec) * 1000000000u + facts.stx_btime.tv_nsec;
  identity.device = (std::uint64_t{facts.stx_dev_major} << 32) | facts.stx_dev_minor;
  return 0;
}

FileSystem File::system() noexcept {
  struct statfs facts {};
  if (::fstatfs(fd_, &facts) != 0) return FileSystem::other;
  switch (static_cast<std::uint32_t>(facts.f_type)) {
    case 0xef53:                                 // ext2, ext3, ext4
    case 0x58465342:                             // xfs
    case 0x9123683e:                             // btrfs
    case 0xf2f52010:                             // f2fs
    case 0x2fc12fc1:                             // zfs
    case 0x794c7630: return FileSystem::local;   // overlayfs
    case 0x01021994:                             // tmpfs
    case 0x858458f6: return FileSystem::memory;  // ramfs
    case 0x6969: return FileSystem::nfs;
    case 0x0bd00bd0:                               // Lustre
    case 0x19830326:                               // BeeGFS
    case 0x47504653:                               // GPFS
    case 0x00c36400: return FileSystem::parallel;  // Ceph
    default: return FileSystem::other;
  }
}

}  // namespace herald::path
