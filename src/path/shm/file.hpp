// SPDX-License-Identifier: BSD-3-Clause
// path/shm/file.hpp: a file of shared memory whose owner holds a lock (flock) on it. The stale-file removal
// takes a file with a free lock for that of a dead owner, so a file is locked before it gets a name.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace herald::path {

// A new file, locked by us: without a name if `unnamed` and the file system supports it, else with this one.
// Returns its descriptor and whether it has its name; -1 and errno on failure.
struct NewFile {
  int fd = -1;
  bool named = false;
};
NewFile make_file(const std::string& path, bool unnamed = true) noexcept;
// False and errno on failure.
bool name_file(int fd, const std::string& path) noexcept;

// A FIFO that only this user can open, without blocking, for reading and writing: a descriptor, or -1 and
// errno. Both ends read and write, so that a writer never gets SIGPIPE when the reader dies.
int make_fifo(const std::string& path) noexcept;
// `by_link`: the path is one of /proc/PID/fd.
int open_fifo(const std::string& path, bool by_link = false) noexcept;

// Allocates the memory now: later a full file system would be a SIGBUS. Returns an error number or 0;
// `there` is the free space, for the message.
int reserve_file(int fd, std::size_t bytes, std::uint64_t& there) noexcept;

// Page faults happen here and not during the first messages. Linux before 5.14 cannot.
void populate(std::byte* begin, std::size_t bytes) noexcept;

}  // namespace herald::path
