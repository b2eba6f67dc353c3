// SPDX-License-Identifier: BSD-3-Clause
// boot/spawned_mpiexec.hpp: a process without a launcher spawns a job by an mpiexec of its own.
#pragma once
#include <sys/types.h>

#include <string>
#include <vector>

namespace herald::boot {

class SpawnedMpiexec {
 public:
  // Runs the commands (spawn_text()) with the mpiexec beside this library, or of PATH. False with `why`.
  bool start(const std::string& text, std::string& why);
  // Of the job that was started last.
  bool has_ended(std::string& why);

 private:
  pid_t pid_ = -1;
};

}  // namespace herald::boot
