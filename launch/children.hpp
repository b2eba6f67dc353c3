// SPDX-License-Identifier: BSD-3-Clause
// launch/children.hpp: the processes of the ranks, each of which leads a process group.
// Exited ranks are reaped at the end of the job: until then no other process can get their group id, and
// mpiexec signals no foreign process.
#pragma once
#include <sys/types.h>

#include <string>
#include <vector>

#include "plan.hpp"

namespace herald::launch {

struct Exit {
  int rank, code;
  bool by_signal;
};

class Children {
 public:
  explicit Children(const JobPlan& plan) : children_(static_cast<std::size_t>(plan.size)), plan_(plan) {}
  ~Children();  // kills them
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;

  void add(int rank, pid_t pid);
  // New exits, the likely causes first; `first` is the process that SIGCHLD named.
  std::vector<Exit> take_exits(pid_t first);
  void signal_groups(int number) const;
  void signal_group(int rank, int number) const;
  void signal_alive(int number) const;     // the ranks, without their own children
  void signal_catching(int number) const;  // those that have a handler for it
  bool signal_if_caught(int rank, int number) const;
  pid_t pid(int rank) const { return children_[static_cast<std::size_t>(rank)].pid; }
  bool is_alive(int rank) const { return children_[static_cast<std::size_t>(rank)].alive; }
  void reap();
  int alive() const { return alive_; }
  std::vector<pid_t> groups() const;
  std::string describe(int rank) const;

 private:
  struct Child {
    pid_t pid = -1;
    bool alive = false;
  };
  std::vector<Child> children_;
  const JobPlan& plan_;
  int alive_ = 0;
};

}  // namespace herald::launch
