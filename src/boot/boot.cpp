// SPDX-License-Identifier: BSD-3-Clause
// boot/boot.cpp: what launchers without names or spawning answer.
#include "boot/boot.hpp"

#include <cstdlib>

namespace herald::boot {

Status Boot::refuse_names() {
  return refuse(Status::unsupported,
                std::string("the launcher (") + name() +
                    ") keeps no names: start a name server with \"herald names\" and set HERALD_NAMES, or "
                    "start the job with Herald's mpiexec");
}

Status Boot::refuse_spawn() {
  return refuse(Status::unsupported, std::string("the launcher (") + name() +
                                         ") starts no further processes for Herald: start the job with "
                                         "Herald's mpiexec");
}

// The variable is for this process, not for jobs that it starts by itself.
std::string Boot::take_parent_port() {
  const char* const port = std::getenv(kParentPort);
  const std::string text = port != nullptr ? port : "";
  (void)::unsetenv(kParentPort);
  return text;
}

}  // namespace herald::boot
