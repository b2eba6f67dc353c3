// SPDX-License-Identifier: BSD-3-Clause
// path/shm/file.hpp: a file of shared memory whose owner holds a lock (flock) on it. Who tidies up takes
// files whose lock is free for those of the dead: so a file is locked before anybody can see it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace herald::path {

// A new file, locked by us: without a name if `unnamed` and the file system can, else with this one. Returns
// its descriptor and whether it has its name; -1 and errno if it cannot be made.
struct NewFile {
  int fd = -1;
  bool named = false;
};
NewFile make_file(const std::string& path, bool unnamed = true) noexcept;
// False and errno: it could not be named.
bool name_file(int fd, const std::string& path) noexcept;

// Takes the memory now: later a full file system would be a SIGBUS. Returns an error number, 0 if there is
// none; `there` says how much was there where that was too little.
int reserve_file(int fd, std::size_t bytes, std::uint64_t& there) noexcept;

}  // namespace herald::path
