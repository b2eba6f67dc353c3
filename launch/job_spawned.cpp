// SPDX-License-Identifier: BSD-3-Clause
// launch/job_spawned.cpp: jobs that ranks of a job spawn.
#include "job.hpp"
#include "text.hpp"

namespace herald::launch {

// A request of a rank to start another job.
void Job::start_spawned() {
  while (auto request = pmi_.server().jobs().take_request()) {
    std::string hosts;
    for (const std::string& host : plan_.hosts) hosts += cat(hosts.empty() ? "" : ",", host);
    if (!hosts.empty()) request->text += cat("default_hosts=", hosts, "\n");
    const std::string why = ending_ ? "the job is being ended" : spawned_.start(*request, inherited_);
    if (!why.empty()) pmi_.server().answer(request->asker, PmiJobs::not_started(why));
  }
}

void Job::on_spawned(int id) {
  const SpawnedJobs::Report report = spawned_.on_report(id);
  if (report.id < 0) return;
  pmi_.server().answer(report.asker, report.started
                                         ? PmiJobs::started(id)
                                         : PmiJobs::not_started("the program could not be started"));
}

void Job::on_spawned_exits() {
  for (const SpawnedJobs::End& end : spawned_.take_exits()) {
    pmi_.server().jobs().on_ended(end.id, end.code);
    if (end.had_started && end.code != 0 && !code_) code_ = end.code;
  }
}

}  // namespace herald::launch
