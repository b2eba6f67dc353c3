// SPDX-License-Identifier: BSD-3-Clause
// launch/handover.cpp: see handover.hpp. Command lines name the variable of the job's key and never hold its
// value: other users of the machine can read command lines.
#include "handover.hpp"

#include <algorithm>

#include "text.hpp"

namespace herald::launch {
namespace {

constexpr const char* kKeyNames[] = {"HERALD_JOB_ID", "HERALD_JOB_KEY"};

using Words = std::vector<std::string>;

void add(Words& to, std::initializer_list<std::string> words) { to.insert(to.end(), words); }

// Without -n, a single program gets all slots, and each of several programs one process.
std::int64_t count_of(const JobSpec& spec, const App& app, const HostList& hosts) {
  if (app.count) return app.count;
  if (spec.apps.size() > 1) return 1;
  if (hosts.hosts.empty()) return 0;  // the launcher decides
  const std::int64_t ppn = spec.mapping.ppn;
  return ppn ? ppn * static_cast<std::int64_t>(hosts.hosts.size()) : hosts.slots();
}

std::string stdin_word(const JobSpec& spec) {
  switch (spec.stdin_to) {
    case StdinTo::all: return "all";
    case StdinTo::none: return "none";
    case StdinTo::rank: break;
  }
  return cat(spec.stdin_rank);
}

bool default_stdin(const JobSpec& spec) { return spec.stdin_to == StdinTo::rank && spec.stdin_rank == 0; }

class Translator {
 public:
  Translator(const JobSpec& spec, const HandoverInput& input) : spec_(spec), in_(input) {
    out_.argv.push_back(in_.path);
  }

  Handover run() {
    switch (in_.launcher) {
      case Launcher::srun: srun(); break;
      case Launcher::prterun:
      case Launcher::openmpi: openmpi(); break;
      case Launcher::hydra: hydra(); break;
      case Launcher::ssh: break;
    }
    return std::move(out_);
  }

 private:
  Words& argv() { return out_.argv; }

  void programs(const std::function<void(const App&)>& options) {
    for (std::size_t i = 0; i < spec_.apps.size(); ++i) {
      const App& app = spec_.apps[i];
      if (i) argv().push_back(":");
      if (const std::int64_t count = count_of(spec_, app, in_.hosts)) add(argv(), {"-n", cat(count)});
      options(app);
      argv().insert(argv().end(), app.argv.begin(), app.argv.end());
    }
  }

  // Open MPI's mpirun and prterun.
  void openmpi() {
    const bool prte = in_.launcher == Launcher::prterun;
    if (spec_.passed_on.allow_root) argv().push_back("--allow-run-as-root");
    if (!in_.hosts.hosts.empty()) {
      if (!in_.hosts.file.empty() && !in_.hosts.colon_counts)
        add(argv(), {"--hostfile", in_.hosts.file});
      else
        add(argv(), {"--host", in_.hosts.text()});
    }
    const std::string map = openmpi_mapping();
    if (prte) {
      add(argv(), {"--map-by", cat(map, map_.hwthreads ? ":HWTCPUS" : "",
                                   map_.no_oversubscribe ? ":NOOVERSUBSCRIBE" : ":OVERSUBSCRIBE")});
      if (spec_.label) add(argv(), {"--output", "tag"});
      if (spec_.output.display_map) add(argv(), {"--display", "map"});
      if (spec_.output.report_bindings) add(argv(), {"--display", "bind"});
    } else {
      argv().push_back(map_.no_oversubscribe ? "--nooversubscribe" : "--oversubscribe");
      if (map_.hwthreads) argv().push_back("--use-hwthread-cpus");
      if (!map.empty()) add(argv(), {"--map-by", map});
      if (spec_.output.display_map) argv().push_back("--display-map");
      if (spec_.output.report_bindings) argv().push_back("--report-bindings");
      if (spec_.label) argv().push_back("--tag-output");
      argv().insert(argv().end(), spec_.passed_on.openmpi.begin(), spec_.passed_on.openmpi.end());
    }
    const bool turns = map_.ppn > 0 && map_.by_node() && map_.rank_by.empty();  // ppr fills host after host
    if (turns || !map_.rank_by.empty()) add(argv(), {"--rank-by", turns ? "node" : map_.rank_by});
    add(argv(), {"--bind-to", !map_.bind_to.empty() ? map_.bind_to
                              : map_.cores == 0     ? "none"
                              : map_.hwthreads      ? "hwthread"
                                                    : "core"});
    if (in_.timeout_s) add(argv(), {"--timeout", cat(in_.timeout_s)});
    if (!default_stdin(spec_)) add(argv(), {"--stdin", stdin_word(spec_)});
    programs([&](const App& app) {
      if (!app.wdir.empty()) add(argv(), {"--wdir", app.wdir});
      openmpi_env(app);
    });
  }

  std::string openmpi_mapping() const {
    if (map_.ppn && !map_.unit.empty() && map_.unit != "slot" && !map_.by_node())
      throw cannot("Open MPI", cat("--ppn with --map-by ", map_.unit));
    std::string unit = map_.ppn ? cat("ppr:", map_.ppn, ":node") : map_.unit;
    if (unit.empty() && map_.cores > 0) unit = "slot";
    return cat(unit, map_.cores > 0 ? cat(":PE=", map_.cores) : "", map_.span ? ":SPAN" : "");
  }

  // Placement that the other launcher would silently do otherwise.
  static UsageError cannot(const char* launcher, const std::string& what) {
    return UsageError(cat(what, ": ", launcher, " has nothing like it; use --engine ssh"));
  }

  void check_numbering(const char* launcher) const {
    if (!map_.rank_by.empty() &&
        (map_.by_node() ? map_.rank_by != "node" : map_.rank_by != "slot" && map_.rank_by != "fill"))
      throw cannot(launcher, cat("--map-by ", map_.unit.empty() ? "slot" : map_.unit, " with --rank-by ",
                                 map_.rank_by));
    if (map_.unit.starts_with("ppr") || (map_.ppn > 0 && map_.by_node()))
      throw cannot(launcher, cat("--map-by ", map_.unit, map_.ppn > 0 ? " with --ppn" : ""));
  }

  // Open MPI passes only named variables to other hosts.
  void openmpi_env(const App& app) {
    const EnvRule rule = effective_rule(spec_.env, app.env);
    Words names;
    for (const std::string& entry : in_.env) {
      const std::string name = entry.substr(0, entry.find('='));
      if (name.starts_with("HERALD_") || (name == "LD_LIBRARY_PATH" && rule.base == EnvBase::all))
        names.push_back(name);
    }
    if (rule.base == EnvBase::list) names.insert(names.end(), rule.names.begin(), rule.names.end());
    for (const EnvEdit& edit : rule.edits)
      names.erase(std::remove(names.begin(), names.end(), edit.name), names.end());
    for (const std::string& name : names) add(argv(), {"-x", name});
    for (const EnvEdit& edit : rule.edits)
      add(argv(), {"-x", edit.value ? cat(edit.name, "=", *edit.value) : edit.name});
  }

  void hydra() {
    if (!in_.hosts.hosts.empty()) {
      if (!in_.hosts.file.empty() && !in_.hosts.slots_counts)
        add(argv(), {"-f", in_.hosts.file});
      else
        add(argv(), {"-hosts", in_.hosts.text()});
    }
    hydra_mapping();
    if (spec_.label) argv().push_back("-prepend-rank");
    if (spec_.universe) add(argv(), {"-usize", *spec_.universe < 0 ? "INFINITE" : cat(*spec_.universe)});
    if (spec_.keep_going) argv().push_back("-disable-auto-cleanup");
    if (in_.timeout_s) out_.set.emplace_back("MPIEXEC_TIMEOUT", cat(in_.timeout_s));
    argv().insert(argv().end(), spec_.passed_on.hydra.begin(), spec_.passed_on.hydra.end());
    if (spec_.stdin_to == StdinTo::none)
      out_.close_stdin = true;
    else if (!default_stdin(spec_))
      out_.notes.push_back(cat("--stdin ", stdin_word(spec_), ": Hydra gives standard input to rank 0 only"));
    hydra_env("-genvlist", "-genv", spec_.env);
    programs([&](const App& app) {
      if (!app.wdir.empty()) add(argv(), {"-wdir", app.wdir});
      hydra_env("-envlist", "-env", app.env);
    });
  }

  void hydra_mapping() {
    check_numbering("Hydra");
    std::int64_t ranks = 0;
    for (const App& app : spec_.apps) ranks += count_of(spec_, app, in_.hosts);
    if (map_.no_oversubscribe && ranks > in_.hosts.slots())
      throw UsageError(cat("--nooversubscribe: ", ranks, " ranks, and ", in_.hosts.slots(), " slots on ",
                           in_.hosts.names()));
    if (map_.ppn) add(argv(), {"-ppn", cat(map_.ppn)});
    if (map_.by_node()) add(argv(), {"-ppn", "1"});
    if (!map_.unit.empty() && map_.unit != "slot" && !map_.by_node()) add(argv(), {"-map-by", map_.unit});
    const std::string unit = map_.hwthreads ? "hwthread" : "core";
    if (map_.cores > 0 && !map_.bind_to.empty() && map_.bind_to != unit)
      throw cannot("Hydra", cat("--map-by PE=", map_.cores, " with --bind-to ", map_.bind_to));
    if (map_.cores > 0)
      add(argv(), {"-bind-to", cat(unit, ":", map_.cores)});
    else if (!map_.bind_to.empty())
      add(argv(), {"-bind-to", map_.bind_to});
  }

  void hydra_env(const char* list, const char* set, const EnvRule& rule) {
    if (rule.base == EnvBase::none || rule.base == EnvBase::list)
      add(argv(), {list, join(with_key(rule.base == EnvBase::list ? rule.names : Words{}), ",")});
    for (const EnvEdit& edit : rule.edits) {
      const auto value = edit.value ? edit.value : env_value(in_.env, edit.name);
      if (value) add(argv(), {set, edit.name, *value});
    }
  }

  static Words with_key(Words names) {
    names.insert(names.end(), std::begin(kKeyNames), std::end(kKeyNames));
    return names;
  }

  void srun() {
    argv().push_back(cat("--mpi=", in_.srun_mpi));
    if (!in_.hosts.hosts.empty()) {
      add(argv(), {cat("--nodes=", in_.hosts.hosts.size()), cat("--nodelist=", in_.hosts.names())});
    }
    if (map_.ppn) argv().push_back(cat("--ntasks-per-node=", map_.ppn));
    if (spec_.label) argv().push_back("--label");
    srun_mapping();
    if (!default_stdin(spec_)) argv().push_back(cat("--input=", stdin_word(spec_)));
    if (in_.timeout_s) argv().push_back(cat("--time=", clock_time(in_.timeout_s)));
    if (!spec_.keep_going) argv().push_back("--kill-on-bad-exit=1");
    if (!map_.no_oversubscribe) argv().push_back("--overcommit");
    if (spec_.apps.size() > 1) return srun_many();
    const App& app = spec_.apps[0];
    if (const std::int64_t count = count_of(spec_, app, in_.hosts)) argv().push_back(cat("--ntasks=", count));
    if (!app.wdir.empty()) argv().push_back(cat("--chdir=", app.wdir));
    srun_env(effective_rule(spec_.env, app.env));
    argv().insert(argv().end(), app.argv.begin(), app.argv.end());
  }

  void srun_env(const EnvRule& rule) {
    Words names = rule.base == EnvBase::list ? rule.names : Words{};
    for (const EnvEdit& edit : rule.edits) {
      if (edit.value) out_.set.emplace_back(edit.name, *edit.value);
      names.push_back(edit.name);
    }
    argv().push_back(rule.base == EnvBase::all ? "--export=ALL"
                                               : cat("--export=", join(with_key(names), ",")));
  }

  // srun reads lines "ranks program arguments"; env(1) sets the directory and the variables of a program.
  void srun_many() {
    std::int64_t rank = 0;
    for (const App& app : spec_.apps) {
      const std::int64_t count = count_of(spec_, app, in_.hosts);
      Words words;
      if (!app.wdir.empty() || !app.env.edits.empty()) words.push_back("env");
      if (!app.wdir.empty()) add(words, {"-C", app.wdir});
      for (const EnvEdit& edit : app.env.edits)
        if (edit.value) words.push_back(cat(edit.name, "=", *edit.value));
      words.insert(words.end(), app.argv.begin(), app.argv.end());
      std::string line = count == 1 ? cat(rank) : cat(rank, "-", rank + count - 1);
      for (const std::string& word : words) line += cat(" ", quoted(word));
      out_.multi_prog += line + "\n";
      rank += count;
    }
    argv().push_back(cat("--ntasks=", rank));
    srun_env(effective_rule(spec_.env, EnvRule{}));
    add(argv(), {"--multi-prog", kMultiProg});
  }

  static std::string quoted(const std::string& word) {
    if (word.find('\'') != std::string::npos || word.find('\n') != std::string::npos ||
        word.find("%t") != std::string::npos || word.find("%o") != std::string::npos)
      throw UsageError(cat("'", word,
                           "': srun cannot take quotes, line ends, %t or %o in the arguments of several "
                           "programs; put the command into a script"));
    const bool plain = !word.empty() && word.find_first_of(" \t\"\\#*") == std::string::npos;
    return plain ? word : cat("'", word, "'");
  }

  void srun_mapping() {
    check_numbering("srun");
    if (map_.unit == "slot" || map_.unit == "core") argv().push_back("--distribution=block");
    if (map_.by_node()) argv().push_back("--distribution=cyclic");
    if (map_.unit == "socket" || map_.unit == "package") argv().push_back("--distribution=block:cyclic");
    if (map_.unit == "l3cache" || map_.unit == "numa" || map_.unit == "hwthread")
      throw cannot("srun", cat("--map-by ", map_.unit));
    if (map_.hwthreads) out_.notes.push_back("--use-hwthread-cpus: Slurm's settings decide what a CPU is");
    if (map_.cores > 0) argv().push_back(cat("--cpus-per-task=", map_.cores));
    if (map_.cores > 0 || !map_.bind_to.empty()) argv().push_back(cat("--cpu-bind=", srun_binding()));
  }

  std::string srun_binding() const {
    const std::string unit = map_.bind_to.substr(0, map_.bind_to.find(':'));
    if (unit == "none") return "none";
    if (unit == "core" || unit.empty()) return "cores";
    if (unit == "hwthread") return "threads";
    if (unit == "socket") return "sockets";
    if (unit == "numa") return "ldoms";
    throw cannot("srun", cat("--bind-to ", map_.bind_to));
  }

  static std::string clock_time(std::int64_t seconds) {
    const auto two = [](std::int64_t n) { return cat(n < 10 ? "0" : "", n); };
    return cat(two(seconds / 3600), ":", two(seconds / 60 % 60), ":", two(seconds % 60));
  }

  const JobSpec& spec_;
  const MappingSpec& map_ = spec_.mapping;
  const HandoverInput& in_;
  Handover out_;
};

}  // namespace

Handover translate(const JobSpec& spec, const HandoverInput& input) { return Translator(spec, input).run(); }

}  // namespace herald::launch
