// SPDX-License-Identifier: BSD-3-Clause
#include "debugger.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <sstream>

#include "machine.hpp"
#include "spec.hpp"
#include "text.hpp"

namespace herald::launch {
namespace {

bool terminal_lent = false;

std::string find_in_path(const std::string& name, const Environment& env) {
  const Program found = find_program(name, "/", env_value(env, "PATH").value_or(kDefaultPath));
  return found.code == 0 ? found.path : std::string{};
}

void set_foreground(pid_t group) {
  sigset_t mask, before;
  sigemptyset(&mask);
  sigaddset(&mask, SIGTTOU);
  sigprocmask(SIG_BLOCK, &mask, &before);
  tcsetpgrp(STDIN_FILENO, group);
  sigprocmask(SIG_SETMASK, &before, nullptr);
}

// Standard output of a command, until it ends or the time is over.
std::string output_of(const std::vector<std::string>& words, int milliseconds) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return {};
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  const pid_t pid = fork();
  if (pid == 0) {
    const int null = open("/dev/null", O_RDWR);
    dup2(null, 0);
    dup2(ends[1], 1);
    dup2(null, 2);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    execvp(argv[0], argv.data());
    _exit(127);
  }
  close(ends[1]);
  std::string text;
  const auto limit = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
  while (pid > 0) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(limit - std::chrono::steady_clock::now())
            .count();
    pollfd wait{ends[0], POLLIN, 0};
    char buffer[4096];
    if (left <= 0 || poll(&wait, 1, static_cast<int>(left)) <= 0) break;
    const ssize_t n = read(ends[0], buffer, sizeof buffer);
    if (n <= 0) break;
    text.append(buffer, static_cast<std::size_t>(n));
  }
  close(ends[0]);
  if (pid > 0) {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }
  return text;
}

// Frames and names of threads; debuggers say much else.
std::vector<std::string> stack_lines(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream lines(text);
  bool frames = false;
  for (std::string line; std::getline(lines, line);) {
    const bool frame = line.starts_with("#");
    frames = frames || frame;
    if (frame || line.starts_with("Thread ") || line.starts_with("TID ")) out.push_back(line);
  }
  return frames ? out : std::vector<std::string>{};
}

}  // namespace

std::vector<int> parse_ranks(const std::string& text, const std::string& option, int size) {
  std::vector<int> out;
  for (const std::string& part : split(text == "all" ? cat("0-", size - 1) : text, ",")) {
    const std::size_t dash = part.find('-');
    const auto first = to_int(part.substr(0, dash));
    const auto last = dash == std::string::npos ? first : to_int(part.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first)
      throw UsageError(cat(option, " ", text, ": write a rank, a list such as 0,2-3, or all"));
    if (*last >= size)
      throw UsageError(cat(option, " ", text, ": there is no rank ", *last, " among ", size));
    for (auto rank = *first; rank <= *last; ++rank) out.push_back(static_cast<int>(rank));
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  if (out.empty()) throw UsageError(cat(option, " '", text, "': write a rank, a list such as 0,2-3, or all"));
  return out;
}

void put_under_gdb(JobPlan& plan, const std::vector<int>& ranks, const Environment& env) {
  const std::string gdb = find_in_path("gdb", env);
  if (gdb.empty()) throw UsageError("--gdb: there is no gdb in PATH; install it (package gdb)");
  if (ranks.size() == 1) {
    plan.debug.under[ranks[0]] = {gdb, "-q", "--args"};
    plan.debug.terminal_rank = plan.stdin_rank = ranks[0];
    plan.stdin_to = StdinTo::rank;
    return;
  }
  const std::string xterm = find_in_path("xterm", env);
  if (xterm.empty() || env_value(env, "DISPLAY").value_or("").empty())
    throw UsageError(cat("--gdb: ", ranks.size(), " ranks need a window each, and ",
                         xterm.empty() ? "there is no xterm in PATH" : "DISPLAY is not set",
                         "; give one rank, which gets this terminal"));
  for (const int rank : ranks)
    plan.debug.under[rank] = {xterm, "-T", cat("rank ", rank, " of ", plan.size), "-e", gdb, "-q", "--args"};
}

void lend_terminal(pid_t group) {
  if (isatty(STDIN_FILENO) == 0) return;
  terminal_lent = true;
  set_foreground(group);
  kill(-group, SIGCONT);  // it may have been stopped for reading too early
}

TerminalOwner::~TerminalOwner() {
  if (terminal_lent) set_foreground(getpgrp());
}

std::vector<std::string> stacks_of(pid_t pid, int milliseconds) {
  const std::string number = cat(pid);
  const std::vector<std::vector<std::string>> ways{
      {"gdb", "-q", "-batch", "-nx", "-p", number, "-ex", "thread apply all bt"},
      {"eu-stack", "-p", number},
      {"gstack", number}};
  for (const auto& words : ways)
    if (std::vector<std::string> lines = stack_lines(output_of(words, milliseconds)); !lines.empty())
      return lines;
  return {};
}

}  // namespace herald::launch
