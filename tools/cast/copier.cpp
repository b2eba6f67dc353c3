// SPDX-License-Identifier: BSD-3-Clause
// tools/cast/copier.cpp: one item at a time: reading, broadcasting and writing overlap, in blocks. A file is
// written beside its place, under a name that is kept when the copy is broken off, and takes its place when
// its sum is right. The next attempt begins where all hosts have the same as the source.
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

constexpr std::size_t kComplaint = 512;

// The name of a file that is not whole yet.
std::string part_of(const std::string& path) { return path + ".herald-part"; }

bool move_all(int fd, std::byte* data, std::uint64_t bytes, std::uint64_t at, bool writes) {
  while (bytes != 0) {
    const ssize_t moved = writes ? ::pwrite(fd, data, bytes, static_cast<off_t>(at))
                                 : ::pread(fd, data, bytes, static_cast<off_t>(at));
    if (moved < 0 && errno == EINTR) continue;
    if (moved == 0) errno = EIO;  // shorter than it was
    if (moved <= 0) return false;
    data += moved;
    at += static_cast<std::uint64_t>(moved);
    bytes -= static_cast<std::uint64_t>(moved);
  }
  return true;
}

void look(MPI_Request& request) {
  int done = 0;
  if (request != MPI_REQUEST_NULL) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
}

// Moves a block between file and memory in slices, so that the broadcast under way goes on.
bool move_block(int fd, std::vector<std::byte>& block, std::uint64_t bytes, std::uint64_t at, bool writes,
                MPI_Request& meanwhile) {
  bool good = true;
  for (std::uint64_t done = 0; done < bytes; done += kSlice) {
    const std::uint64_t slice = std::min(kSlice, bytes - done);
    good = good && move_all(fd, block.data() + done, slice, at + done, writes);
    look(meanwhile);
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
  if (complaints_++ == 0) complaint_ = path + ": " + what;
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

// The part that is there, or the whole file of an earlier copy, or a new one.
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

// How much of the file all have, and have right.
std::uint64_t Copier::agree_on_start(const Item& item, int fd, std::uint64_t have) {
  std::uint64_t least = rank_ == 0 ? item.bytes : have;
  MPI_Allreduce(MPI_IN_PLACE, &least, 1, MPI_UINT64_T, MPI_MIN, comm_);
  if (least != item.bytes) least = least / kBlock * kBlock;
  if (least == 0) return 0;
  std::uint32_t own = 0, right = 0;
  const bool summed = fd >= 0 && sum_of(fd, least, own);
  right = own;
  MPI_Bcast(&right, 1, MPI_UINT32_T, 0, comm_);
  int same = fd < 0 || (summed && own == right) ? 1 : 0;  // who cannot write holds nobody up
  MPI_Allreduce(MPI_IN_PLACE, &same, 1, MPI_INT, MPI_MIN, comm_);
  crc_ = same != 0 ? right : 0;
  return same != 0 ? least : 0;
}

// Two blocks are under way, so that the line does not run dry between them.
void Copier::send_file(const Item& item, int fd, std::uint64_t from, Progress& progress) {
  MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  std::uint64_t under_way[2] = {0, 0};
  const auto wait = [&](std::uint64_t n) {
    MPI_Wait(&requests[n % 2], MPI_STATUS_IGNORE);
    progress.add(under_way[n % 2], true);
    under_way[n % 2] = 0;
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
    under_way[n % 2] = bytes;
  }
  wait(n);
  wait(n + 1);
  if (!good) crc_ = ~crc_;  // nobody is to take it for whole
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
    fail(path, "what was written is not what is read back");
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
  const std::uint64_t failed_before = complaints_;
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
    fail(path_of(item), "the sum of what came is not the source's; it was not put in place");
  finish_file(item, fd, right == crc_ && complaints_ == failed_before);
}

std::vector<std::string> Copier::complaints() {
  int size = 0, length = 0;
  MPI_Comm_size(comm_, &size);
  char host[MPI_MAX_PROCESSOR_NAME] = {}, line[kComplaint] = {};
  MPI_Get_processor_name(host, &length);
  if (complaints_ != 0) {
    std::string text = std::string("host ") + host + ": " + complaint_;
    if (complaints_ > 1) text += " (and " + std::to_string(complaints_ - 1) + " more)";
    std::strncpy(line, text.c_str(), kComplaint - 1);
  }
  std::vector<char> all(rank_ == 0 ? kComplaint * static_cast<std::size_t>(size) : 0);
  MPI_Gather(line, kComplaint, MPI_CHAR, all.data(), kComplaint, MPI_CHAR, 0, comm_);
  std::vector<std::string> out;
  for (std::size_t at = 0; at < all.size(); at += kComplaint)
    if (all[at] != '\0') out.emplace_back(all.data() + at);
  return out;
}

}  // namespace herald::cast
