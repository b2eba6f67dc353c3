// SPDX-License-Identifier: BSD-3-Clause
// launch/parse.cpp: command line to JobSpec.
#include <algorithm>

#include "mapping_options.hpp"
#include "options.hpp"
#include "rankfile.hpp"
#include "spec.hpp"
#include "text.hpp"

namespace herald::launch {
namespace {

class Parser {
 public:
  Parser(std::vector<std::string> words, const ReadFile& read_file)
      : words_(std::move(words)), read_file_(read_file) {}

  JobSpec run() {
    while (at_ < words_.size()) {
      parse_section();
      if (spec_.action != Action::run) return std::move(spec_);
    }
    if (spec_.apps.empty()) throw UsageError("no program given: name one after the options");
    if (words_.back() == ":") throw UsageError("no program given after ':'");
    if (spec_.total(1) > kMostRanks)
      throw UsageError(cat("-n: ", spec_.total(1), " processes in all; the most is ", kMostRanks));
    if (spec_.stdin_to == StdinTo::rank && spec_.stdin_rank > 0 && spec_.stdin_rank >= known_total())
      throw UsageError(cat("--stdin ", spec_.stdin_rank, ": there is no such rank"));
    check_mapping(spec_);
    return std::move(spec_);
  }

 private:
  std::int64_t known_total() const {
    for (const App& app : spec_.apps)
      if (app.count == 0) return kMostRanks;
    return spec_.total(1);
  }

  void parse_section() {
    app_ = App{};
    bool ended = false;
    while (at_ < words_.size() && !ended && words_[at_].size() > 1 && words_[at_][0] == '-') {
      const std::string word = words_[at_++];
      if (word == "--") {
        ended = true;
      } else {
        parse_option(word);
        if (spec_.action != Action::run) return;
      }
    }
    if (at_ == words_.size() || words_[at_] == ":") {
      throw UsageError(spec_.apps.empty() && at_ == words_.size()
                           ? "no program given: name one after the options"
                           : cat("section ", spec_.apps.size() + 1, " between ':' names no program"));
    }
    while (at_ < words_.size() && words_[at_] != ":") app_.argv.push_back(words_[at_++]);
    if (app_.argv[0].empty()) throw UsageError("the program's name is empty");
    if (at_ < words_.size()) ++at_;
    spec_.apps.push_back(std::move(app_));
  }

  void parse_option(const std::string& word) {
    std::string name = word.substr(word[1] == '-' ? 2 : 1);
    const Option* option = find_option(name);
    std::vector<std::string> args;
    const std::size_t equals = name.find('=');
    if (!option && equals != std::string::npos) {
      option = find_option(name.substr(0, equals));
      if (option && option->arg_count() == 1) {
        args.push_back(name.substr(equals + 1));
        name.resize(equals);
      } else {
        option = nullptr;
      }
    }
    if (!option) {
      const std::string near = nearest_option(name.substr(0, equals));
      throw UsageError(
          cat("unknown option ", word, near.empty() ? "" : cat("; did you mean ", near, "?"),
              near.empty() ? "; mpiexec --help lists all (options of the program follow its name)" : ""));
    }
    const std::string shown = word.substr(0, word.find('='));
    while (args.size() < static_cast<std::size_t>(option->arg_count())) {
      if (at_ == words_.size())
        throw UsageError(cat(shown, ": argument missing: ", shown, " ", option->args));
      args.push_back(words_[at_++]);
    }
    apply(*option, shown, args);
  }

  void apply(const Option& option, const std::string& shown, const std::vector<std::string>& args) {
    switch (option.id) {
      case Opt::count: app_.count = parse_positive(args[0], shown, "processes", kMostRanks); break;
      case Opt::wdir: app_.wdir = args[0]; break;
      case Opt::configfile: insert_config(args[0]); break;
      case Opt::env: set(app_.env, shown, args[0], args[1]); break;
      case Opt::genv: set(spec_.env, shown, args[0], args[1]); break;
      case Opt::export_x: export_x(shown, args[0]); break;
      case Opt::envlist: list(app_.env, args[0]); break;
      case Opt::genvlist: list(spec_.env, args[0]); break;
      case Opt::envall: app_.env.base = EnvBase::all; break;
      case Opt::genvall: spec_.env.base = EnvBase::all; break;
      case Opt::envnone: app_.env.base = EnvBase::none; break;
      case Opt::genvnone: spec_.env.base = EnvBase::none; break;
      case Opt::host: spec_.hosts += cat(spec_.hosts.empty() ? "" : ",", args[0]); break;
      case Opt::hostfile: spec_.hostfile = args[0]; break;
      case Opt::engine: engine(shown, args[0]); break;
      case Opt::rsh_agent: rsh_agent(shown, args[0]); break;
      case Opt::map_by:
        if (args[0].starts_with("rankfile:file=")) return rankfile(args[0].substr(14));
        [[fallthrough]];
      case Opt::ppn:
      case Opt::by_unit:
      case Opt::cores_each:
      case Opt::rank_by:
      case Opt::bind_to:
      case Opt::bind_unit:
      case Opt::hwthread_cpus:
      case Opt::no_local:
      case Opt::oversubscribe:
      case Opt::no_oversubscribe:
      case Opt::membind: apply_mapping_option(spec_.mapping, option.id, shown, args); break;
      case Opt::rmk: spec_.resource_manager = args[0]; break;
      case Opt::rankfile: rankfile(args[0]); break;
      case Opt::pretend_hosts: pretend_hosts(shown, args[0]); break;
      case Opt::label: spec_.label = true; break;
      case Opt::timestamps: spec_.output.timestamps = true; break;
      case Opt::merge_streams: spec_.output.merge_streams = true; break;
      case Opt::output: output(shown, args[0]); break;
      case Opt::output_filename: output_file(args[0]); break;
      case Opt::out_pattern: spec_.output.out_pattern = args[0]; break;
      case Opt::err_pattern: spec_.output.err_pattern = args[0]; break;
      case Opt::report_bindings: spec_.output.report_bindings = true; break;
      case Opt::display_map: spec_.output.display_map = true; break;
      case Opt::display_allocation: spec_.output.display_allocation = true; break;
      case Opt::display: display(shown, args[0]); break;
      case Opt::print_codes: spec_.output.print_codes = true; break;
      case Opt::timeout: spec_.timeout_s = parse_timeout(args[0], shown); break;
      case Opt::stdin_to: stdin_to(shown, args[0]); break;
      case Opt::gdb: spec_.debug.gdb = args[0]; break;
      case Opt::stack_traces: spec_.debug.stack_traces = true; break;
      case Opt::keep_going: spec_.keep_going = true; break;
      case Opt::universe: universe(shown, args[0]); break;
      case Opt::allow_root: spec_.passed_on.allow_root = true; break;
      case Opt::verbose: spec_.verbose = true; break;
      case Opt::quiet: spec_.quiet = true; break;
      case Opt::version: spec_.action = Action::version; break;
      case Opt::help: spec_.action = Action::help; break;
      case Opt::pass_openmpi: pass(spec_.passed_on.openmpi, "--", shown, args); [[fallthrough]];
      case Opt::ignored:
        if (args.size() == 2 && args[0].ends_with("_policy")) spec_.passed_on.policies.push_back(args[0]);
        break;
      case Opt::pass_hydra: pass(spec_.passed_on.hydra, "-", shown, args); break;
      case Opt::refused: throw UsageError(cat(shown, " is not supported: ", option.help));
    }
  }

  void insert_config(const std::string& path) {
    if (++configs_ > 16)
      throw UsageError(cat("-configfile ", path, ": configuration files include each other"));
    const auto more = parse_config(read_file_(path));
    words_.insert(words_.begin() + static_cast<std::ptrdiff_t>(at_), more.begin(), more.end());
  }

  static void set(EnvRule& rule, const std::string& shown, const std::string& name,
                  const std::string& value) {
    if (name.empty() || name.find('=') != std::string::npos)
      throw UsageError(cat(shown, " '", name, "': not the name of a variable"));
    rule.edits.push_back({name, value});
  }

  void export_x(const std::string& shown, const std::string& text) {
    const std::size_t equals = text.find('=');
    if (equals == 0 || text.empty()) throw UsageError(cat(shown, " '", text, "': write NAME or NAME=VALUE"));
    if (equals == std::string::npos)
      app_.env.edits.push_back({text, std::nullopt});
    else
      app_.env.edits.push_back({text.substr(0, equals), text.substr(equals + 1)});
  }

  static void list(EnvRule& rule, const std::string& text) {
    rule.base = EnvBase::list;
    for (std::string& name : split(text, ",")) rule.names.push_back(std::move(name));
  }

  void rankfile(const std::string& path) {
    spec_.rankfile.name = path;
    spec_.rankfile.places = parse_rankfile(read_file_(path), path);
  }

  void output_file(const std::string& name) {
    spec_.output.out_pattern = name + ".%r.out";
    spec_.output.err_pattern = name + ".%r.err";
  }

  // PRRTE's words. Files take the place of the terminal, as with its nocopy.
  void output(const std::string& shown, const std::string& text) {
    for (const std::string& words : split(text, ",")) {
      const std::vector<std::string> parts = split(words, ":");
      const std::string& word = parts[0];
      for (std::size_t i = 1; i < parts.size(); ++i)
        if (parts[i] != "nocopy" && parts[i] != "raw") throw output_error(shown, parts[i]);
      if (word == "tag" || word == "tag-detailed" || word == "tag-fullname" || word == "rank")
        spec_.label = true;
      else if (word == "timestamp")
        spec_.output.timestamps = true;
      else if (word == "merge" || word == "merge-stderr-to-stdout")
        spec_.output.merge_streams = true;
      else if (word.starts_with("file=") && word.size() > 5)
        output_file(word.substr(5));
      else if (word.starts_with("dir=") && word.size() > 4)
        for (const auto& [pattern, name] :
             {std::pair{&spec_.output.out_pattern, "stdout"}, std::pair{&spec_.output.err_pattern, "stderr"}})
          *pattern = cat(word.substr(4), kRankFolder, name);
      else
        throw output_error(shown, word);
    }
  }
  static UsageError output_error(const std::string& shown, const std::string& word) {
    return UsageError(cat(shown, " ", word, ": write tag, timestamp, merge, file=NAME or dir=DIR"));
  }

  void display(const std::string& shown, const std::string& text) {
    for (const std::string& word : split(text, ",")) {
      const bool map = word == "map" || word == "map-devel", bind = word == "bind" || word == "bindings";
      if (!map && !bind && word != "allocation" && word != "alloc")
        throw UsageError(cat(shown, " ", text, ": write map, bind or allocation"));
      OutputSpec& out = spec_.output;
      (map ? out.display_map : bind ? out.report_bindings : out.display_allocation) = true;
    }
  }

  void engine(const std::string& shown, const std::string& text) {
    for (const char* known : {"ssh", "slurm", "prrte", "openmpi", "hydra"})
      if (text == known) spec_.engine = text;
    if (spec_.engine != text)
      throw UsageError(cat(shown, " ", text, ": write ssh, slurm, prrte, openmpi or hydra"));
  }

  void rsh_agent(const std::string& shown, const std::string& text) {
    if (split(text, " ").empty()) throw UsageError(cat(shown, " '", text, "': name a command"));
    spec_.rsh_agent = text;
  }

  void pretend_hosts(const std::string& shown, const std::string& text) {
    if (text.starts_with('/'))
      spec_.pretended_hosts = parse_positive(text.substr(1), shown, "hosts", kMostRanks);
    else
      spec_.pretended_per_host = parse_positive(text, shown, "processes on a host", kMostRanks);
  }

  void stdin_to(const std::string& shown, const std::string& text) {
    if (text == "all") {
      spec_.stdin_to = StdinTo::all;
    } else if (text == "none") {
      spec_.stdin_to = StdinTo::none;
    } else {
      const auto rank = to_int(text);
      if (!rank || *rank < 0) throw UsageError(cat(shown, " ", text, ": write a rank, 'all' or 'none'"));
      spec_.stdin_to = StdinTo::rank;
      spec_.stdin_rank = *rank;
    }
  }

  void universe(const std::string& shown, const std::string& text) {
    if (text == "SYSTEM") return;
    spec_.universe = text == "INFINITE" ? -1 : parse_positive(text, shown, "processes", kMostRanks);
  }

  static void pass(std::vector<std::string>& to, const char* dashes, const std::string& shown,
                   const std::vector<std::string>& args) {
    to.push_back(cat(dashes, shown.substr(shown.find_first_not_of('-'))));
    to.insert(to.end(), args.begin(), args.end());
  }

  std::vector<std::string> words_;
  const ReadFile& read_file_;
  std::size_t at_ = 0;
  int configs_ = 0;
  App app_;
  JobSpec spec_;
};

// Words of one line of a config file, with quotes and backslashes as in a shell.
void append_words(std::vector<std::string>& out, const std::string& line) {
  std::string word;
  bool in_word = false;
  char quote = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quote) {
      if (c == quote)
        quote = 0;
      else
        word += c;
    } else if (c == '\'' || c == '"') {
      quote = c;
      in_word = true;
    } else if (c == '\\' && i + 1 < line.size()) {
      word += line[++i];
      in_word = true;
    } else if (c == ' ' || c == '\t' || c == '\r') {
      if (in_word) out.push_back(word);
      word.clear();
      in_word = false;
    } else {
      word += c;
      in_word = true;
    }
  }
  if (quote) throw UsageError(cat("-configfile: a quote is not closed in the line: ", line));
  if (in_word) out.push_back(word);
}

}  // namespace

std::int64_t JobSpec::total(std::int64_t default_count) const {
  std::int64_t sum = 0;
  for (const App& app : apps) sum += app.count ? app.count : default_count;
  return sum;
}

std::vector<std::string> parse_config(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream lines(text);
  std::string line, whole;
  while (std::getline(lines, line)) {
    const std::size_t first = line.find_first_not_of(" \t\r");
    if (whole.empty() && (first == std::string::npos || line[first] == '#')) continue;
    if (!line.empty() && line.back() == '\\') {
      whole += line.substr(0, line.size() - 1) + " ";
      continue;
    }
    whole += line;
    if (!out.empty() && out.back() != ":") out.emplace_back(":");
    append_words(out, whole);
    whole.clear();
  }
  if (!whole.empty()) {
    if (!out.empty() && out.back() != ":") out.emplace_back(":");
    append_words(out, whole);
  }
  if (!out.empty() && out.back() == ":") out.pop_back();
  return out;
}

std::int64_t parse_positive(const std::string& text, const std::string& option, const char* what,
                            std::int64_t most) {
  const auto value = to_int(text);
  if (!value) throw UsageError(cat(option, " ", text, ": not a number; give the number of ", what));
  if (*value < 1) throw UsageError(cat(option, " ", text, ": the number of ", what, " must be at least 1"));
  if (*value > most)
    throw UsageError(cat(option, " ", text, ": the number of ", what, " must be at most ", most));
  return *value;
}

std::int64_t parse_timeout(const std::string& text, const std::string& what) {
  const auto value = to_int(text);
  if (!value || *value < 0 || *value > 1000000000)
    throw UsageError(cat(what, " '", text, "': write a number of seconds, 0 to 1000000000"));
  return *value;
}

JobSpec parse_command_line(const std::vector<std::string>& words, const ReadFile& read_file) {
  return Parser(words, read_file).run();
}

}  // namespace herald::launch
