// SPDX-License-Identifier: BSD-3-Clause
// launch/job_reports.cpp: what mpiexec tells of a running job: why ranks wait, their stacks, the table of
// ranks for debuggers, and which MPI library they have loaded.
#include <signal.h>

#include <algorithm>
#include <set>
#include <utility>

#include "debugger.hpp"
#include "job.hpp"
#include "mpir.hpp"
#include "text.hpp"
#include "watch/read_ranks.hpp"

namespace herald::launch {
namespace {

constexpr Millis kAnswerTime = 700;        // for hosts that say what their ranks wait for
constexpr Millis kStackTime = 5000;        // for the debugger that prints the stack of one rank
constexpr Millis kMostStackTime = 30'000;  // for all ranks of a host
constexpr Millis kOwnStackTime = 500;      // for ranks that print their own stack

const AppPlan& app_of(const JobPlan& plan, int rank) {
  std::size_t app = 0;
  for (int ranks = plan.apps[0].count; ranks <= rank; ranks += plan.apps[app].count) ++app;
  return plan.apps[app];
}

// By a debugger, or else by the ranks themselves, which takes the time that is returned.
Millis report_stacks(const JobPlan& plan, const Children& children, OutputForwarder& output) {
  Millis left = kMostStackTime, answers = 0;
  for (int rank = 0; rank < plan.size; ++rank) {
    if (!children.is_alive(rank)) continue;
    const Millis begin = clock_now();
    const auto lines = left > 0 ? stacks_of(children.pid(rank), static_cast<int>(std::min(left, kStackTime)))
                                : std::vector<std::string>{};
    left -= clock_now() - begin;
    if (!lines.empty()) output.report(cat("mpiexec: ", "stack of ", children.describe(rank), ":"));
    for (const std::string& line : lines) output.report("  " + line);
    if (!lines.empty()) continue;
    if (children.signal_if_caught(rank, stack_signal()))
      answers = kOwnStackTime;
    else
      output.report(cat("mpiexec: ", "no stack of ", children.describe(rank),
                        ": gdb is not installed or not allowed to attach, and it has not called MPI_Init"));
  }
  return answers;
}

}  // namespace

// Some time after the start: which MPI library have ranks loaded that did not contact us?
void Job::look_at_libraries() {
  foreign_.due.reset();
  for (int rank = 0; rank < plan_.size && foreign_.name().empty(); ++rank)
    if (children_.is_alive(rank) && !pmi_.server().initialized(rank)) foreign_.look_at(children_.pid(rank));
}

// At the end: no rank contacted us, and the program needs another MPI library. Each rank was alone then.
void Job::check_foreign() {
  if (plan_.world_size() < 2 || code_ || ending_ || has_links()) return;
  for (int rank = 0; rank < plan_.size; ++rank)
    if (pmi_.server().initialized(rank)) return;
  for (const AppPlan& app : plan_.apps)
    if (foreign_.name().empty()) foreign_.look_at(app.path);
  if (foreign_.name().empty()) return;
  fail(1, cat("the ", plan_.size, " processes on ", plan_.host,
              " never contacted mpiexec: ", plan_.apps[0].argv[0], " uses ", foreign_.name(),
              ", so each of them was rank 0 of 1; compile it with the mpicc beside this mpiexec, or "
              "start it with the mpiexec of that library"));
}

// Prints for each rank why it waits, if one of them has waited for so long.
Millis Job::report_waits(Millis least) {
  if (has_links()) {  // each host looks at its own ranks
    children_.signal_alive(SIGUSR1);
    return plan_.debug.stack_traces ? kMostStackTime : kAnswerTime;
  }
  std::vector<watch::RankView> views = watch::read_ranks(plan_.job_id);
  bool wanted = least == 0;
  std::set<int> seen;
  for (const watch::RankView& view : views) {
    seen.insert(view.rank);
    for (const ShownWait& wait : view.waits)
      wanted = wanted || view.read_ns - wait.since_ns >= least * 1'000'000;
  }
  if (!wanted) return 0;
  for (const std::string& line : watch::job_text(std::move(views))) report(line);
  for (int rank = 0; rank < plan_.size; ++rank)
    if (seen.count(plan_.number_of(rank)) == 0 && children_.is_alive(rank) &&
        !pmi_.server().initialized(rank))
      report(cat(children_.describe(rank), ": has not called MPI_Init"));
  if (!plan_.debug.stack_traces || least != 0) return 0;
  const Millis answers = report_stacks(plan_, children_, output_);
  now_ = clock_now();
  return answers;
}

// For the table of debuggers: our ranks, when they `have_started`; else what hosts tell of theirs.
void Job::show_ranks_to_debuggers(bool have_started) {
  PmiServer& pmi = pmi_.server();
  std::vector<StartedRank> started = pmi.take_started();
  for (int rank = 0; have_started && !has_links() && rank < plan_.size; ++rank)
    started.push_back({plan_.number_of(rank), children_.pid(rank), plan_.host, app_of(plan_, rank).path});
  for (const StartedRank& each : started)
    if (plan_.upstream >= 0)
      pmi.report_started(each);
    else
      add_to_process_table(each.rank, has_links() ? plan_.links.ranks : plan_.size, each.host, each.path,
                           each.pid);
}

}  // namespace herald::launch
