// SPDX-License-Identifier: BSD-3-Clause
// launch/host_job.hpp: in a proxy: reads the part of a job that this host runs, and runs it.
#pragma once

namespace herald::launch {

// `upstream`: the socket to mpiexec. Returns the exit code.
int run_host_job(int upstream);

}  // namespace herald::launch
