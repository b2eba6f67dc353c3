// SPDX-License-Identifier: BSD-3-Clause
// launch/foreign.hpp: the MPI library that a program uses, if it is not one that speaks to this mpiexec: from
// the libraries that an executable needs, or that a process has mapped.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

namespace herald::launch {

class ForeignMpi {
 public:
  // Empty: none was seen. "Open MPI (libmpi.so.40)".
  const std::string& name() const { return name_; }
  void look_at(pid_t process);
  void look_at(const std::string& executable);
  // When to look at the processes, on the clock of the job.
  std::optional<std::int64_t> due;

 private:
  void note(const std::string& library);
  std::string name_;
};

}  // namespace herald::launch
