// SPDX-License-Identifier: BSD-3-Clause
#include "job.hpp"

#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <utility>

#include "machine.hpp"
#include "mpir.hpp"
#include "rank_starter.hpp"
#include "text.hpp"
#include "watch/read_ranks.hpp"

namespace herald::launch {
namespace {

constexpr Millis kLongWait = 1000;  // ranks that wait so long may be why the user ends the job
constexpr Millis kLookAfter = 300;  // ranks that have not called MPI_Init by then may use another library
constexpr Millis kNotice = 2000;    // a start that takes so long says how far it is
constexpr Millis kDrainAgain = 20;  // the reader of mpiexec's output is slow

Inherited with_raised_file_limit(const JobPlan& plan) {
  Inherited inherited;
  raise_file_limit(plan, inherited);
  return inherited;
}

}  // namespace

Millis clock_now() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(steady_clock::now().time_since_epoch()).count();
}

Job::Job(JobPlan plan)
    : plan_(std::move(plan)),
      inherited_(with_raised_file_limit(plan_)),
      signals_(inherited_),
      children_(plan_),
      pmi_(poller_, PmiServer(cat("kvs_", plan_.job_id), plan_.apps_of_ranks(), plan_.universe),
           static_cast<std::size_t>(plan_.size)),
      aborted_(plan_, children_, pmi_.server()),
      output_(poller_, plan_),
      waits_(plan_, children_, pmi_.server(), output_),
      spawned_(poller_),
      now_(clock_now()) {
  poller_.watch(signals_.fd(), EPOLLIN, Tag::signals);
  if (has_links()) pmi_.server().serve_hosts();
  if (plan_.upstream < 0) return;
  pmi_.server().use_upstream(plan_.mapping);
  poller_.watch(plan_.upstream, EPOLLIN, Tag::upstream);
}

int Job::run() {
  if (plan_.timeout_s > 0) at_.timeout = now_ + plan_.timeout_s * 1000;
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
    at_.kill = now_;  // no rank has started its work
  } else {
    guard_.start(children_.groups(), plan_.job_id);
    if (plan_.world_size() > 1 && !has_links()) foreign_.due = now_ + kLookAfter;
    if (has_links() && plan_.upstream < 0 && !plan_.quiet && isatty(STDERR_FILENO))
      at_.notice = now_ + kNotice;
    for (std::size_t host = 0; host < plan_.messages.size(); ++host)
      pmi_.server().reply(static_cast<int>(host), plan_.messages[host]);
    show_ranks_to_debuggers(true);
    pmi_.flush();
    write_upstream();
    report_spawned();
  }
}

int Job::wait_ms() const {
  std::optional<Millis> first;
  const auto sooner = [&](const std::optional<Millis>& at) {
    if (at && (!first || *at < *first)) first = at;
  };
  for (const auto& at : {at_.notice, at_.timeout, foreign_.due, at_.term, at_.kill, at_.drain,
                         output_.next_deadline(), aborted_.next_deadline(), waits_.next_deadline()})
    sooner(at);
  if (children_.alive() == 0) sooner(at_.give_up);
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
  spawned_.start_requested(pmi_.server(), plan_, ending_, inherited_);
  check_pmi();
  on_timers();
  pmi_.flush();
  write_upstream();
  flush_output();
}

void Job::dispatch(const Ready& ready) {
  switch (ready.tag) {
    case Tag::signals: break;
    case Tag::pmi: pmi_.on_ready(ready.rank, ready.events); break;
    case Tag::upstream: read_upstream(); break;
    case Tag::spawned: spawned_.on_report(pmi_.server(), ready.rank); break;
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
  if (at_.timeout && *at_.timeout <= now_) {
    at_.timeout.reset();
    user_ended_ = true;
    if (!ending_)
      waits_.ask(now_, 0, [this](Millis stacks) {
        fail(kTimeoutCode, cat("timeout: the job did not end within ", plan_.timeout_s,
                               " seconds (--timeout or MPIEXEC_TIMEOUT); ending it"));
        end_job(stacks);
      });
  }
  waits_.on_time(now_);
  if (at_.notice && *at_.notice <= now_) say_who_has_answered();
  if (foreign_.due && *foreign_.due <= now_) look_at_libraries();
  if (at_.term && *at_.term <= now_) {
    at_.term.reset();
    if (unfinalized_rank_ >= 0 && !code_ && children_.alive() > 0)
      fail(1, cat(children_.describe(unfinalized_rank_),
                  " exited with code 0 without MPI_Finalize; ending the job"));
    children_.signal_groups(SIGTERM);
    children_.signal_groups(SIGCONT);
    spawned_.signal(SIGTERM);
  }
  if (at_.kill && *at_.kill <= now_) {
    at_.kill.reset();
    children_.signal_groups(SIGKILL);
  }
  aborted_.on_time(now_);
  if (input_) input_->on_time(now_);
  output_.on_time(now_);
  if (at_.drain && *at_.drain <= now_ && children_.alive() == 0) drain();
}

void Job::on_signals() {
  while (const auto info = signals_.next()) {
    const int number = static_cast<int>(info->ssi_signo);
    switch (number) {
      case SIGCHLD: on_exits(static_cast<pid_t>(info->ssi_pid)); break;
      case SIGUSR1:
        if (plan_.upstream < 0) waits_.ask(now_, 0, {});  // else the mpiexec of the whole job asks
        watch::want_timelines(plan_.job_id);
        has_links() ? children_.signal_alive(number) : children_.signal_catching(number);
        break;
      case SIGUSR2: children_.signal_alive(number); break;
      case SIGTSTP:
        if (!has_links()) children_.signal_groups(SIGSTOP);  // links keep their hosts' parts alive
        raise(SIGSTOP);
        break;
      case SIGCONT: children_.signal_groups(SIGCONT); break;
      default: on_user_signal(number); break;
    }
  }
}

void Job::on_user_signal(int number) {
  if (user_ended_) {  // the second signal
    at_.kill = now_;
    at_.term.reset();
    at_.give_up = now_;
    return;
  }
  user_ended_ = true;
  const bool explains = !plan_.quiet && !ending_ && plan_.upstream < 0;
  if (!code_) code_ = 128 + number;
  if (children_.alive() == 0) at_.give_up = now_ + kDrain;
  const auto end = [this, number](Millis) {
    const int alive = children_.alive();
    if (plan_.verbose || !plan_.quiet)
      report(cat("ending ", alive, alive == 1 ? " rank" : " ranks", " after ", strsignal(number), " (signal ",
                 number, "); a second signal kills them"));
    end_job(0);
    if (at_.term) {
      at_.term = now_;
      at_.kill = now_ + grace();
    }
  };
  if (explains)
    waits_.ask(now_, kLongWait, end);
  else
    end(0);
}

void Job::on_exits(pid_t first) {
  if (const int code = spawned_.take_exits(&pmi_.server().jobs()); code != 0 && !code_) code_ = code;
  const std::vector<Exit> exits = children_.take_exits(first);
  for (const Exit& exit : exits) on_exit(exit);
  if (children_.alive() > 0 || exits.empty()) return;
  // The last rank has exited.
  waits_.finish();
  if (user_ended_) at_.give_up = now_ + kDrain + kGrace;
  at_.term.reset();
  at_.timeout.reset();
  at_.drain = ending_ ? at_.kill.value_or(now_) : now_ + kDrain;
}

void Job::on_exit(const Exit& exit) {
  const auto [rank, code, by_signal] = exit;
  codes_[plan_.number_of(rank)] = cat(by_signal ? "signal " : "code ", code);
  pmi_.on_exit(rank);
  if (input_) input_->on_rank_end(rank);
  check_pmi();
  if (has_links() && (by_signal || code != 0)) return on_host_failed(exit);
  if (aborted_.contains(rank)) return;
  const PmiServer& pmi = pmi_.server();
  const bool in_mpi = pmi.initialized(rank) && !pmi.finalized(rank);
  const std::string who = children_.describe(rank);
  if (plan_.verbose) report(cat(who, by_signal ? " ended by signal " : " exited with code ", code));
  if (by_signal) {
    if (!ending_ || at_.term)
      fail(128 + code, cat(who, " ended by signal ", code, " (", strsignal(code), ")"));
    if (!plan_.keep_going) end_job(0);
  } else if (code != 0) {
    if (!ending_ || at_.term) fail(code, cat(who, " exited with code ", code));
    if (!plan_.keep_going) end_job(in_mpi ? 0 : kExitDelay);
  } else if (in_mpi && children_.alive() > 0 && !ending_ && !plan_.keep_going) {
    unfinalized_rank_ = rank;
    end_job(kExitDelay);
  }
}

// The link or the host's own mpiexec has said why.
void Job::on_host_failed(const Exit& exit) {
  if (exit.by_signal && !ending_) fail(1, cat(children_.describe(exit.rank), ": its connection was killed"));
  if (!code_) code_ = exit.by_signal ? 1 : exit.code;
  if (!plan_.keep_going) end_job(0);
}

void Job::read_upstream() {
  std::array<char, 65536> buffer;
  const ssize_t n = recv(plan_.upstream, buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (n > 0) {
    pmi_.server().on_upstream({buffer.data(), static_cast<std::size_t>(n)});
    return waits_.answer();
  }
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  poller_.unwatch(plan_.upstream);  // the connection has ended
  if (!code_) code_ = 1;
  end_job(0);
}

void Job::write_upstream() {
  std::string text = pmi_.server().take_upward();
  while (plan_.upstream >= 0 && !text.empty()) {
    const ssize_t n = send(plan_.upstream, text.data(), text.size(), MSG_NOSIGNAL);
    if (n < 0 && errno != EINTR) return;
    if (n > 0) text.erase(0, static_cast<std::size_t>(n));
  }
}

void Job::check_pmi() {
  if (has_links()) show_ranks_to_debuggers(false);
  aborted_.take(now_, kGrace);
  const PmiServer& pmi = pmi_.server();
  if (pmi.aborted()) {
    const PmiAbort& abort = *pmi.aborted();
    std::string text = abort.by_exit ? cat(" exited with code ", abort.code, " without MPI_Finalize")
                                     : cat(" called MPI_Abort with code ", abort.code);
    if (abort.status != abort.code) text += cat("; the exit status is ", abort.status);
    const bool printed = abort.message.starts_with("herald: ");  // by the rank itself
    if (!abort.message.empty() && !printed) text += ": " + abort.message;
    fail(abort.status, children_.describe(abort.rank) + text);
    end_job(0);
  }
  if (ending_ && !at_.term) return;
  if (const auto stalled = pmi.stalled_barrier()) {
    fail(1, cat(children_.describe(stalled->missing), " ended while ",
                has_links() ? children_.describe(stalled->waiting)
                            : cat("rank ", plan_.number_of(stalled->waiting)),
                " waits for it in a barrier (it did not call MPI_Finalize, or never MPI_Init)"));
    end_job(0);
  }
}

void Job::fail(int code, const std::string& message) {
  if (code_) return;  // the first failure decides the exit code
  code_ = code;
  show_abort_to_debuggers(message);
  output_.read_all(now_);  // the rank's own words come first
  if (plan_.keep_going || user_ended_)
    report(message);
  else
    summary_ = message;
}

// The summary is the last line: the words of all ranks precede it.
void Job::report_summary() {
  if (!code_) summary_ = aborted_.summary();
  if (!summary_.empty()) report(std::exchange(summary_, {}));
}

void Job::end_job(Millis delay) {
  const Millis at = now_ + delay;
  if (!ending_ || (at_.term && at < *at_.term)) {
    at_.term = at;
    at_.kill = at + grace();
  }
  ending_ = true;
}

// All ranks have exited: ends the processes that they started, and reads what the pipes hold.
void Job::drain() {
  at_.drain.reset();
  if (!output_.is_drained()) children_.signal_groups(SIGKILL);
  drained_ = output_.drain(now_);
  if (drained_ && plan_.output.print_codes)
    for (const auto& [rank, code] : codes_) report(cat("rank ", rank, ": ", code));
  if (drained_) check_foreign();
  if (drained_) report_summary();
  if (!drained_) at_.drain = now_ + kDrainAgain;
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
  if (at_.give_up && *at_.give_up <= now_) return true;
  return drained_ && output_.is_empty() && spawned_.alive() == 0;
}

int Job::finish() {
  if (!summary_.empty()) std::fputs(cat("mpiexec: ", summary_, "\n").c_str(), stderr);
  children_.signal_groups(SIGKILL);  // processes that the ranks started and left
  children_.reap();
  guard_.stop();
  if (plan_.upstream >= 0 && code_.value_or(0) == 0) {
    const std::string end = "cmd=finalize\n";
    (void)!send(plan_.upstream, end.data(), end.size(), MSG_NOSIGNAL);
  }
  remove_job_files(plan_.job_id);
  return code_.value_or(aborted_.status());
}

}  // namespace herald::launch
