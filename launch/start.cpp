// SPDX-License-Identifier: BSD-3-Clause
// launch/start.cpp: see start.hpp. vfork keeps the cost independent of mpiexec's size. The child shares
// mpiexec's memory until it calls execve, so it only makes system calls and writes to Report.
#include "start.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "machine.hpp"

namespace herald::launch {
namespace {

struct Report {
  volatile int error = 0;
  const char* volatile stage = "";
};

[[noreturn]] void fail(Report& report, const char* stage) {
  report.error = errno;
  report.stage = stage;
  _exit(127);
}

void in_child(const Start& start, const Inherited& inherited, pid_t parent, Report& report) {
  // A process group, not a session: Linux autogroup schedules each session as a unit, and then sched_yield()
  // of a rank does not let the other ranks run.
  if (setpgid(0, 0) != 0) fail(report, "setpgid");
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) fail(report, "prctl");
  if (getppid() != parent) _exit(127);
  if (start.wdir && chdir(start.wdir) != 0) fail(report, "change into the working directory");
  if (start.in != 0 && dup2(start.in, 0) < 0) fail(report, "dup2");
  if (dup2(start.out, 1) < 0 || dup2(start.err, 2) < 0) fail(report, "dup2");
  if (dup2(start.pmi, start.pmi_as) < 0) fail(report, "dup2");
  if (start.cpus) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (int cpu : *start.cpus)
      if (cpu < CPU_SETSIZE) CPU_SET(static_cast<std::size_t>(cpu), &set);
    sched_setaffinity(0, sizeof set, &set);  // best effort
  }
  if (inherited.limit_raised) setrlimit(RLIMIT_NOFILE, &inherited.files);
  if (!inherited.sigpipe_ignored) signal(SIGPIPE, SIG_DFL);
  sigprocmask(SIG_SETMASK, &inherited.mask, nullptr);
  execve(start.path, start.argv, start.envp);
  if (errno == ENOEXEC) execve("/bin/sh", start.shell_argv, start.envp);
  fail(report, "run the program");
}

void guard_main(int pipe, const std::vector<pid_t>& groups, const std::string& job_id) {
  char word = 0;
  ssize_t n;
  do n = read(pipe, &word, 1);
  while (n < 0 && errno == EINTR);
  if (n == 1) _exit(0);
  for (pid_t group : groups) kill(-group, SIGKILL);
  usleep(50000);  // until the killed processes have exited, and others that were being started have appeared
  for (pid_t group : groups) kill(-group, SIGKILL);
  remove_job_files(job_id);
  _exit(0);
}

}  // namespace

Started start_process(const Start& start, const Inherited& inherited) {
  Report report;
  const pid_t parent = getpid();
  const pid_t pid = vfork();
  if (pid == 0) {
    in_child(start, inherited, parent, report);
    _exit(127);
  }
  if (pid < 0) return {-1, errno, "start a process"};
  if (report.error) {
    while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
    return {-1, report.error, report.stage};
  }
  return {pid, 0, ""};
}

void Guard::start(const std::vector<pid_t>& groups, const std::string& job_id) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return;  // PR_SET_PDEATHSIG still ends the ranks
  const pid_t pid = fork();
  if (pid == 0) {
    setsid();
    prctl(PR_SET_NAME, "mpiexec-guard");
    if (dup2(ends[0], 0) < 0) _exit(1);
    if (close_range(1, ~0U, 0) != 0)
      for (int fd = 1; fd < 65536; ++fd) close(fd);
    if (chdir("/") != 0) _exit(1);
    guard_main(0, groups, job_id);
  }
  close(ends[0]);
  if (pid < 0) {
    close(ends[1]);
    return;
  }
  pid_ = pid;
  pipe_ = ends[1];
}

void Guard::stop() {
  if (pid_ < 0) return;
  [[maybe_unused]] const ssize_t n = write(pipe_, "q", 1);
  close(pipe_);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
}

}  // namespace herald::launch
