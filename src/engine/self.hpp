// SPDX-License-Identifier: BSD-3-Clause
// engine/self.hpp: the names of this host and of the job, found without peers.
#pragma once
#include <string>

namespace herald::engine {

std::string host_name();
// The launcher's name of the job, or the parent process, which the ranks of one host usually share.
std::string job_name();

}  // namespace herald::engine
