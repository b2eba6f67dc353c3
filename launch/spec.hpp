// SPDX-License-Identifier: BSD-3-Clause
// launch/spec.hpp: the job that a command line describes. Pure: callers pass in a function that reads files.
// In:  the words of the command line.
// Out: a JobSpec, or a UsageError that names the option, the argument and the remedy.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace herald::launch {

inline constexpr std::int64_t kMostRanks = 1 << 20;

struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct EnvEdit {
  std::string name;
  std::optional<std::string> value;  // unset: the inherited value
};

enum class EnvBase { unset, all, none, list };

struct EnvRule {
  EnvBase base = EnvBase::unset;
  std::vector<std::string> names;  // for EnvBase::list
  std::vector<EnvEdit> edits;
};

struct App {
  std::int64_t count = 0;  // 0: not given
  std::vector<std::string> argv;
  std::string wdir;
  EnvRule env;
};

// Where a rank runs, by a rankfile.
struct RankPlace {
  std::string host;
  std::string slot;  // empty: not bound
};

struct RankfileSpec {
  std::string name;               // empty: not given
  std::vector<RankPlace> places;  // by rank
};

struct DebugSpec {
  std::string gdb;            // ranks to start under gdb; empty: none
  bool stack_traces = false;  // of ranks that wait
};

// Options that only other launchers understand.
struct PassedOn {
  std::vector<std::string> openmpi, hydra;
  std::vector<std::string> policies;  // parameters of Open MPI and PRRTE that say where ranks run
  bool allow_root = false;
};

// The options that say where ranks run and how they are numbered.
struct MappingSpec {
  std::string unit;        // of --map-by, without modifiers: "socket", "ppr:2:socket"; empty: not given
  std::int64_t cores = 0;  // of each rank (PE=); 0: not given
  std::int64_t ppn = 0;    // on each host; 0: not given
  bool span = false;       // :SPAN
  bool hwthreads = false;  // each hardware thread counts as a core
  std::string rank_by;     // empty: ranks are numbered in the order of mapping
  std::string bind_to;     // empty: not given
  bool no_oversubscribe = false;
  bool no_local = false;  // no rank on this host

  std::string map_by() const;  // the words of --map-by for another host; empty: the default
  bool by_node() const { return unit == "node"; }
};

enum class StdinTo { rank, all, none };
enum class Action { run, help, version };

inline constexpr const char* kRankFolder = "/rank.%r/";  // in patterns of --output dir=: made when missing

// The files and the form of the ranks' output, and what mpiexec says about them.
struct OutputSpec {
  bool timestamps = false;
  bool merge_streams = false;
  bool report_bindings = false;
  bool display_map = false;
  bool display_allocation = false;
  bool print_codes = false;              // of all ranks, at the end
  std::string out_pattern, err_pattern;  // files of the ranks: %r rank, %h host
};

struct JobSpec {
  Action action = Action::run;
  std::vector<App> apps;
  EnvRule env;  // for all programs
  std::string hosts;
  std::string hostfile;
  std::string engine;            // slurm, prrte, openmpi, hydra, ssh; empty: chosen
  std::string rsh_agent;         // empty: ssh
  std::string resource_manager;  // --rmk; empty: not given
  MappingSpec mapping;
  RankfileSpec rankfile;
  std::int64_t pretended_hosts = 0;     // ranks are placed on so many hosts in turn; 0: not given
  std::int64_t pretended_per_host = 0;  // so many ranks are placed on each host; 0: not given
  bool label = false;
  OutputSpec output;
  bool verbose = false;
  bool quiet = false;
  bool keep_going = false;
  std::optional<std::int64_t> timeout_s;
  std::optional<std::int64_t> universe;
  StdinTo stdin_to = StdinTo::rank;
  std::int64_t stdin_rank = 0;
  PassedOn passed_on;
  DebugSpec debug;

  // Sum of -n over all sections; a section without -n counts as `default_count`.
  std::int64_t total(std::int64_t default_count) const;
};

// Returns the text of a file, or throws UsageError.
using ReadFile = std::function<std::string(const std::string& path)>;

JobSpec parse_command_line(const std::vector<std::string>& words, const ReadFile& read_file);

// The sections of a -configfile as words, with ":" between lines.
std::vector<std::string> parse_config(const std::string& text);

// The number of `what` of an option, 1 to `most`; throws UsageError.
std::int64_t parse_positive(const std::string& text, const std::string& option, const char* what,
                            std::int64_t most);

// A number of seconds; throws UsageError naming `what`.
std::int64_t parse_timeout(const std::string& text, const std::string& what);

}  // namespace herald::launch
