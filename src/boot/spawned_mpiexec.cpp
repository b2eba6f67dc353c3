// SPDX-License-Identifier: BSD-3-Clause
#include "boot/spawned_mpiexec.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

extern char** environ;

namespace herald::boot {
namespace {

constexpr const char* kReportFd = "HERALD_SPAWN_FD";  // where mpiexec reports that the ranks were started

// prefix/lib/libmpi*.so and prefix/bin/mpiexec belong together.
std::string find_mpiexec() {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(&find_mpiexec), &info) != 0 && info.dli_fname != nullptr) {
    std::string path = info.dli_fname;
    for (int i = 0; i < 3; ++i) {
      path.erase(std::min(path.rfind('/'), path.size()));
      if (const std::string found = path + "/bin/mpiexec"; ::access(found.c_str(), X_OK) == 0) return found;
    }
  }
  return "mpiexec";
}

bool write_all(int fd, const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t n = ::write(fd, text.data() + at, text.size() - at);
    if (n < 0 && errno != EINTR) return false;
    if (n > 0) at += static_cast<std::size_t>(n);
  }
  return true;
}

struct Pipe {
  int ends[2] = {-1, -1};
  ~Pipe() {
    for (const int fd : ends)
      if (fd >= 0) ::close(fd);
  }
  bool open() { return ::pipe2(ends, O_CLOEXEC) == 0; }
  void close(int end) {
    ::close(ends[end]);
    ends[end] = -1;
  }
};

}  // namespace

bool SpawnedMpiexec::start(const std::string& text, std::string& why) {
  Pipe commands, report;
  if (!commands.open() || !report.open()) {
    why = std::string("no pipe to mpiexec: ") + std::strerror(errno);
    return false;
  }
  const int report_fd = report.ends[1] + 1;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, commands.ends[0], 0);
  posix_spawn_file_actions_adddup2(&actions, report.ends[1], report_fd);
  std::string variable = std::string(kReportFd) + "=" + std::to_string(report_fd);
  std::vector<char*> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) environment.push_back(*entry);
  environment.push_back(variable.data());
  environment.push_back(nullptr);
  std::string program = find_mpiexec(), option = "--herald-spawn";
  char* arguments[] = {program.data(), option.data(), nullptr};
  const int error = ::posix_spawnp(&pid_, program.c_str(), &actions, nullptr, arguments, environment.data());
  posix_spawn_file_actions_destroy(&actions);
  commands.close(0);
  report.close(1);
  if (error != 0) {
    pid_ = -1;
    why = "this process was started without mpiexec, and there is none to start others with: " + program +
          ": " + std::strerror(error);
    return false;
  }
  (void)write_all(commands.ends[1], text);
  commands.close(1);
  char word = 0;
  ssize_t n = 0;
  do n = ::read(report.ends[0], &word, 1);
  while (n < 0 && errno == EINTR);
  if (n == 1) return true;
  why = "the program could not be started";
  return false;
}

bool SpawnedMpiexec::has_ended(std::string& why) {
  int status = 0;
  if (pid_ <= 0 || ::waitpid(pid_, &status, WNOHANG) != pid_) return false;
  pid_ = -1;
  why = "the new job ended before it called MPI_Init";
  return true;
}

}  // namespace herald::boot
