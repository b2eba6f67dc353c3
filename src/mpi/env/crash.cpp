// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/env/crash.hpp"

#include <execinfo.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/rank_page.hpp"
#include "mpi/core/runtime.hpp"
#include "mpi/env/timeline.hpp"

namespace herald::mpi {
namespace {

constexpr int kCrashes[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
constexpr int kEnds[] = {SIGTERM, SIGINT, SIGHUP};
constexpr int kFrames = 32;
constexpr unsigned kOutputSeconds = 2;  // seconds for output and timeline: the heap may be locked

char rank_name[320];  // of this rank
char crash_stack[64 * 1024];
std::atomic_flag crashed;

void print_raw(const char* text) noexcept {
  if (::write(2, text, std::strlen(text)) < 0) return;
}

// Writes text that the program has printed without the end of a line, and the timeline.
void write_rest() noexcept {
  if (::ftrylockfile(stdout) == 0) {
    (void)::fflush_unlocked(stdout);
    ::funlockfile(stdout);
  }
  write_timeline();
}

// SA_RESETHAND: the signal that is raised again ends the process as it would have without us.
void on_crash(int number, siginfo_t* info, void*) {
  if (!crashed.test_and_set()) {
    char text[600];
    const bool address = number == SIGSEGV || number == SIGBUS;
    std::snprintf(text, sizeof text, "herald: %s: signal %d (%s)", rank_name, number, ::strsignal(number));
    print_raw(text);
    std::snprintf(text, sizeof text, " at address %p", info->si_addr);
    print_raw(address ? text : "");
    print_raw("; backtrace:\n");
    void* frames[kFrames];
    const int count = ::backtrace(frames, kFrames);
    if (count > 1) ::backtrace_symbols_fd(frames + 1, count - 1, 2);
    ::alarm(kOutputSeconds);
    write_rest();
  }
  (void)::raise(number);
}

// mpiexec --stack-traces, where no debugger can attach.
void on_stack_wanted(int) {
  const int error = errno;
  char text[400];
  std::snprintf(text, sizeof text, "herald: stack of %s:\n", rank_name);
  print_raw(text);
  void* frames[kFrames];
  const int count = ::backtrace(frames, kFrames);
  if (count > 1) ::backtrace_symbols_fd(frames + 1, count - 1, 2);
  errno = error;
}

void on_end(int number) {
  ::alarm(kOutputSeconds);
  write_rest();
  (void)::raise(number);
}

bool is_default(int number) noexcept {
  struct sigaction old {};
  return ::sigaction(number, nullptr, &old) == 0 && old.sa_handler == SIG_DFL;
}

}  // namespace

void write_whole_lines() noexcept {
  struct stat info {};
  if (::fstat(1, &info) == 0 && (S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode)))
    (void)std::setvbuf(stdout, nullptr, _IOLBF, 0);
}

void catch_crashes() noexcept {
  std::snprintf(rank_name, sizeof rank_name, "%s", who_am_i());
  void* frames[2];
  (void)::backtrace(frames, 2);  // the first call may allocate memory
  stack_t own{}, old{};
  if (::sigaltstack(nullptr, &old) == 0 && (old.ss_flags & SS_DISABLE) != 0) {
    own.ss_sp = crash_stack;
    own.ss_size = sizeof crash_stack;
    (void)::sigaltstack(&own, nullptr);
  }
  struct sigaction act {};
  act.sa_sigaction = on_crash;
  act.sa_flags = SA_SIGINFO | SA_RESETHAND | SA_NODEFER | SA_ONSTACK;
  for (const int number : kCrashes)
    if (is_default(number)) (void)::sigaction(number, &act, nullptr);
  act.sa_handler = on_stack_wanted;
  act.sa_flags = SA_RESTART;
  if (is_default(stack_signal())) (void)::sigaction(stack_signal(), &act, nullptr);
  if (!process_trace.on()) return;
  act.sa_handler = on_end;
  act.sa_flags = SA_RESETHAND | SA_NODEFER;
  for (const int number : kEnds)
    if (is_default(number)) (void)::sigaction(number, &act, nullptr);
}

}  // namespace herald::mpi
