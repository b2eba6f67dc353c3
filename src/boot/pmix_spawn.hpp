// SPDX-License-Identifier: BSD-3-Clause
// boot/pmix_spawn.hpp: jobs that the engine of PMIx (Open MPI's mpirun, PRRTE) starts for this one.
// In:  commands and a port. Out: a job whose processes have the port in their environment.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "boot/boot.hpp"
#include "boot/pmix_library.hpp"

namespace herald::boot {

class PmixSpawn {
 public:
  explicit PmixSpawn(const pmix::Library& library) noexcept : library_(library) {}

  // not_found: a program could not be started. unsupported: the engine starts no further processes.
  Status spawn(std::span<const SpawnApp> apps, std::string_view port, std::string& why);
  // Of the job that was started last. Where the engine does not tell, after three minutes.
  bool has_ended(std::string& why);

 private:
  const pmix::Library& library_;
  std::string job_;           // the namespace of the job that was started last
  bool engine_tells_ = true;  // which jobs run
  std::int64_t started_s_ = 0;
};

// The file that the engine shall start for `app`: found by the info key `path` if it is given. Empty with
// `why` if this host has no such program, and no other host is named.
std::string program_of(const SpawnApp& app, std::string& why);
// The variables that the processes of `app` get beside those of the engine: HERALD_* and LD_LIBRARY_PATH of
// `environment`, the port, and those of the info key `env`.
std::vector<std::string> variables_of(const SpawnApp& app, std::string_view port, char** environment);

}  // namespace herald::boot
