// SPDX-License-Identifier: BSD-3-Clause
// engine/self.hpp: what this process knows of itself without asking peers.
#pragma once
#include <string>

namespace herald::engine {

std::string host_name();
// What the launcher calls this job, or our parent, which the ranks of one host usually share.
std::string job_name();

}  // namespace herald::engine
