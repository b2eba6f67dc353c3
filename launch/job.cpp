// SPDX-License-Identifier: BSD-3-Clause
#include "job.hpp"

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "machine.hpp"
#include "rank_starter.hpp"
#include "text.hpp"

namespace herald::launch {
namespace {

constexpr Millis kDrainAgain = 20;  // the reader of mpiexec's output is slow

Millis clock_now() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(steady_clock::now().time_since_epoch()).count();
}

std::vector<int> apps_of_ranks(const JobPlan& plan) {
  std::vector<int> out;
  for (std::size_t a = 0; a < plan.apps.size(); ++a)
    out.insert(out.end(), static_cast<std::size_t>(plan.apps[a].count), static_cast<int>(a));
  return out;
}

Inherited with_raised_file_limit(const JobPlan& plan) {
  Inherited inherited;
  raise_file_limit(plan, inherited);
  return inherited;
}

}  // namespace

Job::Job(JobPlan plan)
    : plan_(std::move(plan)),
      inherited_(with_raised_file_limit(plan_)),
      signals_(inherited_),
      children_(plan_.size, plan_.host),
      pmi_(poller_, PmiServer(cat("kvs_", plan_.job_id), apps_of_ranks(plan_), plan_.universe),
           static_cast<std::size_t>(plan_.size)),
      output_(poller_, plan_.size, plan_.label),
      now_(clock_now()) {
  poller_.watch(signals_.fd(), EPOLLIN, Tag::signals);
}

int Job::run() {
  if (plan_.timeout_s > 0) timeout_at_ = now_ + plan_.timeout_s * 1000;
  start();
  on_timers();
  flush_output();
  while (!finished()) run_once();
  return finish();
}

void Job::start() {
  RankStarter starter(plan_, inherited_, {poller_, children_, pmi_, output_, input_});
  if (const int code = starter.start_all()) {
    code_ = code;
    end_job(0);
    kill_at_ = now_;  // no rank has started its work
  } else {
    guard_.start(children_.groups(), plan_.job_id);
  }
}

int Job::wait_ms() const {
  std::optional<Millis> first;
  const auto sooner = [&](const std::optional<Millis>& at) {
    if (at && (!first || *at < *first)) first = at;
  };
  for (const auto& at : {timeout_at_, term_at_, kill_at_, drain_at_, output_.next_deadline()}) sooner(at);
  if (children_.alive() == 0) sooner(give_up_at_);
  if (input_) sooner(input_->next_deadline());
  if (!first) return -1;
  return static_cast<int>(std::clamp<Millis>(*first - clock_now(), 0, 1000 * 1000));
}

void Job::run_once() {
  const auto ready = poller_.wait(wait_ms());
  now_ = clock_now();
  // Exits first: errors that other ranks report are often consequences of an exit.
  if (std::any_of(ready.begin(), ready.end(), [](const Ready& each) { return each.tag == Tag::signals; }))
    on_signals();
  for (const Ready& each : ready) dispatch(each);
  pmi_.flush();
  check_pmi();
  on_timers();
  flush_output();
}

void Job::dispatch(const Ready& ready) {
  switch (ready.tag) {
    case Tag::signals: break;
    case Tag::pmi: pmi_.on_ready(ready.rank, ready.events); break;
    case Tag::output: output_.read(ready.rank, ready.which, now_); break;
    case Tag::sink: break;  // run_once() calls flush_output()
    case Tag::input_source:
      if (input_) input_->on_source(now_);
      break;
    case Tag::input_target:
      if (input_) input_->on_target(ready.rank);
      break;
  }
}

void Job::on_timers() {
  if (timeout_at_ && *timeout_at_ <= now_) {
    timeout_at_.reset();
    user_ended_ = true;
    if (!ending_) {
      fail(kTimeoutCode, cat("timeout: the job did not end within ", plan_.timeout_s,
                             " seconds (--timeout or MPIEXEC_TIMEOUT); ending it"));
      end_job(0);
    }
  }
  if (term_at_ && *term_at_ <= now_) {
    term_at_.reset();
    if (unfinalized_rank_ >= 0 && !code_ && children_.alive() > 0)
      fail(1, cat(children_.describe(unfinalized_rank_),
                  " exited with code 0 without MPI_Finalize; ending the job"));
    children_.signal_groups(SIGTERM);
    children_.signal_groups(SIGCONT);
  }
  if (kill_at_ && *kill_at_ <= now_) {
    kill_at_.reset();
    children_.signal_groups(SIGKILL);
  }
  if (input_) input_->on_time(now_);
  output_.on_time(now_);
  if (drain_at_ && *drain_at_ <= now_ && children_.alive() == 0) drain();
}

void Job::on_signals() {
  while (const auto info = signals_.next()) {
    const int number = static_cast<int>(info->ssi_signo);
    switch (number) {
      case SIGCHLD: on_exits(static_cast<pid_t>(info->ssi_pid)); break;
      case SIGUSR1:
      case SIGUSR2: children_.signal_alive(number); break;
      case SIGTSTP:
        children_.signal_groups(SIGSTOP);
        raise(SIGSTOP);
        break;
      case SIGCONT: children_.signal_groups(SIGCONT); break;
      default: on_user_signal(number); break;
    }
  }
}

void Job::on_user_signal(int number) {
  if (user_ended_) {  // the second signal
    kill_at_ = now_;
    term_at_.reset();
    give_up_at_ = now_;
    return;
  }
  user_ended_ = true;
  const int alive = children_.alive();
  if (plan_.verbose || !plan_.quiet)
    report(cat("ending ", alive, alive == 1 ? " rank" : " ranks", " after ", strsignal(number), " (signal ",
               number, "); a second signal kills them"));
  if (!code_) code_ = 128 + number;
  if (alive == 0) give_up_at_ = now_ + kDrain;
  end_job(0);
  if (term_at_) {
    term_at_ = now_;
    kill_at_ = now_ + kGrace;
  }
}

void Job::on_exits(pid_t first) {
  const std::vector<Exit> exits = children_.take_exits(first);
  for (const Exit& exit : exits) on_exit(exit);
  if (children_.alive() > 0 || exits.empty()) return;
  // The last rank has exited.
  if (user_ended_) give_up_at_ = now_ + kDrain + kGrace;
  term_at_.reset();
  timeout_at_.reset();
  drain_at_ = ending_ ? kill_at_.value_or(now_) : now_ + kDrain;
}

void Job::on_exit(const Exit& exit) {
  const auto [rank, code, by_signal] = exit;
  pmi_.on_exit(rank);
  if (input_) input_->on_rank_end(rank);
  check_pmi();
  const PmiServer& pmi = pmi_.server();
  const bool in_mpi = pmi.initialized(rank) && !pmi.finalized(rank);
  const std::string who = children_.describe(rank);
  if (plan_.verbose) report(cat(who, by_signal ? " ended by signal " : " exited with code ", code));
  if (by_signal) {
    if (!ending_ || term_at_)
      fail(128 + code, cat(who, " ended by signal ", code, " (", strsignal(code), ")"));
    if (!plan_.keep_going) end_job(0);
  } else if (code != 0) {
    if (!ending_ || term_at_) fail(code, cat(who, " exited with code ", code));
    if (!plan_.keep_going) end_job(in_mpi ? 0 : kExitDelay);
  } else if (in_mpi && children_.alive() > 0 && !ending_ && !plan_.keep_going) {
    unfinalized_rank_ = rank;
    end_job(kExitDelay);
  }
}

void Job::check_pmi() {
  const PmiServer& pmi = pmi_.server();
  if (pmi.aborted()) {
    const PmiAbort& abort = *pmi.aborted();
    std::string text = abort.by_exit ? cat(" exited with code ", abort.code, " without MPI_Finalize")
                                     : cat(" called MPI_Abort with code ", abort.code);
    if (abort.status != abort.code) text += cat("; the exit status is ", abort.status);
    if (!abort.message.empty()) text += ": " + abort.message;
    fail(abort.status, children_.describe(abort.rank) + text);
    end_job(0);
  }
  if (ending_ && !term_at_) return;
  if (const auto stalled = pmi.stalled_barrier()) {
    fail(1, cat(children_.describe(stalled->missing), " ended while rank ", stalled->waiting,
                " waits for it in a barrier (it did not call MPI_Finalize, or never MPI_Init)"));
    end_job(0);
  }
}

void Job::fail(int code, const std::string& message) {
  if (code_) return;  // the first failure decides the exit code
  code_ = code;
  report(message);
}

void Job::end_job(Millis delay) {
  const Millis at = now_ + delay;
  if (!ending_ || (term_at_ && at < *term_at_)) {
    term_at_ = at;
    kill_at_ = at + kGrace;
  }
  ending_ = true;
}

// All ranks have exited: ends the processes that they started, and reads what the pipes hold.
void Job::drain() {
  drain_at_.reset();
  if (!output_.is_drained()) children_.signal_groups(SIGKILL);
  drained_ = output_.drain(now_);
  if (!drained_) drain_at_ = now_ + kDrainAgain;
}

void Job::flush_output() {
  bool again = true;
  while (again) {
    const std::string failure = output_.flush();
    again = is_over() && !drained_;
    if (again) drain();
    if (failure.empty()) continue;
    fail(1, failure);
    if (!ending_) end_job(0);
    again = true;
  }
}

bool Job::finished() const {
  if (children_.alive() > 0) return false;
  if (give_up_at_ && *give_up_at_ <= now_) return true;
  return drained_ && output_.is_empty();
}

int Job::finish() {
  children_.signal_groups(SIGKILL);  // processes that the ranks started and left
  children_.reap();
  guard_.stop();
  remove_job_files(plan_.job_id);
  return code_.value_or(0);
}

}  // namespace herald::launch
