// SPDX-License-Identifier: BSD-3-Clause
// tools/model_replay.cpp: `herald model replay`: how long a recorded program would take on another network,
// where its time would go, and which change pays (docs/model.md).
#include <fmt/format.h>

#include "coll/explain.hpp"
#include "coll_query.hpp"
#include "commands.hpp"
#include "replay/replay.hpp"
#include "report/report.hpp"

namespace herald::tools {
namespace {

struct ReplayOptions {
  std::vector<std::string> files;
  std::string with, from, on;
  bool json = false;
};

struct ReplayRow {
  std::string name;
  model::Replayed replayed;
};

// Where nothing was measured: usual hosts, with links as the kernel named them.
std::string load_replay_parameters(const ReplayOptions& options, const Recorded& recorded,
                                   model::Parameters& out) {
  constexpr double kUsualMbit = 1000;
  model::Measured measured;
  if (options.on.empty() && load_model(options.from, measured)) {
    out = measured.parameters;
    return fmt::format("cluster {}, measured on {} hosts", measured.cluster, measured.hosts.size());
  }
  const WhatIf on = parse_what_if(options.on);
  if (on.rate_mbit <= 0 && !options.on.empty())
    throw CLI::ValidationError("--on", "name the rate of the links: --on rate=100mbit,latency=20us");
  const double known = recorded.link_mbit > 0 ? recorded.link_mbit : kUsualMbit;
  const double mbit = on.rate_mbit > 0 ? on.rate_mbit : known;
  WhatIf rest = on;
  rest.rate_mbit = 0;
  out = changed(model::default_parameters(mbit * 1e6, recorded.cores), rest);
  return fmt::format("not measured: usual hosts with links of {:g} Mbit/s", mbit);
}

double share_percent(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

void print_replay_row(const ReplayRow& row, double base_ns) {
  const model::Shares& s = row.replayed.shares;
  const double all = row.replayed.ns;
  fmt::print("{:<28}{:>12}{:>9.2f}", row.name, coll::time_text(all), all > 0 ? base_ns / all : 1);
  for (const double part : {s.computing, s.overhead, s.wire, s.contention, s.copying, s.waiting, s.other})
    fmt::print("{:>10.1f}%", share_percent(part, all));
  fmt::print("\n");
}

Json replay_row_json(const ReplayRow& row) {
  const model::Shares& s = row.replayed.shares;
  return {{"name", row.name},          {"ns", row.replayed.ns},   {"computing_ns", s.computing},
          {"overhead_ns", s.overhead}, {"wire_ns", s.wire},       {"contention_ns", s.contention},
          {"copying_ns", s.copying},   {"waiting_ns", s.waiting}, {"other_ns", s.other}};
}

void warn_of_replay(const Recorded& recorded, const model::Replayed& base, std::size_t changed_algorithms) {
  if (recorded.unmatched != 0)
    fmt::print(stderr,
               "herald model replay: {} sends and receives have no other side in the timelines: left out\n",
               recorded.unmatched);
  if (recorded.threads > 1)
    fmt::print(stderr, "herald model replay: ranks make calls on {} threads: only the calls of one count\n",
               recorded.threads);
  if (!recorded.one_clock)
    fmt::print(
        stderr,
        "herald model replay: hosts have clocks of their own: messages are not corrected by the run\n");
  if (base.shares.other > 0.05 * base.ns)
    fmt::print(
        stderr,
        "herald model replay: {:.0f} % of the time are waits for files, windows or other jobs: they stay as "
        "recorded\n",
        share_percent(base.shares.other, base.ns));
  if (changed_algorithms != 0)
    fmt::print(stderr,
               "herald model replay: {} collectives take another algorithm: that of --with does not fit\n",
               changed_algorithms);
}

std::vector<ReplayRow> find_upgrades(Replayer& replayer) {
  std::vector<ReplayRow> rows;
  for (const auto& [name, with] : {std::pair{"links 10 times as fast", "rate=x10"},
                                   {"half the latency", "latency=/2"},
                                   {"processors 2 times as fast", "cpu=x2"},
                                   {"algorithms by the model", "coll=auto"}})
    rows.push_back({name, replayer.run(parse_what_if(with))});
  return rows;
}

void print_replay_table(const Recorded& recorded, const std::vector<ReplayRow>& rows,
                        std::size_t upgrades_at) {
  fmt::print("{:<28}{:>12}{:>9}{:>11}{:>11}{:>11}{:>11}{:>11}{:>11}{:>11}\n", "", "time", "faster",
             "computing", "overhead", "wire", "contention", "copying", "waiting", "other");
  const double base = rows.front().replayed.ns;
  std::size_t best = upgrades_at;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i == upgrades_at) fmt::print("which change pays:\n");
    print_replay_row(rows[i], base);
    if (i > best && rows[i].replayed.ns < rows[best].replayed.ns) best = i;
  }
  const double gain = share_percent(base - rows[best].replayed.ns, base);
  if (gain < 2)
    fmt::print("none of these changes saves 2 % of the time\n");
  else
    fmt::print("most is saved by {}: {:.0f} % of the time\n", rows[best].name, gain);
  fmt::print("the replay of the recorded run is {:+.1f} % off\n",
             share_percent(base - recorded.ns, recorded.ns));
}

void run_replay(const ReplayOptions& options) {
  const WhatIf change = parse_what_if(options.with);
  const Recorded recorded = read_program(options.files);
  model::Parameters parameters;
  const std::string source = load_replay_parameters(options, recorded, parameters);
  Replayer replayer(recorded, parameters);
  std::vector<ReplayRow> rows = {{"as recorded, replayed", replayer.run({})}};
  if (rows.front().replayed.stuck >= 0)
    fail("model replay",
         fmt::format("rank {} waits for a message or a rank that never comes: are the timelines of "
                     "one run?",
                     rows.front().replayed.stuck));
  std::size_t odd = 0;
  if (!options.with.empty()) {
    rows.push_back({"with " + options.with, replayer.run(change)});
    odd = replayer.changed_algorithms;
  }
  const std::size_t upgrades_at = rows.size();
  for (ReplayRow& row : find_upgrades(replayer)) rows.push_back(std::move(row));
  warn_of_replay(recorded, rows.front().replayed, odd);
  if (options.json) {
    Json all = {{"recorded_ns", recorded.ns},
                {"ranks", recorded.program.host.size()},
                {"hosts", recorded.hosts},
                {"parameters", source},
                {"rows", Json::array()}};
    for (const ReplayRow& row : rows) all["rows"].push_back(replay_row_json(row));
    fmt::print("{}\n", all.dump(1));
    return;
  }
  fmt::print("{} ranks on {} host{}, recorded in {}; {}\n\n", recorded.program.host.size(), recorded.hosts,
             recorded.hosts == 1 ? "" : "s", coll::time_text(recorded.ns), source);
  print_replay_table(recorded, rows, upgrades_at);
}

}  // namespace

void add_model_replay(CLI::App& model) {
  CLI::App* const command = model.add_subcommand(
      "replay", "how long a recorded program (HERALD_TRACE) would take on another network");
  auto options = std::make_shared<ReplayOptions>();
  command->add_option("files", options->files, "timelines of all ranks of one run")->required();
  command->add_option(
      "--with", options->with,
      "what is different, comma separated: rate=10gbit, rate=x10, latency=5us, latency=/2, cpu=x2, "
      "hosts=32, buffer=256k, coll=auto, allreduce=ring");
  command->add_option("--from", options->from,
                      "file of herald model measure of the recorded network; default: that of this host");
  command->add_option("--on", options->on,
                      "the recorded network, if it was not measured: rate=100mbit,latency=20us");
  command->add_flag("--json", options->json, "as JSON");
  command->callback([options] {
    try {
      run_replay(*options);
    } catch (const Json::exception&) {
      fail("model replay", "a file has events that no Herald writes");
    }
  });
}

}  // namespace herald::tools
