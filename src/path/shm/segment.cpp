// SPDX-License-Identifier: BSD-3-Clause
#include "path/shm/segment.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "base/fd.hpp"
#include "path/shm/file.hpp"

namespace herald::path {
namespace {

std::string reason(const char* what, const std::string& path) {
  return std::string(what) + " " + path + ": " + std::strerror(errno);
}

SegmentShape shape_in(const SegmentHeader& head) noexcept {
  SegmentShape shape;
  shape.inbox = {.cells = head.cells, .cell_bytes = head.cell_bytes, .producers = head.producers};
  shape.ring = {.lines = head.ring_lines, .packet_bytes = head.ring_packet_bytes};
  shape.rings = head.rings;
  return shape;
}

// Allocates the memory now; `why` names the knobs where there is too little.
bool reserve(int fd, const SegmentName& name, const SegmentShape& shape, std::string& why) {
  const std::size_t bytes = shape.bytes();
  std::uint64_t there = 0;
  const int error = reserve_file(fd, bytes, there);
  if (error == 0) return true;
  if (error == ENOSPC)
    why = "rank " + std::to_string(name.rank) + " wants " + std::to_string(bytes) + " bytes in " +
          name.directory + " for its inbox and " + std::to_string(there) +
          " are there: make it smaller with HERALD_SHM_INBOX_BYTES, or give " + name.directory + " more room";
  else
    why = "cannot reserve " + std::to_string(bytes) + " bytes in " + name.directory + ": " +
          std::strerror(error);
  return false;
}

// An open descriptor per peer detects its death; given up when descriptors are scarce.
bool may_keep(int fd) noexcept {
  rlimit limit{};
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 && static_cast<rlim_t>(fd) < limit.rlim_cur / 2;
}

}  // namespace

Segment::Segment(Segment&& other) noexcept { *this = std::move(other); }

Segment& Segment::operator=(Segment&& other) noexcept {
  std::swap(base_, other.base_);
  std::swap(bytes_, other.bytes_);
  std::swap(fd_, other.fd_);
  std::swap(bell_fd_, other.bell_fd_);
  std::swap(shape_, other.shape_);
  std::swap(inbox_, other.inbox_);
  return *this;
}

bool Segment::map(std::size_t bytes, std::string& why) {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
  if (memory == MAP_FAILED) {
    why = "cannot map " + std::to_string(bytes) + " bytes of shared memory: " + std::strerror(errno);
    return false;
  }
  base_ = memory;
  bytes_ = bytes;
  return true;
}

bool Segment::create(const SegmentName& name, const SegmentShape& shape, const CpuMask& cpus,
                     std::string& why) {
  auto [fd, named] = make_file(name.path());
  fd_ = fd;
  if (fd_ < 0) {
    why = reason("cannot make", name.path());
    return false;
  }
  bool good = reserve(fd_, name, shape, why) && map(shape.bytes(), why);
  if (good) {
    populate(static_cast<std::byte*>(base_), bytes_);
    auto* head = new (base_) SegmentHeader{};
    head->version = kSegmentVersion;
    head->header_bytes = sizeof(SegmentHeader);
    head->total_bytes = bytes_;
    head->nonce = name.nonce;
    head->rank = name.rank;
    head->cells = shape.inbox.cells;
    head->cell_bytes = shape.inbox.cell_bytes;
    head->producers = shape.inbox.producers;
    head->rings = shape.rings;
    head->ring_lines = shape.ring.lines;
    head->ring_packet_bytes = shape.ring.packet_bytes;
    head->cpus = cpus;
    shape_ = shape;
    inbox_ = Inbox(at(shape.inbox_at()), shape.inbox);
    inbox_.create();
    head->magic = kSegmentMagic;
    if (!named) {
      named = good = name_file(fd_, name.path());
      if (!good) why = reason("cannot name", name.path());
    }
  }
  if (good && (bell_fd_ = make_fifo(name.bell_path())) < 0) {
    why = reason("cannot make", name.bell_path());
    good = false;
  }
  if (!good) {
    if (named) ::unlink(name.path().c_str());
    close();
  }
  if (good) inbox_.bell().publish_descriptor(bell_fd_);
  return good;
}

bool Segment::attach(const SegmentName& name, std::string& why) {
  const std::string path = name.path();
  const int links = name.by_descriptor ? O_NONBLOCK : O_NOFOLLOW;
  fd_ = safe_fd(::open(path.c_str(), O_RDWR | O_CLOEXEC | links));
  if (fd_ < 0) {
    why = reason("cannot open", path);
    return false;
  }
  struct stat info {};
  if (::fstat(fd_, &info) != 0 || !S_ISREG(info.st_mode) || info.st_uid != ::geteuid() ||
      static_cast<std::size_t>(info.st_size) < sizeof(SegmentHeader)) {
    why = path + " is not an inbox of Herald";
    close();
    return false;
  }
  if (!map(static_cast<std::size_t>(info.st_size), why) || !check(name, bytes_, why)) {
    close();
    return false;
  }
  inbox_ = Inbox(at(shape_.inbox_at()), shape_.inbox);
  if (!may_keep(fd_)) {
    ::close(fd_);
    fd_ = -1;
  }
  return true;
}

bool Segment::attach_bell(const SegmentName& name, std::string& why) {
  bell_fd_ = open_fifo(name.bell_path(), name.by_descriptor);
  inbox_.bell().set_descriptor(bell_fd_);
  if (bell_fd_ < 0) why = reason("cannot open", name.bell_path());
  return bell_fd_ >= 0;
}

bool Segment::check(const SegmentName& name, std::uint64_t file_bytes, std::string& why) {
  const SegmentHeader& head = header();
  shape_ = shape_in(head);
  const char* wrong = nullptr;
  if (head.magic != kSegmentMagic)
    wrong = "it does not begin as an inbox of Herald does";
  else if (head.version != kSegmentVersion || head.header_bytes != sizeof(SegmentHeader))
    wrong = "it was made by another version of Herald: all ranks must load the same library";
  else if (head.nonce != name.nonce || head.rank != name.rank)
    wrong = "it belongs to another process";
  else if (!shape_.sane() || head.total_bytes != file_bytes || shape_.bytes() != file_bytes)
    wrong = "its sizes contradict each other";
  if (wrong == nullptr) return true;
  why = "cannot use " + name.path() + " of rank " + std::to_string(name.rank) + ": " + wrong;
  return false;
}

bool Segment::take_ring(RingWriter& ring, std::uint32_t& index) noexcept {
  if (header().rings_given.load(std::memory_order_relaxed) >= shape_.rings) return false;
  index = header().rings_given.fetch_add(1, std::memory_order_relaxed);
  if (index >= shape_.rings) return false;
  populate(at(shape_.ring_at(index)), shape_.ring.bytes());
  ring = RingWriter(at(shape_.ring_at(index)), shape_.ring);
  return true;
}

void Segment::close() noexcept {
  if (base_ != nullptr) ::munmap(base_, bytes_);
  if (fd_ >= 0) ::close(fd_);
  if (const int found = inbox_.bell().descriptor(); found >= 0 && found != bell_fd_) ::close(found);
  if (bell_fd_ >= 0) ::close(bell_fd_);
  base_ = nullptr;
  bytes_ = 0;
  fd_ = bell_fd_ = -1;
  shape_ = {};
  inbox_ = Inbox();
}

bool Segment::owner_lives() const noexcept {
  if (fd_ < 0) return true;
  if (::flock(fd_, LOCK_SH | LOCK_NB) != 0) return true;
  ::flock(fd_, LOCK_UN);
  return false;
}

}  // namespace herald::path
