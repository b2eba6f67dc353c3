// SPDX-License-Identifier: BSD-3-Clause
// sim/tool/herald_sim.cpp: the program herald-sim. docs/simulation.md explains its use.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>

#include "sim/job/scenario.hpp"
#include "sim/tool/perf.hpp"
#include "sim/tool/runner.hpp"
#include "sim/tool/scale.hpp"

namespace {

using namespace herald::sim;

void print_scenarios() {
  std::printf("%-14s %s\n", "mix", "one of the following, chosen by the seed");
  for (const Named& each : troubles()) std::printf("%-14s %s\n", each.name, each.what);
  std::printf("%-14s %s\n", "short", "the same, with messages of one packet on the fast path");
  std::printf("%-14s %s\n", "sealed", "messages or lanes, authenticated or encrypted; sealed+NAME");
  std::printf("%-14s %s\n", "rma", "the same, with one-sided operations between the messages; rma+NAME");
  std::printf("%-14s %s\n", "bulk", "the same, with long messages by TCP connections that fail; bulk+NAME");
  std::printf("%-14s %s\n", "tcp", "UDP is blocked, TCP carries messages or lanes; tcp+NAME");
  std::printf("%-14s %s\n", "lanes", "one of the following, chosen by the seed: collectives over lanes");
  for (const NamedLane& each : lane_troubles()) std::printf("%-14s %s\n", each.name, each.what);
  std::printf("%-14s %s\n", "lane-ways", "one of the following, chosen by the seed: other features of lanes");
  for (const NamedWay& each : lane_ways()) std::printf("%-14s %s\n", each.name, each.what);
}

bool read_range(const std::string& text, Task& task) {
  unsigned long long first = 0, last = 0;
  char extra = 0;
  const int count = std::sscanf(text.c_str(), "%llu..%llu%c", &first, &last, &extra);
  if (count != 2 || last < first) return false;
  task.first = first;
  task.last = last;
  return true;
}

bool is_scenario(const std::string& name) {
  Setup setup;
  return make_setup(name, 1, setup);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Run jobs on a network in virtual time, from seeds, and check the results."};
  Task task;
  std::string range, kept, why;
  std::uint64_t seed = 0;
  bool list = false, perf = false, scale = false;
  ScaleOptions scaling;
  unsigned repetitions = 5;
  auto* one = app.add_option("--seed", seed, "run this seed");
  app.add_option("--seeds", range, "run seeds A to B, written A..B")->excludes(one);
  app.add_option("--kept", kept, "run the scenarios and seeds of this file")->excludes(one);
  app.add_option("--scenario", task.scenario, "the faults; see --list")->capture_default_str();
  app.add_option("-j,--jobs", task.threads, "seeds in parallel")->check(CLI::Range(1, 1024));
  app.add_option("--minutes", task.minutes, "run seeds from the first on for this time")
      ->check(CLI::PositiveNumber);
  app.add_option("--failures", task.most_failures, "stop after so many failures")->capture_default_str();
  app.add_flag("--twice", task.twice, "run each seed twice and compare the histories");
  app.add_flag("-v,--verbose", task.verbose, "print every datagram at every stage");
  app.add_flag("--json", task.json, "print the summary as JSON");
  app.add_flag("--list", list, "list the scenarios");
  app.add_flag("--perf", perf, "print the share of line rate that is reached, in virtual time");
  app.add_flag("--scale", scale, "print how broadcast and barrier grow with the hosts, in virtual time");
  app.add_option("--hosts", scaling.hosts, "numbers of hosts for --scale")->check(CLI::Range(2, 1024));
  app.add_option("--loss", scaling.loss, "for --scale: share of packets that each receiver loses")
      ->check(CLI::Range(0.0, 0.5));
  app.add_flag("--pause-frames", scaling.pause_frames,
               "for --scale: full ports stop senders and drop nothing");
  app.add_flag("--slow-host", scaling.slow_host, "for --scale: one host has half the rate");
  app.add_flag("--failure", scaling.failure, "for --scale: one of the two interfaces of a host fails");
  app.add_option("--repetitions", repetitions, "runs of each case of --perf")->check(CLI::Range(1, 10000));
  CLI11_PARSE(app, argc, argv);
  if (list) {
    print_scenarios();
    return 0;
  }
  if (scale) return print_scale(scaling) ? 0 : 1;
  if (perf) {
    print_performance(repetitions);
    return 0;
  }
  if (!is_scenario(task.scenario)) {
    std::fprintf(stderr, "herald-sim: no scenario \"%s\"; --list names them\n", task.scenario.c_str());
    return 2;
  }
  if (!range.empty() && !read_range(range, task)) {
    std::fprintf(stderr, "herald-sim: --seeds expects A..B with A <= B, as in --seeds 1..1000, not \"%s\"\n",
                 range.c_str());
    return 2;
  }
  if (!kept.empty()) {
    if (!read_kept(kept, task.kept, why)) {
      std::fprintf(stderr, "herald-sim: %s\n", why.c_str());
      return 2;
    }
    if (task.kept.empty()) {
      std::printf("no kept seeds\n");
      return 0;
    }
  }
  if (one->count() != 0) task.first = task.last = seed;
  if (task.verbose) task.threads = 1;
  return run_seeds(task) == 0 ? 0 : 1;
}
