// SPDX-License-Identifier: BSD-3-Clause
#include "engine/self.hpp"

#include <unistd.h>

#include <cstdlib>

namespace herald::engine {

std::string host_name() {
  char name[256] = "";
  if (::gethostname(name, sizeof name - 1) != 0 || name[0] == '\0') return "unknown";
  return name;
}

std::string job_name() {
  const char* given = std::getenv("HERALD_JOB_ID");
  return given != nullptr && *given != '\0' ? given : "p" + std::to_string(::getppid());
}

}  // namespace herald::engine
