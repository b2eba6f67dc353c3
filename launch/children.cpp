// SPDX-License-Identifier: BSD-3-Clause
#include "children.hpp"

#include <signal.h>
#include <sys/wait.h>

#include <cstdlib>
#include <fstream>

#include "text.hpp"

namespace herald::launch {
namespace {

bool catches(pid_t pid, int number) {
  std::ifstream status(cat("/proc/", pid, "/status"));
  for (std::string line; std::getline(status, line);)
    if (line.rfind("SigCgt:", 0) == 0)
      return (std::strtoull(line.c_str() + 7, nullptr, 16) >> (number - 1) & 1) != 0;
  return false;
}

}  // namespace

Children::~Children() {
  signal_groups(SIGKILL);
  reap();
}

void Children::add(int rank, pid_t pid) {
  children_[static_cast<std::size_t>(rank)] = {pid, true};
  ++alive_;
}

// Signals merge, so one SIGCHLD may report several exits, of which the named one came first. Exits by signal
// come next: an exit with a code is more often their consequence than their cause.
std::vector<Exit> Children::take_exits(pid_t first) {
  std::vector<Exit> named, by_signal, others;
  for (std::size_t rank = 0; rank < children_.size(); ++rank) {
    Child& child = children_[rank];
    if (!child.alive) continue;
    siginfo_t info{};
    if (waitid(P_PID, static_cast<id_t>(child.pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0) continue;
    if (info.si_pid == 0) continue;
    child.alive = false;
    --alive_;
    const Exit ended{static_cast<int>(rank), info.si_status, info.si_code != CLD_EXITED};
    (child.pid == first ? named : ended.by_signal ? by_signal : others).push_back(ended);
  }
  named.insert(named.end(), by_signal.begin(), by_signal.end());
  named.insert(named.end(), others.begin(), others.end());
  return named;
}

void Children::signal_groups(int number) const {
  for (const Child& child : children_)
    if (child.pid > 0) kill(-child.pid, number);
}

void Children::signal_group(int rank, int number) const {
  if (pid(rank) > 0) kill(-pid(rank), number);
}

void Children::signal_alive(int number) const {
  for (const Child& child : children_)
    if (child.alive) kill(child.pid, number);
}

void Children::signal_catching(int number) const {
  for (const Child& child : children_)
    if (child.alive && catches(child.pid, number)) kill(child.pid, number);
}

bool Children::signal_if_caught(int rank, int number) const {
  return catches(pid(rank), number) && kill(pid(rank), number) == 0;
}

void Children::reap() {
  for (Child& child : children_) {
    if (child.pid > 0) waitpid(child.pid, nullptr, 0);
    child.pid = -1;
  }
}

std::vector<pid_t> Children::groups() const {
  std::vector<pid_t> out;
  for (const Child& child : children_) out.push_back(child.pid);
  return out;
}

std::string Children::describe(int rank) const {
  if (!plan_.hosts.empty()) return cat("host ", plan_.hosts[static_cast<std::size_t>(rank)]);
  return cat("rank ", plan_.number_of(rank), " (pid ", pid(rank), ") on ", plan_.host);
}

}  // namespace herald::launch
