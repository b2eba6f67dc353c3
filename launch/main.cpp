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

#include "job.hpp"
#include "launchers.hpp"
#include "machine.hpp"
#include "options.hpp"
#include "spec.hpp"
#include "text.hpp"

namespace herald::launch {
namespace {

constexpr int kUsageCode = 2;

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

struct StartError {
  int code;
  std::string message;
};

std::vector<std::vector<int>> binding(const JobSpec& spec, int size, std::vector<std::string>& notes) {
  if (spec.bind_to.empty() || spec.bind_to == "none") return {};
  const std::string what = spec.bind_to.substr(0, spec.bind_to.find(':'));
  std::vector<std::vector<int>> places;
  if (what == "core") {
    places = allowed_cores();
  } else if (what == "hwthread") {
    for (int cpu : allowed_cpus()) places.push_back({cpu});
  } else {
    notes.push_back(
        cat("--bind-to ", spec.bind_to, ": only core, hwthread and none are supported; ranks are not bound"));
    return {};
  }
  if (static_cast<std::size_t>(size) > places.size()) {
    notes.push_back(cat("--bind-to ", spec.bind_to, ": ", size, " ranks for ", places.size(),
                        places.size() == 1 ? " core" : " cores", "; ranks are not bound"));
    return {};
  }
  return places;
}

AppPlan plan_app(const JobSpec& spec, const App& app, const Environment& env) {
  AppPlan plan;
  struct stat info {};
  if (!app.wdir.empty() && (stat(app.wdir.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)))
    throw StartError{kUsageCode, cat("--wdir ", app.wdir, ": no such directory")};
  const Program program = find_program(app.argv[0], app.wdir, env_value(env, "PATH").value_or(kDefaultPath));
  if (program.code) throw StartError{program.code, program.message};
  plan.path = program.path;
  plan.argv = app.argv;
  plan.wdir = app.wdir;
  plan.env = make_environment(env, effective_rule(spec.env, app.env));
  return plan;
}

JobPlan plan_job(const JobSpec& spec, const Placement& where, std::int64_t timeout_s, const Environment& env,
                 std::vector<std::string>& notes) {
  JobPlan plan;
  std::int64_t default_count = 1;
  if (spec.apps.size() == 1 && spec.apps[0].count == 0)
    default_count = spec.ppn                     ? spec.ppn
                    : !where.hosts.hosts.empty() ? where.hosts.slots()
                                                 : available_cores();
  for (const App& app : spec.apps) {
    plan.apps.push_back(plan_app(spec, app, env));
    plan.apps.back().count = static_cast<int>(app.count ? app.count : default_count);
  }
  plan.size = static_cast<int>(spec.total(default_count));
  plan.universe = static_cast<long>(spec.universe.value_or(plan.size));
  plan.job_id = random_hex(8);
  plan.job_key = random_hex(16);
  plan.host = host_name();
  plan.label = spec.label;
  plan.verbose = spec.verbose;
  plan.quiet = spec.quiet;
  plan.keep_going = spec.keep_going;
  plan.timeout_s = timeout_s;
  plan.stdin_to = spec.stdin_to;
  plan.stdin_rank = static_cast<int>(spec.stdin_rank);
  if (plan.stdin_to == StdinTo::rank && plan.stdin_rank >= plan.size)
    throw UsageError(cat("--stdin ", plan.stdin_rank, ": there is no such rank"));
  plan.pretended_hosts = spec.pretended_hosts;
  plan.pretended_per_host = spec.pretended_per_host;
  plan.bind = binding(spec, plan.size, notes);
  return plan;
}

int print(const std::string& text) {
  return std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0 ? 1 : 0;
}

int run(const std::vector<std::string>& words, const Environment& env) {
  const JobSpec spec =
      parse_command_line(words, [](const std::string& path) { return read_file(path, "-configfile"); });
  if (spec.action == Action::help) return print(help_text());
  if (spec.action == Action::version) return print("mpiexec (Herald) " HERALD_VERSION "\n");
  std::int64_t timeout_s = spec.timeout_s.value_or(0);
  const auto from_env = env_value(env, "MPIEXEC_TIMEOUT");
  if (!spec.timeout_s && from_env && !from_env->empty())
    timeout_s = parse_timeout(*from_env, "MPIEXEC_TIMEOUT");
  const Placement where = find_hosts(spec, env);
  if (where.several && (spec.pretended_hosts || spec.pretended_per_host))
    throw UsageError("--pretend-hosts needs a job on one machine");
  if (where.several) return hand_over(spec, where, timeout_s, env);
  std::vector<std::string> notes;
  Job job(plan_job(spec, where, timeout_s, env, notes));
  if (!spec.quiet)
    for (const std::string& note : notes) std::fputs(cat("mpiexec: ", note, "\n").c_str(), stderr);
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
