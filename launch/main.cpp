// SPDX-License-Identifier: BSD-3-Clause
// launch/main.cpp: mpiexec. Parses the command line, chooses between this machine and another launcher, and
// makes a plan from the job's specification.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <utility>

#include "binding.hpp"
#include "debugger.hpp"
#include "job.hpp"
#include "launchers.hpp"
#include "link.hpp"
#include "machine.hpp"
#include "make_plan.hpp"
#include "mapping_options.hpp"
#include "options.hpp"
#include "rivals.hpp"
#include "spawned.hpp"
#include "spec.hpp"
#include "text.hpp"

namespace herald::launch {
namespace {

// If mpiexec is started with a standard stream closed, the next descriptor it opens would take its place.
void fill_standard_streams() {
  for (int fd = 0; fd < 3; ++fd) {
    if (fcntl(fd, F_GETFD) != -1 || errno != EBADF) continue;
    const int opened = open("/dev/null", O_RDWR);
    if (opened >= 0 && opened != fd) {
      dup2(opened, fd);
      close(opened);
    }
  }
}

int print(const std::string& text) {
  return std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0 ? 1 : 0;
}

void print_notes(const std::vector<std::string>& notes) {
  for (const std::string& note : notes) std::fputs(cat("mpiexec: ", note, "\n").c_str(), stderr);
}

int run(const std::vector<std::string>& words, const Environment& env) {
  if (!words.empty() && words[0] == kLinkOption) return run_link({words.begin() + 1, words.end()});
  if (!words.empty() && words[0] == kProxyOption) return run_proxy();
  if (!words.empty() && words[0] == kSpawnOption) {
    const SpawnWords spawned = read_spawn_words();
    Environment with_port = env;
    with_port.push_back(cat(kParentPort, "=", spawned.port));
    return run(spawned.words, with_port);
  }
  const JobSpec spec =
      parse_command_line(words, [](const std::string& path) { return read_file(path, "file"); });
  if (spec.action == Action::help) return print(help_text());
  if (spec.action == Action::version) return print("mpiexec (Herald) " HERALD_VERSION "\n");
  std::int64_t timeout_s = spec.timeout_s.value_or(0);
  const auto from_env = env_value(env, "MPIEXEC_TIMEOUT");
  if (!spec.timeout_s && from_env && !from_env->empty())
    timeout_s = parse_timeout(*from_env, "MPIEXEC_TIMEOUT");
  const Placement where = find_hosts(spec, env);
  if (where.several && (spec.pretended_hosts || spec.pretended_per_host))
    throw UsageError("--pretend-hosts needs a job on one machine");
  if (where.several && !where.places.empty() && choose_engine(spec, env).launcher != Launcher::ssh)
    throw UsageError("--rankfile works on this host and with --engine ssh");
  std::vector<std::string> notes = notes_on_policies(spec.passed_on);
  if (const std::string note = rival_note(); !note.empty()) print_notes({note});
  if (spec.output.display_allocation)
    print_notes(describe_allocation(spec.mapping, where.hosts, where.host_count));
  if (where.several) {
    const Engine engine = choose_engine(spec, env);
    const bool ours = engine.launcher == Launcher::ssh, reads_policies = engine.launcher == Launcher::openmpi;
    if (!ours && !reads_policies && !spec.quiet) print_notes(notes);
    if (!ours) return hand_over(spec, where, timeout_s, env, engine);
    if (where.hosts.hosts.empty())
      throw UsageError(
          "the allocation has several nodes, and there is no srun in PATH; name them with --host");
    JobPlan links = plan_links(spec, where, timeout_s, env, engine.path, notes);
    print_notes(notes);
    return Job(std::move(links)).run();
  }
  const TerminalOwner terminal;
  Job job(plan_job(spec, where, timeout_s, env, notes));
  if (!spec.quiet || spec.output.report_bindings || spec.output.display_map) print_notes(notes);
  return job.run();
}

}  // namespace
}  // namespace herald::launch

int main(int argc, char** argv) {
  using namespace herald::launch;
  fill_standard_streams();
  try {
    Environment env;
    for (char** entry = environ; entry && *entry; ++entry) env.emplace_back(*entry);
    return run(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc), env);
  } catch (const UsageError& error) {
    std::fputs(cat("mpiexec: ", error.what(), "\n", usage_line()).c_str(), stderr);
    return kUsageCode;
  } catch (const StartError& error) {
    std::fputs(cat("mpiexec: ", error.message, "\n").c_str(), stderr);
    return error.code;
  } catch (const std::exception& error) {
    std::fputs(cat("mpiexec: ", error.what(), "\n").c_str(), stderr);
    return 1;
  }
}
