// SPDX-License-Identifier: BSD-3-Clause
// launch/main.cpp: mpiexec. Reads the command line, decides between this machine and another engine, and
// turns the job's specification into a plan.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>

#include "engines.hpp"
#include "job.hpp"
#include "machine.hpp"
#include "options.hpp"
#include "spec.hpp"
#include "text.hpp"

namespace herald::launch {
namespace {

constexpr int kUsageCode = 2;

// Started with standard streams closed, our own descriptors would take their places.
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

struct Refusal {
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
        cat("--bind-to ", spec.bind_to, ": only core, hwthread and none are obeyed; ranks are not bound"));
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
    throw Refusal{kUsageCode, cat("--wdir ", app.wdir, ": no such directory")};
  const Program program = find_program(app.argv[0], app.wdir, env_value(env, "PATH").value_or(kDefaultPath));
  if (program.code) throw Refusal{program.code, program.message};
  plan.path = program.path;
  plan.argv = app.argv;
  plan.wdir = app.wdir;
  plan.env = make_environment(env, effective_rule(spec.env, app.env));
  return plan;
}

JobPlan plan_job(const JobSpec& spec, const Where& where, std::int64_t timeout_s, const Environment& env,
                 std::vector<std::string>& notes) {
  JobPlan plan;
  std::int64_t missing = 1;
  if (spec.apps.size() == 1 && spec.apps[0].count == 0)
    missing = spec.ppn ? spec.ppn : !where.hosts.hosts.empty() ? where.hosts.slots() : available_cores();
  for (const App& app : spec.apps) {
    plan.apps.push_back(plan_app(spec, app, env));
    plan.apps.back().count = static_cast<int>(app.count ? app.count : missing);
  }
  plan.size = static_cast<int>(spec.total(missing));
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
  plan.bind = binding(spec, plan.size, notes);
  return plan;
}

int run(const std::vector<std::string>& words, const Environment& env) {
  const JobSpec spec =
      parse_command_line(words, [](const std::string& path) { return read_file(path, "-configfile"); });
  if (spec.action == Action::help) return std::fputs(help_text().c_str(), stdout) < 0 ? 1 : 0;
  if (spec.action == Action::version)
    return std::fputs("mpiexec (Herald) " HERALD_VERSION "\n", stdout) < 0 ? 1 : 0;
  std::int64_t timeout_s = spec.timeout_s.value_or(0);
  const auto from_env = env_value(env, "MPIEXEC_TIMEOUT");
  if (!spec.timeout_s && from_env && !from_env->empty())
    timeout_s = parse_timeout(*from_env, "MPIEXEC_TIMEOUT");
  const Where where = find_hosts(spec, env);
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
  } catch (const Refusal& refusal) {
    std::fputs(cat("mpiexec: ", refusal.message, "\n").c_str(), stderr);
    return refusal.code;
  } catch (const std::exception& error) {
    std::fputs(cat("mpiexec: ", error.what(), "\n").c_str(), stderr);
    return 1;
  }
}
