// SPDX-License-Identifier: BSD-3-Clause
// launch/launchers.cpp: see launchers.hpp.
#include "launchers.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "machine.hpp"
#include "rankfile.hpp"
#include "text.hpp"

namespace herald::launch {
namespace {

constexpr const char* kPidVariable = "HERALD_MPIEXEC_PID";

void print_message(const std::string& text) { std::fputs(cat("mpiexec: ", text, "\n").c_str(), stderr); }

bool is_self(const std::string& path) {
  struct stat self {
  }, other{};
  return stat("/proc/self/exe", &self) == 0 && stat(path.c_str(), &other) == 0 &&
         self.st_dev == other.st_dev && self.st_ino == other.st_ino;
}

// Every executable of that name in PATH that is not this program.
std::vector<std::string> all_in_path(const std::string& name, const std::string& search_path) {
  std::vector<std::string> out;
  for (const std::string& folder : split(search_path, ":")) {
    const std::string path = folder + "/" + name;
    struct stat info {};
    if (stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && access(path.c_str(), X_OK) == 0 &&
        !is_self(path))
      out.push_back(path);
  }
  return out;
}

std::string shell_quoted(const std::string& word) {
  std::string out = "'";
  for (char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// Output of a program on both streams, with an empty standard input.
std::string output_of(const std::string& path, const char* args) {
  FILE* pipe = popen(cat("exec ", shell_quoted(path), " ", args, " </dev/null 2>&1").c_str(), "re");
  if (!pipe) return {};
  std::string out;
  char buffer[4096];
  while (const std::size_t n = fread(buffer, 1, sizeof buffer, pipe)) out.append(buffer, n);
  pclose(pipe);
  return out;
}

using Choice = Engine;

std::optional<Choice> choose(const JobSpec& spec, const Environment& env) {
  const std::string path = env_value(env, "PATH").value_or(kDefaultPath);
  const auto first = [&](const char* name) -> std::optional<std::string> {
    const auto found = all_in_path(name, path);
    return found.empty() ? std::nullopt : std::optional(found[0]);
  };
  const std::string& wanted = spec.engine;
  const auto may_be = [&](const char* name) { return wanted.empty() || wanted == name; };
  if (wanted == "slurm" || (wanted.empty() && env_value(env, "SLURM_JOB_ID")))
    if (const auto found = first("srun")) return Choice{Launcher::srun, *found, "srun"};
  // Settings for another launcher select it; without them ssh comes first.
  const bool for_openmpi = !spec.passed_on.openmpi.empty() || env_value(env, "OMPI_MCA_plm_rsh_agent");
  const bool for_hydra = !spec.passed_on.hydra.empty() || env_value(env, "HYDRA_LAUNCHER_EXEC");
  const bool for_others = (for_openmpi || for_hydra) && spec.rsh_agent.empty();
  if (may_be("ssh") && !(wanted.empty() && for_others)) {
    const std::string agent = spec.rsh_agent.empty() ? "ssh" : spec.rsh_agent;
    if (wanted == "ssh" || !spec.rsh_agent.empty() || first("ssh"))
      return Choice{Launcher::ssh, agent, agent};
  }
  if (may_be("prrte"))
    if (const auto found = first("prterun")) return Choice{Launcher::prterun, *found, "prterun"};
  if (may_be("openmpi")) {
    if (const auto found = first("mpirun.openmpi"))
      return Choice{Launcher::openmpi, *found, "mpirun.openmpi"};
    for (const std::string& candidate : all_in_path("mpirun", path))
      if (output_of(candidate, "--version").find("Open MPI") != std::string::npos)
        return Choice{Launcher::openmpi, candidate, candidate};
  }
  if (may_be("hydra"))
    for (const char* name : {"mpiexec.hydra", "mpiexec.mpich"})
      if (const auto found = first(name)) return Choice{Launcher::hydra, *found, name};
  return std::nullopt;
}

bool called_by_ourselves(const Environment& env) {
  const auto pid = to_int(env_value(env, kPidVariable).value_or(""));
  return pid && (*pid == getpid() || *pid == getppid());
}

// Writes the table of programs for srun into an unnamed file.
bool write_program_table(Handover& plan) {
  if (plan.multi_prog.empty()) return true;
  const int fd = memfd_create("mpiexec-programs", 0);
  if (fd < 0) return false;
  if (write(fd, plan.multi_prog.data(), plan.multi_prog.size()) !=
      static_cast<ssize_t>(plan.multi_prog.size()))
    return false;
  for (std::string& word : plan.argv)
    if (word == kMultiProg) word = cat("/proc/self/fd/", fd);
  return true;
}

int execute(Handover& plan, bool verbose) {
  if (!write_program_table(plan)) {
    print_message(cat("cannot make the table of programs for srun: ", std::strerror(errno)));
    return 1;
  }
  for (const auto& [name, value] : plan.set) setenv(name.c_str(), value.c_str(), 1);
  setenv(kPidVariable, cat(getpid()).c_str(), 1);
  if (plan.close_stdin) {
    const int null = open("/dev/null", O_RDONLY);
    if (null > 0) dup2(null, 0), close(null);
  }
  if (verbose) print_message(cat("executing: ", join(plan.argv, " ")));
  std::fflush(stderr);
  std::vector<char*> argv;
  for (std::string& word : plan.argv) argv.push_back(word.data());
  argv.push_back(nullptr);
  execv(argv[0], argv.data());
  print_message(cat("cannot execute ", plan.argv[0], ": ", std::strerror(errno)));
  return 126;
}

// For --nolocal.
void remove_this_host(HostList& list) {
  if (list.hosts.empty()) throw UsageError("--nolocal needs a list of hosts: --host or --hostfile");
  const std::string before = list.names();
  const std::size_t removed =
      std::erase_if(list.hosts, [](const Host& host) { return is_this_host(host.name); });
  if (list.hosts.empty())
    throw UsageError(cat("--nolocal: no host is left, since ", before, " is this host; name others"));
  if (removed > 0) list.file.clear();  // another launcher must not read it
}

}  // namespace

Placement find_hosts(const JobSpec& spec, const Environment& env) {
  Placement where;
  if (!spec.hosts.empty()) {
    where.hosts = parse_host_list(spec.hosts);
  } else {
    std::string file = spec.hostfile, what = "--hostfile";
    for (const char* name :
         {"HYDRA_HOST_FILE", "OMPI_MCA_orte_default_hostfile", "PRTE_MCA_prte_default_hostfile"}) {
      if (!file.empty()) break;
      file = env_value(env, name).value_or("");
      what = name;
    }
    if (!file.empty()) where.hosts = parse_host_file(read_file(file, what), file);
  }
  where.places = spec.rankfile.places;
  if (!where.places.empty()) where.hosts = rankfile_hosts(where.places, where.hosts);
  if (spec.mapping.no_local) remove_this_host(where.hosts);
  if (!where.hosts.hosts.empty()) {
    where.several = !all_here(where.hosts, is_this_host);
    where.host_count = static_cast<std::int64_t>(where.hosts.hosts.size());
  } else if (env_value(env, "SLURM_JOB_ID")) {
    for (const char* name : {"SLURM_JOB_NUM_NODES", "SLURM_NNODES"})
      if (const auto nodes = to_int(env_value(env, name).value_or("")))
        where.host_count = std::max(where.host_count, *nodes);
    where.several = where.host_count > 1;
  }
  return where;
}

Engine choose_engine(const JobSpec& spec, const Environment& env) {
  const auto choice = choose(spec, env);
  if (choice) return *choice;
  if (!spec.engine.empty())
    throw UsageError(
        cat("--engine ", spec.engine, ": its program is not in PATH; install it, or use --engine ssh"));
  throw std::runtime_error(
      "the job names other hosts, and neither ssh nor a launcher that reaches them is in PATH (looked for "
      "srun in a "
      "Slurm allocation, ssh, prterun, mpirun.openmpi, Open MPI's mpirun, mpiexec.hydra); install one of "
      "them, for "
      "example 'apt install openssh-client'");
}

int hand_over(const JobSpec& spec, const Placement& where, std::int64_t timeout_s, const Environment& env,
              const Engine& engine) {
  if (called_by_ourselves(env)) {
    print_message(
        "handing over to another launcher led back to this mpiexec; put Open MPI, Hydra or Slurm in PATH "
        "before it");
    return 1;
  }
  const Engine* choice = &engine;
  HandoverInput input;
  input.launcher = choice->launcher;
  input.path = choice->path;
  input.hosts = where.hosts;
  input.timeout_s = timeout_s;
  setenv("HERALD_JOB_ID", random_hex(8).c_str(), 1);
  setenv("HERALD_JOB_KEY", random_hex(16).c_str(), 1);
  for (char** entry = environ; *entry; ++entry) input.env.emplace_back(*entry);
  if (choice->launcher == Launcher::srun)
    input.srun_mpi =
        output_of(choice->path, "--mpi=list").find("pmix") != std::string::npos ? "pmix" : "pmi2";
  Handover plan = translate(spec, input);
  if (!spec.quiet) {
    for (const std::string& note : plan.notes) print_message(note);
    print_message(cat(where.host_count, where.host_count == 1 ? " host" : " hosts", ": handing over to ",
                      choice->shown));
  }
  return execute(plan, spec.verbose);
}

}  // namespace herald::launch
