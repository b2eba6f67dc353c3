// SPDX-License-Identifier: BSD-3-Clause
// boot/open.cpp: chooses the process manager by the environment:
//   PMI_FD names an open socket   PMI-1 on it               (Hydra, srun --mpi=pmi2, Herald's mpiexec)
//   PMI_PORT                      PMI-1 over TCP            (Hydra with -pmi-port)
//   PMIX_NAMESPACE                PMIx                      (Open MPI, PRRTE, srun --mpi=pmix)
//   none                          alone, unless the environment shows that other processes were started too
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <climits>

#include "boot/environment.hpp"
#include "boot/rank_pid.hpp"
#include "boot/ways.hpp"

namespace herald::boot {

namespace {

bool is_socket(int fd) noexcept {
  struct stat info;
  return ::fstat(fd, &info) == 0 && S_ISSOCK(info.st_mode);
}

// Greater than one if a launcher started so many processes without a PMI. `variable` is the evidence.
int strangers(char** environment, const char*& variable) {
  std::string ignored;
  variable = "OMPI_COMM_WORLD_SIZE";
  if (int n = int_variable(environment, variable, 1, INT_MAX, ignored).value_or(1); n > 1) return n;
  // Only the tasks of a job step count: the script of a batch job is one process, whatever the job requested.
  variable = "SLURM_STEP_NUM_TASKS";
  if (find_variable(environment, variable) != nullptr)
    return int_variable(environment, variable, 1, INT_MAX, ignored).value_or(1);
  variable = "SLURM_NTASKS";
  const char* kind = find_variable(environment, "ENVIRONMENT");
  if (kind != nullptr && std::string_view{kind} == "BATCH") return 1;
  return int_variable(environment, variable, 1, INT_MAX, ignored).value_or(1);
}

// A rank started this process, for example with system(): its PMI socket was not inherited.
bool is_child_of_rank(char** environment) {
  std::string ignored;
  const auto rank = int_variable(environment, kRankPid, 1, INT_MAX, ignored);
  return rank && *rank != static_cast<int>(::getpid());
}

std::unique_ptr<Boot> open_without_pmi(char** environment, const std::string& bad_fd, std::string& why) {
  if (!bad_fd.empty() && is_child_of_rank(environment)) return open_alone();
  if (!bad_fd.empty()) {
    why = bad_fd + "; unset PMI_FD to run this program alone";
    return nullptr;
  }
  const char* variable = nullptr;
  int count = strangers(environment, variable);
  if (count <= 1) return open_alone();
  why = std::string{variable} + "=" + std::to_string(count) +
        ": several processes were started, but without a PMI by which they could find each other; ";
  why += variable[0] == 'S' ? "start them with srun --mpi=pmix or srun --mpi=pmi2, or with Herald's mpiexec "
                              "(for one process alone: srun -n 1, or unset SLURM_NTASKS)"
                            : "start them with an mpirun that offers PMIx (Open MPI 4 or later), or with "
                              "Herald's mpiexec";
  return nullptr;
}

std::unique_ptr<Boot> choose(char** environment, std::string& why) {
  std::string bad_fd;
  if (const char* text = find_variable(environment, "PMI_FD")) {
    auto fd = int_variable(environment, "PMI_FD", 0, INT_MAX, bad_fd);
    if (fd && is_socket(*fd)) return open_pmi1_socket(environment, *fd, why);
    if (fd) bad_fd = std::string{"PMI_FD="} + text + " is not an open socket";
  }
  if (const char* port = find_variable(environment, "PMI_PORT"))
    return open_pmi1_port(environment, port, why);
  if (find_variable(environment, "PMIX_NAMESPACE") != nullptr) return open_pmix(why);
  return open_without_pmi(environment, bad_fd, why);
}

}  // namespace

std::unique_ptr<Boot> open(char** environment, std::string& why) {
  why.clear();
  return choose(environment, why);
}

}  // namespace herald::boot
