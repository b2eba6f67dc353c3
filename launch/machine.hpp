// SPDX-License-Identifier: BSD-3-Clause
// launch/machine.hpp: properties of this machine: host name, cores, program lookup, random numbers.
#pragma once
#include <string>
#include <vector>

namespace herald::launch {

std::string host_name();

// Of a file; empty if it cannot be read.
std::string first_line(const std::string& path);

// localhost, a loopback address, this host's name (long or short), an address of one of its interfaces.
bool is_this_host(const std::string& name);

// Processors that this process may run on, ascending.
std::vector<int> allowed_cpus();

// The same, grouped into cores (hardware threads of one core together).
std::vector<std::vector<int>> allowed_cores();

// Cores, or hardware threads, within the affinity mask and the cgroup quota. At least 1.
int available_cores(bool hwthreads = false);

struct Program {
  std::string path;     // for execve, relative to the working directory
  int code = 0;         // 0, 126 (not executable) or 127 (not found)
  std::string message;  // when code is not 0
};

// Searches a name without '/' in `search_path`, then in `wdir`.
Program find_program(const std::string& name, const std::string& wdir, const std::string& search_path);

inline constexpr const char* kDefaultPath = "/usr/local/bin:/usr/bin:/bin";

// Throws UsageError naming `what` when the file cannot be read.
std::string read_file(const std::string& path, const std::string& what);

std::string random_hex(int bytes);

// Removes the files of a job in /dev/shm.
void remove_job_files(const std::string& job_id);

}  // namespace herald::launch
