// SPDX-License-Identifier: BSD-3-Clause
// launch/job_reports.cpp: what mpiexec tells of a running job: the table of ranks for debuggers, and which
// MPI library they have loaded.
#include "job.hpp"
#include "mpir.hpp"
#include "text.hpp"

namespace herald::launch {
namespace {

constexpr Millis kNoticeEvery = 5000;

const AppPlan& app_of(const JobPlan& plan, int rank) {
  std::size_t app = 0;
  for (int ranks = plan.apps[0].count; ranks <= rank; ranks += plan.apps[app].count) ++app;
  return plan.apps[app];
}

}  // namespace

// On a terminal, until all hosts have answered.
void Job::say_who_has_answered() {
  at_.notice.reset();
  int answered = 0;
  for (int host = 0; host < plan_.size; ++host) answered += pmi_.server().initialized(host) ? 1 : 0;
  if (ending_ || answered == plan_.size) return;
  report(cat(answered, " of ", plan_.size, " hosts have answered"));
  at_.notice = now_ + kNoticeEvery;
}

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

// For the table of debuggers: our ranks, when they `have_started`; else what hosts tell of theirs.
void Job::show_ranks_to_debuggers(bool have_started) {
  PmiServer& pmi = pmi_.server();
  std::vector<StartedRank> started = pmi.reports().take_started();
  for (int rank = 0; have_started && !has_links() && rank < plan_.size; ++rank)
    started.push_back({plan_.number_of(rank), children_.pid(rank), plan_.host, app_of(plan_, rank).path});
  for (const StartedRank& each : started)
    if (plan_.upstream >= 0)
      pmi.reports().tell(each);
    else
      add_to_process_table(each.rank, has_links() ? plan_.links.ranks : plan_.size, each.host, each.path,
                           each.pid);
}

}  // namespace herald::launch
