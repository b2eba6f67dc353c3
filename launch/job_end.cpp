// SPDX-License-Identifier: BSD-3-Clause
// launch/job_end.cpp: handles signals, exits of ranks and aborts, and decides when the job ends.
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "job.hpp"
#include "text.hpp"

namespace herald::launch {

std::string Job::describe(int rank) const {
  return cat("rank ", rank, " (pid ", ranks_[static_cast<std::size_t>(rank)].pid, ") on ", plan_.host);
}

void Job::report(const std::string& text) { streams_[1].mux->add_message(cat("mpiexec: ", text)); }

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

void Job::signal_groups(int number) {
  for (const Rank& rank : ranks_)
    if (rank.pid > 0) kill(-rank.pid, number);
}

void Job::on_signals() {
  signalfd_siginfo info{};
  while (read(signals_, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    const int number = static_cast<int>(info.ssi_signo);
    switch (number) {
      case SIGCHLD: reap(static_cast<pid_t>(info.ssi_pid)); break;
      case SIGUSR1:
      case SIGUSR2:
        for (const Rank& rank : ranks_)
          if (rank.alive) kill(rank.pid, number);
        break;
      case SIGTSTP:
        signal_groups(SIGSTOP);
        raise(SIGSTOP);
        break;
      case SIGCONT: signal_groups(SIGCONT); break;
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
  if (plan_.verbose || !plan_.quiet)
    report(cat("ending ", alive_, alive_ == 1 ? " rank" : " ranks", " after ", strsignal(number), " (signal ",
               number, "); a second signal kills them"));
  if (!code_) code_ = 128 + number;
  if (alive_ == 0) give_up_at_ = now_ + kDrain;
  end_job(0);
  if (term_at_) {
    term_at_ = now_;
    kill_at_ = now_ + kGrace;
  }
}

// Signals merge, so one SIGCHLD may report several exits, of which the named one came first. Exits by signal
// come next: an exit with a code is more often their consequence than their cause.
void Job::reap(pid_t first) {
  struct Exit {
    int rank, code;
    bool by_signal;
  };
  std::vector<Exit> named, by_signal, others;
  for (int rank = 0; rank < plan_.size; ++rank) {
    Rank& state = ranks_[static_cast<std::size_t>(rank)];
    if (!state.alive) continue;
    siginfo_t info{};
    if (waitid(P_PID, static_cast<id_t>(state.pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0) continue;
    if (info.si_pid == 0) continue;
    state.alive = false;
    --alive_;
    const Exit ended{rank, info.si_status, info.si_code != CLD_EXITED};
    (state.pid == first ? named : ended.by_signal ? by_signal : others).push_back(ended);
  }
  for (const auto* list : {&named, &by_signal, &others})
    for (const Exit& ended : *list) on_exit(ended.rank, ended.code, ended.by_signal);
  if (alive_ > 0 || (named.empty() && by_signal.empty() && others.empty())) return;
  // The last rank has exited.
  if (user_ended_) give_up_at_ = now_ + kDrain + kGrace;
  term_at_.reset();
  timeout_at_.reset();
  if (open_outputs_ == 0)
    drain();
  else
    drain_at_ = ending_ ? kill_at_.value_or(now_) : now_ + kDrain;
}

void Job::on_exit(int rank, int code, bool by_signal) {
  read_pmi(rank);  // may hold an abort or a finalize
  pmi_.on_exit(rank);
  if (input_) input_->on_rank_end(rank);
  check_pmi();
  const bool in_mpi = pmi_.initialized(rank) && !pmi_.finalized(rank);
  if (plan_.verbose)
    report(cat(describe(rank), by_signal ? " ended by signal " : " exited with code ", code));
  if (by_signal) {
    if (!ending_ || term_at_)
      fail(128 + code, cat(describe(rank), " ended by signal ", code, " (", strsignal(code), ")"));
    if (!plan_.keep_going) end_job(0);
  } else if (code != 0) {
    if (!ending_ || term_at_) fail(code, cat(describe(rank), " exited with code ", code));
    if (!plan_.keep_going) end_job(in_mpi ? 0 : kExitDelay);
  } else if (in_mpi && alive_ > 0 && !ending_ && !plan_.keep_going) {
    unfinalized_rank_ = rank;
    end_job(kExitDelay);
  }
}

void Job::check_pmi() {
  if (pmi_.aborted()) {
    const PmiAbort& abort = *pmi_.aborted();
    const int code = abort.code & 0xff;
    fail(code == 0 && abort.code != 0 ? 1 : code,
         cat(describe(abort.rank), " called MPI_Abort with code ", abort.code,
             abort.message.empty() ? "" : ": ", abort.message));
    end_job(0);
  }
  if (ending_ && !term_at_) return;
  if (const auto stalled = pmi_.stalled_barrier()) {
    fail(1, cat(describe(stalled->missing), " ended while rank ", stalled->waiting,
                " waits for it in a barrier (it did not call MPI_Finalize, or never MPI_Init)"));
    end_job(0);
  }
}

}  // namespace herald::launch
