// SPDX-License-Identifier: BSD-3-Clause
// tools/cast/copier.cpp: copies one item at a time; reading, broadcast and writing of blocks overlap. A file
// is written under a temporary name and renamed when its CRC is right. After an interruption the temporary
// file stays, and the next attempt resumes after the blocks that all hosts have.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "cast.hpp"
#include "wire/datagram.hpp"

namespace herald::cast {
namespace {

constexpr std::size_t kErrorBytes = 512;

// The name of an incomplete file.
std::string part_of(const std::string& path) { return path + ".herald-part"; }

bool move_all(int fd, std::byte* data, std::uint64_t bytes, std::uint64_t at, bool writes) {
  while (bytes != 0) {
    const ssize_t moved = writes ? ::pwrite(fd, data, bytes, static_cast<off_t>(at))
                                 : ::pread(fd, data, bytes, static_cast<off_t>(at));
    if (moved < 0 && errno == EINTR) continue;
    if (moved == 0) errno = EIO;  // the file has become shorter
    if (moved <= 0) return false;
    data += moved;
    at += static_cast<std::uint64_t>(moved);
    bytes -= static_cast<std::uint64_t>(moved);
  }
  return true;
}

void make_progress(MPI_Request& request) {
  int done = 0;
  if (request != MPI_REQUEST_NULL) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
}

// Moves a block between file and memory in slices, with progress of the other block's broadcast in between.
bool move_block(int fd, std::vector<std::byte>& block, std::uint64_t bytes, std::uint64_t at, bool writes,
                MPI_Request& other) {
  bool good = true;
  for (std::uint64_t done = 0; done < bytes; done += kSlice) {
    const std::uint64_t slice = std::min(kSlice, bytes - done);
    good = good && move_all(fd, block.data() + done, slice, at + done, writes);
    make_progress(other);
  }
  return good;
}

std::uint64_t block_at(const Item& item, std::uint64_t at) { return std::min(kBlock, item.bytes - at); }

}  // namespace

bool sum_of(int fd, std::uint64_t bytes, std::uint32_t& sum) {
  std::vector<std::byte> block(kSlice);
  sum = 0;
  for (std::uint64_t at = 0; at < bytes; at += kSlice) {
    const std::uint64_t slice = std::min(kSlice, bytes - at);
    if (!move_all(fd, block.data(), slice, at, false)) return false;
    sum = wire::crc32c({block.data(), slice}, sum);
  }
  return true;
}

Copier::Copier(MPI_Comm comm, const Options& options, std::string root)
    : comm_(comm), options_(options), root_(std::move(root)) {
  MPI_Comm_rank(comm, &rank_);
  for (auto& block : blocks_) block.resize(kBlock);
}

void Copier::fail(const std::string& path, const std::string& what) {
  if (error_count_++ == 0) first_error_ = path + ": " + what;
}

void Copier::make_folder(const Item& item) {
  std::error_code error;
  const std::string path = path_of(item);
  std::filesystem::create_directories(path, error);
  if (error) return fail(path, error.message());
  if (::chmod(path.c_str(), item.mode | 0700) != 0) fail(path, std::strerror(errno));
}

void Copier::make_link(const Item& item) {
  const std::string path = path_of(item);
  ::unlink(path.c_str());
  if (::symlink(item.target.c_str(), path.c_str()) != 0) fail(path, std::strerror(errno));
}

// Opens the incomplete file, or the complete file of an earlier copy, or a new file.
int Copier::open_part(const Item& item, std::uint64_t& have) {
  const std::string path = path_of(item), part = part_of(path);
  have = 0;
  struct stat about {};
  std::error_code error;
  if (item.name.empty()) {
    const auto folder = std::filesystem::path(path).parent_path();
    if (!folder.empty()) std::filesystem::create_directories(folder, error);
  }
  if (::stat(part.c_str(), &about) != 0 && ::stat(path.c_str(), &about) == 0 && S_ISREG(about.st_mode) &&
      static_cast<std::uint64_t>(about.st_size) == item.bytes)
    ::rename(path.c_str(), part.c_str());
  const int fd = ::open(part.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0 || ::fstat(fd, &about) != 0) {
    fail(path, std::strerror(errno));
    return -1;
  }
  have = std::min(static_cast<std::uint64_t>(about.st_size), item.bytes);
  if (have != item.bytes) have = have / kBlock * kBlock;
  return fd;
}

// The length of the prefix that all ranks have, with the right CRC.
std::uint64_t Copier::agree_on_start(const Item& item, int fd, std::uint64_t have) {
  std::uint64_t least = rank_ == 0 ? item.bytes : have;
  MPI_Allreduce(MPI_IN_PLACE, &least, 1, MPI_UINT64_T, MPI_MIN, comm_);
  if (least != item.bytes) least = least / kBlock * kBlock;
  if (least == 0) return 0;
  std::uint32_t own = 0, right = 0;
  const bool summed = fd >= 0 && sum_of(fd, least, own);
  right = own;
  MPI_Bcast(&right, 1, MPI_UINT32_T, 0, comm_);
  int same = fd < 0 || (summed && own == right) ? 1 : 0;  // ignore ranks that cannot write
  MPI_Allreduce(MPI_IN_PLACE, &same, 1, MPI_INT, MPI_MIN, comm_);
  crc_ = same != 0 ? right : 0;
  return same != 0 ? least : 0;
}

// Two broadcasts are in flight, so that the link stays busy.
void Copier::send_file(const Item& item, int fd, std::uint64_t from, Progress& progress) {
  MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  std::uint64_t in_flight[2] = {0, 0};
  const auto wait = [&](std::uint64_t n) {
    MPI_Wait(&requests[n % 2], MPI_STATUS_IGNORE);
    progress.add(in_flight[n % 2], true);
    in_flight[n % 2] = 0;
  };
  bool good = fd >= 0;
  std::uint64_t n = 0;
  for (std::uint64_t at = from; at < item.bytes; at += kBlock, ++n) {
    wait(n);
    std::vector<std::byte>& block = blocks_[n % 2];
    const std::uint64_t bytes = block_at(item, at);
    if (good && !move_block(fd, block, bytes, at, false, requests[(n + 1) % 2])) {
      fail(options_.source + (item.name.empty() ? "" : "/" + item.name), std::strerror(errno));
      good = false;
    }
    crc_ = wire::crc32c({block.data(), bytes}, crc_);
    MPI_Ibcast_c(block.data(), static_cast<MPI_Count>(bytes), MPI_BYTE, 0, comm_, &requests[n % 2]);
    in_flight[n % 2] = bytes;
  }
  wait(n);
  wait(n + 1);
  if (!good) crc_ = ~crc_;  // makes all receivers reject the file
}

void Copier::receive_file(const Item& item, int fd, std::uint64_t from, bool take) {
  MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  const auto begin = [&](std::uint64_t at, std::uint64_t n) {
    if (at < item.bytes)
      MPI_Ibcast_c(blocks_[n % 2].data(), static_cast<MPI_Count>(block_at(item, at)), MPI_BYTE, 0, comm_,
                   &requests[n % 2]);
  };
  begin(from, 0);
  for (std::uint64_t at = from, n = 0; at < item.bytes; at += kBlock, ++n) {
    MPI_Wait(&requests[n % 2], MPI_STATUS_IGNORE);
    begin(at + kBlock, n + 1);
    std::vector<std::byte>& block = blocks_[n % 2];
    const std::uint64_t bytes = block_at(item, at);
    crc_ = wire::crc32c({block.data(), bytes}, crc_);
    if (take && !move_block(fd, block, bytes, at, true, requests[(n + 1) % 2])) {
      fail(path_of(item), std::strerror(errno));
      take = false;
    }
  }
}

void Copier::finish_file(const Item& item, int fd, bool good) {
  const std::string path = path_of(item), part = part_of(path);
  if (fd < 0) return;
  std::uint32_t written = crc_;
  if (good && options_.verify && (!sum_of(fd, item.bytes, written) || written != crc_)) {
    fail(path, "reading the file back gives other data than was written");
    good = false;
  }
  if (good) {
    const timespec times[2] = {
        {.tv_sec = 0, .tv_nsec = UTIME_OMIT},
        {.tv_sec = item.changed_ns / 1'000'000'000, .tv_nsec = item.changed_ns % 1'000'000'000}};
    good = ::ftruncate(fd, static_cast<off_t>(item.bytes)) == 0 && ::fchmod(fd, item.mode) == 0 &&
           ::futimens(fd, times) == 0 && ::rename(part.c_str(), path.c_str()) == 0;
    if (!good) fail(path, std::strerror(errno));
  }
  ::close(fd);
}

void Copier::copy(const Item& item, Progress& progress) {
  if (item.kind != Item::file) {
    if (rank_ != 0 && item.kind == Item::folder) make_folder(item);
    if (rank_ != 0 && item.kind == Item::link) make_link(item);
    return;
  }
  crc_ = 0;
  std::uint64_t have = 0;
  int fd = -1;
  if (rank_ == 0) {
    const std::string path = item.name.empty() ? options_.source : options_.source + "/" + item.name;
    fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) fail(path, std::strerror(errno));
  } else {
    fd = open_part(item, have);
  }
  const std::uint64_t failed_before = error_count_;
  const std::uint64_t from = agree_on_start(item, fd, fd < 0 ? item.bytes : have);
  if (rank_ == 0) {
    progress.add(from, false);
    send_file(item, fd, from, progress);
    if (fd >= 0) ::close(fd);
  } else {
    receive_file(item, fd, from, fd >= 0);
  }
  std::uint32_t right = crc_;
  MPI_Bcast(&right, 1, MPI_UINT32_T, 0, comm_);
  if (rank_ == 0) return;
  if (fd >= 0 && right != crc_)
    fail(path_of(item), "the checksum differs from the source's; the file was not replaced");
  finish_file(item, fd, right == crc_ && error_count_ == failed_before);
}

std::vector<std::string> Copier::gather_errors() {
  int size = 0, length = 0;
  MPI_Comm_size(comm_, &size);
  char host[MPI_MAX_PROCESSOR_NAME] = {}, line[kErrorBytes] = {};
  MPI_Get_processor_name(host, &length);
  if (error_count_ != 0) {
    std::string text = std::string("host ") + host + ": " + first_error_;
    if (error_count_ > 1) text += " (and " + std::to_string(error_count_ - 1) + " more)";
    std::strncpy(line, text.c_str(), kErrorBytes - 1);
  }
  std::vector<char> all(rank_ == 0 ? kErrorBytes * static_cast<std::size_t>(size) : 0);
  MPI_Gather(line, kErrorBytes, MPI_CHAR, all.data(), kErrorBytes, MPI_CHAR, 0, comm_);
  std::vector<std::string> out;
  for (std::size_t at = 0; at < all.size(); at += kErrorBytes)
    if (all[at] != '\0') out.emplace_back(all.data() + at);
  return out;
}

}  // namespace herald::cast
