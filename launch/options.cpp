// SPDX-License-Identifier: BSD-3-Clause
// launch/options.cpp: the table of options, the help text and the hints.
#include "options.hpp"

#include <algorithm>
#include <vector>

#include "text.hpp"

namespace herald::launch {
namespace {

using G = Group;

// clang-format off
constexpr Option kTable[] = {
    {Opt::count, "n|np|c", "N", G::start, "start N processes of the program that follows"},
    {Opt::wdir, "wdir|wd", "DIR", G::start, "working directory of the program"},
    {Opt::configfile, "configfile", "FILE", G::start,
     "read sections from FILE: one section a line, '#' comments, '\\' continues a line"},
    {Opt::stdin_to, "s|stdin", "WHERE", G::start, "the rank that reads standard input (default 0), 'all' or 'none'"},

    {Opt::env, "env", "NAME VALUE", G::environment, "set a variable for this program"},
    {Opt::genv, "genv", "NAME VALUE", G::environment, "set a variable for all programs"},
    {Opt::export_x, "x", "NAME[=VALUE]", G::environment, "set a variable, or pass it on, for this program"},
    {Opt::envlist, "envlist", "A,B,...", G::environment, "pass only these variables to this program"},
    {Opt::genvlist, "genvlist", "A,B,...", G::environment, "pass only these variables to all programs"},
    {Opt::envall, "envall", "", G::environment, "pass the whole environment to this program (default)"},
    {Opt::genvall, "genvall", "", G::environment, "pass the whole environment to all programs (default)"},
    {Opt::envnone, "envnone", "", G::environment, "pass no variable but those set here, to this program"},
    {Opt::genvnone, "genvnone", "", G::environment, "pass no variable but those set here, to all programs"},

    {Opt::host, "host|hosts|H", "A[:N],B[:N],...", G::hosts, "hosts to run on, with the number of slots of each"},
    {Opt::hostfile, "hostfile|machinefile|f", "FILE", G::hosts,
     "file of hosts, one a line: 'name', 'name:N' or 'name slots=N'"},
    {Opt::engine, "engine", "NAME", G::hosts,
     "what starts processes on other hosts: ssh (default), or another launcher: slurm (default in an allocation), prrte, "
     "openmpi, hydra"},
    {Opt::rsh_agent, "rsh-agent", "COMMAND", G::hosts,
     "instead of ssh: a command that takes a host and a command line, and connects their standard streams"},
    {Opt::no_local, "nolocal|skip-launch-node", "", G::hosts, "no rank on this host: leave it out of the list of hosts"},
    {Opt::rmk, "rmk", "WORD", G::hosts,
     "slurm or user: the resource manager that names the hosts; others are refused unless hosts are named"},
    {Opt::display_allocation, "display-allocation", "", G::hosts, "print the hosts and their slots"},
    {Opt::pretend_hosts, "pretend-hosts", "N|/N", G::hosts,
     "let ranks of this machine behave as on several hosts (HERALD_HOST): N ranks on each, or /N: N hosts in turn"},

    {Opt::ppn, "ppn|perhost|N|npernode", "N", G::mapping, "processes on each host"},
    {Opt::map_by, "map-by", "HOW", G::mapping,
     "slot (default), hwthread, core, l3cache, numa, socket or node: where ranks go in turn; UNIT:PE=N: N cores for each; "
     "ppr:N:UNIT: N ranks on each unit (ppr:N:node is --ppn N); modifiers :OVERSUBSCRIBE, :NOOVERSUBSCRIBE, :HWTCPUS"},
    {Opt::by_unit, "byslot|bynode|bysocket|bycore", "", G::mapping, "as --map-by slot, node, socket or core"},
    {Opt::cores_each, "cpus-per-rank|cpus-per-proc", "N", G::mapping, "N cores for each rank: as PE=N of --map-by"},
    {Opt::rankfile, "rf|rankfile", "FILE", G::mapping,
     "where each rank runs, a line for each: 'rank N=HOST slot=CORES' (also: --map-by rankfile:file=FILE)"},
    {Opt::rank_by, "rank-by", "UNIT", G::mapping,
     "how the mapped ranks of each program are numbered; node: hosts in turn; hwthread, core, l3cache, numa or socket: host "
     "after host, on each of them units in turn; slot: host after host, as mapped; fill: host after host, unit of --map-by "
     "after unit; default: as mapped"},
    {Opt::bind_to, "bind-to|binding", "WHAT", G::mapping,
     "none (default), hwthread, core, l3cache, numa or socket: bind each rank to the one that it is mapped to; core:N: to "
     "N cores"},
    {Opt::bind_unit, "bind-to-none|bind-to-core|bind-to-socket", "", G::mapping, "as --bind-to none, core or socket"},
    {Opt::hwthread_cpus, "use-hwthread-cpus", "", G::mapping,
     "each hardware thread counts as a core: for slots, --map-by, PE=N and --nooversubscribe"},
    {Opt::membind, "membind", "WORD", G::mapping, "none or firsttouch, as always; for others start the program with numactl"},
    {Opt::oversubscribe, "oversubscribe", "", G::mapping, "allow more ranks than cores or slots (default)"},
    {Opt::no_oversubscribe, "nooversubscribe", "", G::mapping,
     "refuse more ranks on a host than it has slots, or without a list of hosts than there are cores"},
    {Opt::display_map, "display-map|display-devel-map", "", G::mapping, "print which ranks run on which host"},
    {Opt::report_bindings, "report-bindings", "", G::mapping,
     "print the processors of each rank: [BB/..][../..] are sockets, cores and hardware threads, B those of the rank"},
    {Opt::display, "display", "WHAT", G::mapping,
     "map: as --display-map; bind: as --report-bindings; allocation: as --display-allocation"},

    {Opt::label, "l|tag-output|prepend-rank", "", G::output, "begin each line of output with '[rank] '"},
    {Opt::timestamps, "timestamp-output", "", G::output, "begin each line of output with the time"},
    {Opt::merge_streams, "merge-stderr-to-stdout", "", G::output, "write standard error of the ranks to standard output"},
    {Opt::output, "output", "WORDS", G::output,
     "tag, timestamp, merge, file=NAME (as --output-filename), dir=DIR (DIR/rank.N/stdout and stderr), with commas"},
    {Opt::output_filename, "output-filename", "NAME", G::output, "write output of each rank to NAME.RANK.out and NAME.RANK.err"},
    {Opt::out_pattern, "outfile-pattern", "PATTERN", G::output, "write standard output of each rank to a file; %r: rank, %h: host"},
    {Opt::err_pattern, "errfile-pattern", "PATTERN", G::output, "the same for standard error"},
    {Opt::print_codes, "print-all-exitcodes", "", G::output, "print the exit code of each rank at the end"},
    {Opt::verbose, "v|verbose|d|debug-devel", "", G::output, "report the start and the exit of each rank"},
    {Opt::quiet, "q|quiet", "", G::output, "no notes; errors only"},

    {Opt::timeout, "timeout", "SECONDS", G::job,
     "end the job after this time, with exit code 124 (also: variable MPIEXEC_TIMEOUT); 0: never"},
    {Opt::stack_traces, "stack-traces", "", G::job,
     "with --timeout, and at SIGUSR1: print the stack of each rank, by gdb if it is there, or by the rank itself"},
    {Opt::gdb, "gdb", "RANKS", G::job,
     "start these ranks (0, or 0,2-3, or all) under gdb: one in this terminal, several in an xterm each"},
    {Opt::keep_going, "disable-auto-cleanup|enable-recovery|continuous", "", G::job,
     "a rank that fails does not end the others"},
    {Opt::universe, "usize", "N", G::job, "MPI_UNIVERSE_SIZE of the programs: a number, SYSTEM or INFINITE"},
    {Opt::allow_root, "allow-run-as-root", "", G::job, "passed to Open MPI, which requires it"},

    {Opt::version, "V|version", "", G::about, "print the version"},
    {Opt::help, "h|help", "", G::about, "print this text"},

    {Opt::pass_openmpi, "mca|gmca", "KEY VALUE", G::compatible, "Open MPI parameter"},
    {Opt::pass_openmpi, "prefix", "DIR", G::compatible, "folder of Open MPI on the other hosts"},
    {Opt::ignored, "pmixmca|prtemca", "KEY VALUE", G::compatible, "parameter of another launcher"},
    {Opt::ignored, "noprefix", "", G::compatible, "mpiexec has the same path on all hosts"},
    {Opt::ignored, "tune|am", "FILE", G::compatible, "parameters of Open MPI"},
    {Opt::pass_hydra, "launcher|bootstrap", "WORD", G::compatible, "remote shell that Hydra uses"},
    {Opt::pass_hydra, "launcher-exec|bootstrap-exec", "FILE", G::compatible, "program of that remote shell"},
    {Opt::pass_hydra, "iface", "NAME", G::compatible, "network interface for Hydra"},
    {Opt::ignored, "topolib|demux|nameserver|localhost", "WORD", G::compatible,
     "Hydra's"},
    {Opt::ignored, "enable-x|disable-x|profile|pmi-port|disable-hostname-propagation",
     "", G::compatible, "Hydra's"},

    {Opt::refused, "prepend-pattern", "PATTERN", G::refused, "use --tag-output"},
    {Opt::refused, "order-nodes", "WORD", G::refused, "name the hosts in the order of use, with --host or --hostfile"},
    {Opt::refused, "gpus-per-proc", "N", G::refused,
     "set CUDA_VISIBLE_DEVICES or ROCR_VISIBLE_DEVICES by MPI_LOCALRANKID, in a script that starts the program"},
    {Opt::refused, "xml", "", G::refused, "filter the output"},
    {Opt::refused, "debug|tv|xterm|do-not-launch", "", G::refused,
     "use --gdb RANKS, or start mpiexec under a debugger that knows MPIR"},
};
// clang-format on

std::string_view title(Group group) {
  switch (group) {
    case Group::start: return "Starting";
    case Group::environment: return "Environment";
    case Group::hosts: return "Hosts (several: over ssh, or with srun, prterun, Open MPI's mpirun or Hydra)";
    case Group::mapping: return "Where ranks run, and their numbers";
    case Group::output: return "Output";
    case Group::job: return "The job";
    case Group::about: return "About";
    case Group::compatible: return "Accepted for compatibility, without effect on one machine";
    case Group::refused: return "Not supported, with an alternative";
  }
  return {};
}

int distance(std::string_view a, std::string_view b) {  // edits between two words
  std::vector<int> row(b.size() + 1), before;
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<int>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before = row;
    row[0] = static_cast<int>(i);
    for (std::size_t j = 1; j <= b.size(); ++j)
      row[j] = std::min({before[j] + 1, row[j - 1] + 1, before[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
  }
  return row[b.size()];
}

void append_wrapped(std::string& out, std::size_t indent, std::string_view text) {
  constexpr std::size_t kWidth = 96;
  std::size_t column = 0;
  for (const std::string& word : split(text, " ")) {
    if (column == 0 || column + 1 + word.size() > kWidth) {
      out += column ? "\n" : "";
      out.append(indent, ' ');
      column = indent;
    } else {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
  }
  out += '\n';
}

}  // namespace

int Option::arg_count() const { return static_cast<int>(split(args, " ").size()); }

std::span<const Option> option_table() { return kTable; }

const Option* find_option(std::string_view name) {
  for (const Option& option : kTable) {
    for (const std::string& candidate : split(option.names, "|"))
      if (candidate == name) return &option;
  }
  return nullptr;
}

std::string dashed(std::string_view name) { return cat(name.size() == 1 ? "-" : "--", name); }

std::string nearest_option(std::string_view name) {
  const std::size_t digits = name.find_first_of("0123456789");
  if (digits != std::string_view::npos && digits > 0) {  // -n4 for -n 4
    const std::string_view letters = name.substr(0, digits);
    const Option* option = find_option(letters);
    if (option && option->arg_count() == 1 && to_int(name.substr(digits)))
      return cat("-", letters, " ", name.substr(digits));
  }
  int best = 1000;
  std::string nearest;
  for (const Option& option : kTable) {
    for (const std::string& candidate : split(option.names, "|")) {
      const int edits = distance(name, candidate);
      if (candidate.size() > 1 && edits < best) {
        best = edits;
        nearest = dashed(candidate);
      }
    }
  }
  return best <= std::max<int>(1, static_cast<int>(name.size()) / 3) ? nearest : std::string{};
}

std::string usage_line() {
  return "usage: mpiexec [options] [-n N] program [arguments] [: [-n N] program [arguments]]...\n";
}

std::string help_text() {
  std::string out = usage_line();
  out +=
      "\nStarts the processes of an MPI program. Options may be written with one dash or two, and\n"
      "--name=VALUE is the same as --name VALUE. '--' ends the options. Without -n one process is\n"
      "started per available core, or per slot of the host list.\n";
  Group group{};
  bool first = true;
  for (const Option& option : kTable) {
    if (first || option.group != group) {
      group = option.group;
      out += cat("\n", title(group), ":\n");
      first = false;
    }
    std::vector<std::string> names;
    for (const std::string& name : split(option.names, "|")) names.push_back(dashed(name));
    append_wrapped(out, 2, cat(join(names, ", "), option.args.empty() ? "" : " ", option.args));
    append_wrapped(out, 8, option.help);
  }
  out +=
      "\nThe exit code is that of the first rank that fails, 128 + the signal's number when a signal\n"
      "ended it; 2: wrong option; 124: timeout; 126: not executable; 127: program not found.\n";
  return out;
}

}  // namespace herald::launch
