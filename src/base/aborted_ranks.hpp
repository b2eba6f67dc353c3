// SPDX-License-Identifier: BSD-3-Clause
// base/aborted_ranks.hpp: the file in which mpiexec lists the ranks that MPI_Abort on a part of the job has
// ended, one number a line, before it ends them. Ranks of the same host read it when a peer has died: the job
// goes on without the ranks that are listed. mpiexec holds a lock on the file, and removes it with the job.
#pragma once
#include <unistd.h>

#include <string>

namespace herald {

inline std::string aborted_ranks_file(const std::string& job_id) {
  return "/dev/shm/herald-" + std::to_string(::geteuid()) + "-" + job_id + "-aborted";
}

}  // namespace herald
