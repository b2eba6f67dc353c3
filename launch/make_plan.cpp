// SPDX-License-Identifier: BSD-3-Clause
#include "make_plan.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <climits>
#include <numeric>
#include <utility>

#include "alike.hpp"
#include "binding.hpp"
#include "debugger.hpp"
#include "host_plan.hpp"
#include "link.hpp"
#include "machine.hpp"
#include "rankfile.hpp"
#include "ranking.hpp"
#include "text.hpp"

namespace herald::launch {
namespace {

AppPlan plan_app(const std::vector<std::string>& argv, const std::string& wdir, Environment env) {
  AppPlan plan;
  struct stat info {};
  if (!wdir.empty() && (stat(wdir.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)))
    throw StartError{kUsageCode, cat("--wdir ", wdir, ": no such directory")};
  const Program program = find_program(argv[0], wdir, env_value(env, "PATH").value_or(kDefaultPath));
  if (program.code) throw StartError{program.code, program.message};
  plan.path = program.path;
  plan.argv = argv;
  plan.wdir = wdir;
  plan.env = std::move(env);
  return plan;
}

std::int64_t count_without_n(const JobSpec& spec, const Placement& where) {
  if (spec.apps.size() != 1 || spec.apps[0].count != 0) return 1;
  if (!spec.rankfile.places.empty()) return static_cast<std::int64_t>(spec.rankfile.places.size());
  const auto hosts = static_cast<std::int64_t>(where.hosts.hosts.size());
  if (spec.mapping.ppn) return spec.mapping.ppn * (where.several ? hosts : 1);
  return where.hosts.hosts.empty() ? places_here(spec.mapping) : where.hosts.slots();
}

std::string own_path() {
  char path[PATH_MAX + 1];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  return length > 0 ? std::string(path, static_cast<std::size_t>(length)) : "mpiexec";
}

std::string current_folder() {
  char path[PATH_MAX + 1];
  return getcwd(path, sizeof path) != nullptr ? path : "/";
}

std::string shell_quoted(const std::string& word) {
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// The command of a link: this host needs no remote shell. ssh gets our patience; another agent gets host and
// command only.
std::vector<std::string> link_command(const std::string& host, const std::string& agent) {
  std::vector<std::string> out{own_path(), kLinkOption, host};
  if (is_this_host(host)) {
    out.insert(out.end(), {own_path(), kProxyOption});
    return out;
  }
  const std::vector<std::string> words = split(agent, " ");
  out.insert(out.end(), words.begin(), words.end());
  if (words[0].substr(words[0].rfind('/') + 1) == "ssh")
    for (const char* option :
         {"BatchMode=yes", "ConnectTimeout=8", "ServerAliveInterval=5", "ServerAliveCountMax=3"})
      out.insert(out.end(), {"-o", option});
  out.insert(out.end(), {host, cat(shell_quoted(own_path()), " ", kProxyOption)});
  return out;
}

// The ranks of one host, app by app.
std::vector<HostApp> apps_of(const JobSpec& spec, const std::vector<int>& ranks, std::int64_t default_count,
                             const Environment& env) {
  std::vector<HostApp> out;
  std::int64_t first = 0;
  for (const App& app : spec.apps) {
    const std::int64_t end = first + (app.count ? app.count : default_count);
    HostApp part;
    for (const int rank : ranks) part.count += rank >= first && rank < end ? 1 : 0;
    first = end;
    part.argv = app.argv;
    part.wdir = app.wdir.empty() ? current_folder() : app.wdir;
    part.env = make_environment(without_local(env), effective_rule(spec.env, app.env));
    out.push_back(std::move(part));
  }
  return out;
}

void check_rankfile(const JobSpec& spec, int size) {
  const std::size_t places = spec.rankfile.places.size();
  if (places != 0 && places != static_cast<std::size_t>(size))
    throw UsageError(
        cat("--rankfile ", spec.rankfile.name, ": it has ", places, " ranks, and the job has ", size));
}

// The ranks of each host: mapped to the hosts, then numbered.
std::vector<std::vector<int>> ranks_of_hosts(const JobSpec& spec, const HostList& hosts, int total,
                                             std::int64_t default_count) {
  const MappingSpec& mapping = spec.mapping;
  if (mapping.span && !mapping.by_node())
    throw UsageError(
        "--map-by with :SPAN on several hosts is not supported: write --map-by node, or leave :SPAN out");
  std::vector<int> sizes;
  for (const App& app : spec.apps) sizes.push_back(static_cast<int>(app.count ? app.count : default_count));
  return number_by_host(spread(hosts, total, mapping.ppn, mapping.by_node()), sizes, mapping.rank_by);
}

// The part of a plan that does not depend on where ranks run.
JobPlan begin_plan(const JobSpec& spec, std::int64_t timeout_s) {
  JobPlan plan;
  plan.job_id = random_hex(8);
  plan.job_key = random_hex(16);
  plan.host = host_name();
  plan.verbose = spec.verbose;
  plan.quiet = spec.quiet;
  plan.keep_going = spec.keep_going;
  plan.links.rsh_agent = spec.rsh_agent;
  plan.timeout_s = timeout_s;
  plan.debug.stack_traces = spec.debug.stack_traces;
  return plan;
}

// Neighbours in the list of hosts share the link to the first of them.
void make_tree(JobPlan& plan) {
  const std::vector<std::size_t> bounds = group_bounds(plan.hosts.size());
  std::vector<AppPlan> apps;
  std::vector<std::string> hosts, messages;
  int stdin_group = 0;
  for (std::size_t g = 0; g + 1 < bounds.size(); ++g) {
    TreePlan tree;
    tree.job_id = plan.job_id;
    tree.job_key = plan.job_key;
    tree.ranks = plan.links.ranks;
    tree.verbose = plan.verbose;
    tree.keep_going = plan.keep_going;
    tree.stack_traces = plan.debug.stack_traces;
    tree.stdin_to = plan.stdin_to == StdinTo::all ? StdinTo::all : StdinTo::none;
    for (std::size_t i = bounds[g]; i < bounds[g + 1]; ++i) {
      tree.links.push_back({plan.hosts[i], plan.apps[i].argv, plan.messages[i]});
      if (plan.stdin_to != StdinTo::rank || static_cast<std::size_t>(plan.stdin_rank) != i) continue;
      tree.stdin_to = StdinTo::rank;
      tree.stdin_link = static_cast<int>(i - bounds[g]);
      stdin_group = static_cast<int>(g);
    }
    const std::string text = encode(tree);
    apps.push_back(plan.apps[bounds[g]]);
    hosts.push_back(plan.hosts[bounds[g]]);
    messages.push_back(cat("tree ", text.size(), "\n", text));
  }
  plan.apps = std::move(apps);
  plan.hosts = std::move(hosts);
  plan.messages = std::move(messages);
  plan.size = static_cast<int>(plan.hosts.size());
  plan.universe = plan.size;
  plan.stdin_rank = stdin_group;
}

}  // namespace

JobPlan plan_job(const JobSpec& spec, const Placement& where, std::int64_t timeout_s, const Environment& env,
                 std::vector<std::string>& notes) {
  JobPlan plan = begin_plan(spec, timeout_s);
  const std::int64_t default_count = count_without_n(spec, where);
  for (const App& app : spec.apps) {
    // The program is looked for with the PATH of mpiexec, whatever its own environment is to be.
    plan.apps.push_back(plan_app(app.argv, app.wdir, env));
    plan.apps.back().env = make_environment(env, effective_rule(spec.env, app.env));
    plan.apps.back().count = static_cast<int>(app.count ? app.count : default_count);
  }
  plan.size = static_cast<int>(spec.total(default_count));
  plan.universe = static_cast<long>(spec.universe.value_or(plan.size));
  plan.label = spec.label;
  plan.stdin_to = spec.stdin_to;
  plan.stdin_rank = static_cast<int>(spec.stdin_rank);
  if (plan.stdin_to == StdinTo::rank && plan.stdin_rank >= plan.size)
    throw UsageError(cat("--stdin ", plan.stdin_rank, ": there is no such rank"));
  plan.pretended_hosts = spec.pretended_hosts;
  plan.pretended_per_host = spec.pretended_per_host;
  plan.output = spec.output;
  check_slots_here(spec.mapping, where.hosts, plan.size);
  if (spec.output.display_map)
    notes.push_back(cat("host ", plan.host, ": ", plan.size, plan.size == 1 ? " rank" : " ranks"));
  check_rankfile(spec, plan.size);
  std::vector<int> all(static_cast<std::size_t>(plan.size));
  std::iota(all.begin(), all.end(), 0);
  bind_ranks(plan,
             {spec.rankfile.places.empty() ? spec.mapping.map_by() : slots_text(spec.rankfile.places, all),
              spec.mapping.rank_by, spec.mapping.bind_to},
             notes);
  if (!spec.debug.gdb.empty()) put_under_gdb(plan, parse_ranks(spec.debug.gdb, "--gdb", plan.size), env);
  return plan;
}

JobPlan plan_links(const JobSpec& spec, const Placement& where, std::int64_t timeout_s,
                   const Environment& env, const std::string& agent, std::vector<std::string>& notes) {
  const std::int64_t default_count = count_without_n(spec, where);
  const int total = static_cast<int>(spec.total(default_count));
  check_rankfile(spec, total);
  const std::vector<RankPlace>& places = where.places;
  const auto ranks = places.empty() ? ranks_of_hosts(spec, where.hosts, total, default_count)
                                    : rankfile_ranks(places, where.hosts);
  check_slots(spec.mapping, where.hosts, ranks);
  if (!spec.debug.gdb.empty())
    throw UsageError("--gdb works on this host only; on others attach with gdb -p (mpiexec -v prints pids)");
  JobPlan plan = begin_plan(spec, timeout_s);
  plan.stdin_to = spec.stdin_to == StdinTo::all ? StdinTo::all : StdinTo::none;
  plan.links.ranks = total;
  HostPlan part;
  part.size = total;
  part.universe = static_cast<long>(spec.universe.value_or(total));
  part.job_id = plan.job_id;
  part.job_key = plan.job_key;
  part.mapping = process_mapping(ranks);
  part.label = spec.label;
  part.verbose = spec.verbose;
  part.keep_going = spec.keep_going;
  part.stack_traces = spec.debug.stack_traces;
  part.bind_by = {spec.mapping.map_by(), spec.mapping.rank_by, spec.mapping.bind_to};
  part.output = spec.output;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i].empty()) continue;
    part.host = where.hosts.hosts[i].name;
    if (spec.output.display_map) notes.push_back(cat("host ", part.host, ": ", ranks_text(ranks[i])));
    part.ranks = ranks[i];
    if (!places.empty()) part.bind_by.map_by = slots_text(places, ranks[i]);
    part.apps = apps_of(spec, ranks[i], default_count, env);
    part.stdin_to = plan.stdin_to;
    for (std::size_t r = 0; r < ranks[i].size(); ++r) {
      if (spec.stdin_to != StdinTo::rank || ranks[i][r] != spec.stdin_rank) continue;
      part.stdin_to = plan.stdin_to = StdinTo::rank;
      part.stdin_rank = static_cast<int>(r);
      plan.stdin_rank = plan.size;
    }
    AppPlan link;
    link.path = own_path();
    link.argv = link_command(part.host, agent);
    link.env = env;
    plan.apps.push_back(std::move(link));
    plan.hosts.push_back(part.host);
    const std::string text = encode(part);
    plan.messages.push_back(cat("plan ", text.size(), "\n", text));
    if (part.stdin_to == StdinTo::rank) part.stdin_to = StdinTo::none;
    ++plan.size;
  }
  plan.universe = plan.size;
  if (plan.hosts.size() > kMostLinks) make_tree(plan);
  return plan;
}

JobPlan plan_tree(const TreePlan& tree, int upstream, const Environment& env) {
  JobPlan plan;
  plan.job_id = tree.job_id;
  plan.job_key = tree.job_key;
  plan.host = tree.links[0].host;
  plan.links.ranks = tree.ranks;
  plan.verbose = tree.verbose;
  plan.quiet = !tree.verbose;
  plan.keep_going = tree.keep_going;
  plan.debug.stack_traces = tree.stack_traces;
  plan.stdin_to = tree.stdin_to;
  plan.stdin_rank = tree.stdin_link;
  plan.upstream = upstream;
  for (const TreeLink& link : tree.links) {
    AppPlan app;
    app.path = own_path();
    app.argv = link.command;
    if (&link == tree.links.data()) app.argv = {own_path(), kLinkOption, link.host, own_path(), kProxyOption};
    app.env = make_environment(env, {});  // without our own PMI_FD, if the remote shell passes it on
    plan.apps.push_back(std::move(app));
    plan.hosts.push_back(link.host);
    plan.messages.push_back(link.message);
  }
  plan.size = static_cast<int>(plan.hosts.size());
  plan.universe = plan.size;
  return plan;
}

JobPlan plan_part(const HostPlan& part, int upstream, std::vector<std::string>& notes) {
  JobPlan plan;
  plan.world = part.size;
  plan.ranks = part.ranks;
  plan.size = static_cast<int>(part.ranks.size());
  plan.universe = part.universe;
  plan.job_id = part.job_id;
  plan.job_key = part.job_key;
  plan.mapping = part.mapping;
  plan.host = part.host;
  plan.label = part.label;
  plan.verbose = part.verbose;
  plan.quiet = !part.verbose;
  plan.keep_going = part.keep_going;
  plan.debug.stack_traces = part.stack_traces;
  plan.stdin_to = part.stdin_to;
  plan.stdin_rank = part.stdin_rank;
  plan.upstream = upstream;
  for (std::size_t a = 0; a < part.apps.size(); ++a) {
    const HostApp& app = part.apps[a];
    if (app.count == 0) continue;
    plan.apps.push_back(plan_app(app.argv, app.wdir, app.env));
    plan.apps.back().count = app.count;
    plan.apps.back().number = static_cast<int>(a);
  }
  plan.output = part.output;
  bind_ranks(plan, part.bind_by, notes);
  return plan;
}

}  // namespace herald::launch
