// SPDX-License-Identifier: BSD-3-Clause
// tools/ps.cpp: `herald ps`: the jobs of this host, and what each rank of one waits for.
#include <fmt/format.h>

#include <cstdio>
#include <map>

#include "colour.hpp"
#include "commands.hpp"
#include "watch/read_ranks.hpp"
#include "watch/sampler.hpp"

namespace herald::tools {
namespace {

void list_jobs() {
  struct Ranks {
    int ranks = 0, size = 0, waiting = 0;
  };
  std::map<std::string, Ranks> jobs;
  for (const watch::RankView& view : watch::read_ranks("")) {
    Ranks& job = jobs[view.job];
    ++job.ranks;
    job.size = view.size;
    job.waiting += view.waits.empty() ? 0 : 1;
  }
  for (const std::string& name : watch::linked_jobs()) jobs[name];
  if (jobs.empty()) {
    fmt::print(stderr, "herald ps: no MPI job of Herald runs on this host\n");
    throw CLI::RuntimeError(kNotFound);
  }
  fmt::print("{:<20} {:>12} {:>8}\n", "JOB", "RANKS HERE", "WAITING");
  for (const auto& [name, job] : jobs)
    fmt::print("{:<20} {:>12} {:>8}\n", name,
               job.size > 0 ? fmt::format("{} of {}", job.ranks, job.size) : "0", job.waiting);
}

void show_job(const std::string& name) {
  watch::want_timelines(name);
  watch::Sampler sampler(name, watch::kAllLevels);
  std::vector<watch::RankView> views = sampler.sample();
  if (views.empty()) {
    fmt::print(stderr, "herald ps: no job {} on this host; `herald ps` lists the jobs\n", name);
    throw CLI::RuntimeError(kNotFound);
  }
  const auto seen = static_cast<int>(views.size());
  const int size = views[0].size;
  const bool colours = has_colours(STDOUT_FILENO);
  for (const std::string& line : watch::job_text(std::move(views)))
    fmt::print("{}\n", in_red(line, colours && line.starts_with("deadlock: ")));
  if (seen < size) fmt::print("{} of {} ranks are seen from this host\n", seen, size);
  for (const std::string& host : sampler.silent()) fmt::print("{} does not answer\n", host);
}

}  // namespace

void add_ps(CLI::App& program) {
  CLI::App* command = program.add_subcommand("ps", "list jobs, or show what each rank of a job waits for");
  auto job = std::make_shared<std::string>();
  command->add_option("JOB", *job, "the name of a job, as `herald ps` lists it");
  command->callback([job] { job->empty() ? list_jobs() : show_job(*job); });
}

}  // namespace herald::tools
