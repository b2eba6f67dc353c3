// SPDX-License-Identifier: BSD-3-Clause
// tools/top.cpp: `herald top`: a live view of a running job, from the counters of its ranks.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <iostream>
#include <memory>
#include <set>
#include <thread>

#include "commands.hpp"
#include "top/frame.hpp"
#include "top/terminal.hpp"
#include "watch/sampler.hpp"
#include "watch/view_json.hpp"

namespace herald::tools {
namespace {

constexpr double kShortest = 0.2, kLongest = 3600;  // seconds between frames

struct TopOptions {
  std::string job;
  bool once = false;
  int feed = -1;  // levels of the tree of links; -1: a view for people
  double interval_s = 1;
};

using Clock = std::chrono::steady_clock;

// The only job, if none is named.
std::string find_job(const std::string& named) {
  if (!named.empty()) return named;
  std::set<std::string> jobs;
  for (const watch::RankView& view : watch::read_ranks("")) jobs.insert(view.job);
  for (std::string& job : watch::linked_jobs()) jobs.insert(std::move(job));
  if (jobs.size() == 1) return *jobs.begin();
  if (jobs.empty()) {
    fmt::print(stderr, "herald top: no MPI job of Herald runs on this host\n");
  } else {
    fmt::print(stderr, "herald top: {} jobs run on this host; name one of:\n", jobs.size());
    for (const std::string& job : jobs) fmt::print(stderr, "  {}\n", job);
  }
  throw CLI::RuntimeError(kNotFound);
}

std::string time_text() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  localtime_r(&now, &parts);
  return fmt::format(", {:02}:{:02}:{:02}", parts.tm_hour, parts.tm_min, parts.tm_sec);
}

[[noreturn]] void refuse(const std::string& job) {
  fmt::print(stderr, "herald top: no job {} on this host; `herald ps` lists the jobs\n", job);
  throw CLI::RuntimeError(kNotFound);
}

void show_once(const TopOptions& options) {
  watch::Sampler sampler(options.job, watch::kAllLevels);
  const std::vector<watch::RankView> before = sampler.sample();
  if (before.empty()) refuse(options.job);
  std::this_thread::sleep_for(std::chrono::duration<double>(options.interval_s));
  const std::vector<watch::RankView> now = sampler.sample();
  if (now.empty()) {
    fmt::print(stderr, "herald top: job {} has ended\n", options.job);
    throw CLI::RuntimeError(kNotFound);
  }
  const top::Frame frame = top::make_frame(before, now, sampler.silent(), "");
  for (const auto* part : {&frame.head, &frame.ranks})
    for (const top::Line& line : *part) fmt::print("{}\n", line.text);
}

// Returns the first line to show after the key.
std::size_t scroll(top::Key key, std::size_t first, std::size_t lines, std::size_t page) {
  switch (key) {
    case top::Key::up: return first > 0 ? first - 1 : 0;
    case top::Key::down: return std::min(first + 1, lines > 0 ? lines - 1 : 0);
    case top::Key::page_up: return first > page ? first - page : 0;
    case top::Key::page_down: return first + page < lines ? first + page : first;
    case top::Key::quit:
    case top::Key::none: break;
  }
  return first;
}

// False: the job has ended.
bool show_live(const TopOptions& options, watch::Sampler& sampler, std::vector<watch::RankView> before) {
  top::Terminal terminal;
  std::size_t first = 0;
  const auto interval =
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options.interval_s));
  top::Frame frame = top::make_frame({}, before, sampler.silent(), time_text());
  auto next = Clock::now() + interval;
  while (true) {
    const auto room = static_cast<std::size_t>(std::max(terminal.rows(), 1));
    const std::size_t page = room > frame.head.size() + 1 ? room - frame.head.size() - 1 : 1;
    first = std::min(first, frame.ranks.size() > page ? frame.ranks.size() - page : 0);
    terminal.draw(frame, first,
                  fmt::format("every {} s; q quits{}", options.interval_s,
                              frame.ranks.size() > page ? "; arrows and space scroll" : ""));
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now()).count();
    const top::Key key = terminal.wait(static_cast<int>(std::max<std::int64_t>(left, 0)));
    if (key == top::Key::quit) return true;
    first = scroll(key, first, frame.ranks.size(), page);
    if (Clock::now() < next) continue;
    next = Clock::now() + interval;
    std::vector<watch::RankView> now = sampler.sample();
    if (now.empty()) return false;
    frame = top::make_frame(before, now, sampler.silent(), time_text());
    before = std::move(now);
  }
}

// Answers each line of standard input with this host's ranks, for `herald top` on another host.
void feed(const TopOptions& options) {
  watch::Sampler sampler(options.job, options.feed);
  std::string line;
  while (std::getline(std::cin, line)) {
    fmt::print("{}\n", watch::to_line(sampler.sample()));
    std::fflush(stdout);
  }
}

void run(TopOptions options) {
  if (options.feed >= 0) return feed(options);
  options.job = find_job(options.job);
  if (options.once || !top::Terminal::is_there()) return show_once(options);
  watch::Sampler sampler(options.job, watch::kAllLevels);
  std::vector<watch::RankView> before = sampler.sample();
  if (before.empty()) refuse(options.job);
  if (!show_live(options, sampler, std::move(before))) fmt::print("job {} has ended\n", options.job);
}

}  // namespace

void add_top(CLI::App& program) {
  CLI::App* command =
      program.add_subcommand("top", "watch a running job: what its ranks do, bytes, messages");
  auto options = std::make_shared<TopOptions>();
  command->add_option("JOB", options->job,
                      "the name of a job, as `herald ps` lists it; default: the only one");
  command->add_flag("--once", options->once, "print one frame as plain text");
  command->add_option("-i,--interval", options->interval_s, "seconds between frames")
      ->check(CLI::Range(kShortest, kLongest));
  command->add_option("--feed", options->feed)->check(CLI::Range(0, watch::kAllLevels))->group("");
  command->callback([options] { run(*options); });
}

}  // namespace herald::tools
