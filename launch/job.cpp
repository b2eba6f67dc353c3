// SPDX-License-Identifier: BSD-3-Clause
// launch/job.cpp: the event loop of a job, and its PMI sockets.
#include "job.hpp"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "machine.hpp"
#include "text.hpp"

namespace herald::launch {
namespace {

constexpr std::size_t kReadBytes = 64 * 1024;
constexpr std::size_t kPmiOutLimit = 1
                                     << 20;  // back-pressure: a rank must read its replies before it asks on

std::vector<int> apps_of_ranks(const JobPlan& plan) {
  std::vector<int> out;
  for (std::size_t a = 0; a < plan.apps.size(); ++a)
    out.insert(out.end(), static_cast<std::size_t>(plan.apps[a].count), static_cast<int>(a));
  return out;
}

}  // namespace

Job::Job(JobPlan plan)
    : plan_(std::move(plan)),
      ranks_(static_cast<std::size_t>(plan_.size)),
      pmi_(cat("kvs_", plan_.job_id), apps_of_ranks(plan_), plan_.universe),
      read_buffer_(kReadBytes) {}

Job::~Job() {
  signal_groups(SIGKILL);
  for (const Rank& rank : ranks_)
    if (rank.pid > 0) waitpid(rank.pid, nullptr, 0);
}

Millis Job::now() const {
  using namespace std::chrono;
  return duration_cast<milliseconds>(steady_clock::now().time_since_epoch()).count();
}

int Job::run() {
  now_ = now();
  raise_file_limit();
  epoll_ = epoll_create1(EPOLL_CLOEXEC);
  null_ = open("/dev/null", O_RDWR | O_CLOEXEC);
  pmi_as_ = fcntl(null_, F_DUPFD_CLOEXEC, 3);  // reserves the number of the ranks' PMI socket
  if (epoll_ < 0 || null_ < 0 || pmi_as_ < 0)
    throw std::runtime_error(cat("cannot open /dev/null or an epoll descriptor: ", std::strerror(errno)));
  for (AppPlan& app : plan_.apps) {
    app.env.push_back(cat("PMI_FD=", pmi_as_));
    app.env.push_back(cat("PMI_SIZE=", plan_.size));
    app.env.push_back(cat("MPI_LOCALNRANKS=", plan_.size));
    app.env.push_back(cat("HERALD_JOB_ID=", plan_.job_id));
    app.env.push_back(cat("HERALD_JOB_KEY=", plan_.job_key));
  }
  block_signals();
  open_streams();
  if (plan_.timeout_s > 0) timeout_at_ = now_ + plan_.timeout_s * 1000;
  if (start_all()) {
    std::vector<pid_t> groups;
    for (const Rank& rank : ranks_) groups.push_back(rank.pid);
    guard_.start(groups, plan_.job_id);
  } else {
    end_job(0);
    kill_at_ = now_;  // no rank has started its work
  }
  on_timers();
  flush_output();
  while (!finished()) run_once();
  return finish();
}

void Job::watch(int fd, unsigned events, Tag tag, int rank, int which) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = static_cast<std::uint64_t>(tag) << 40 | static_cast<std::uint64_t>(which) << 32 |
                   static_cast<std::uint32_t>(rank);
  if (epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) != 0 && errno == EEXIST)
    epoll_ctl(epoll_, EPOLL_CTL_MOD, fd, &event);
}

void Job::unwatch(int fd) { epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr); }

int Job::wait_ms() const {
  std::optional<Millis> first;
  const auto sooner = [&](const std::optional<Millis>& at) {
    if (at && (!first || *at < *first)) first = at;
  };
  for (const auto& at : {timeout_at_, term_at_, kill_at_, drain_at_}) sooner(at);
  if (alive_ == 0) sooner(give_up_at_);
  if (input_) sooner(input_->next_deadline());
  for (const Stream& stream : streams_)
    if (stream.sink->empty()) sooner(stream.mux->next_deadline());
  if (!first) return -1;
  return static_cast<int>(std::clamp<Millis>(*first - now(), 0, 1000 * 1000));
}

void Job::run_once() {
  std::array<epoll_event, 128> events;
  const int count = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), wait_ms());
  now_ = now();
  // Exits first: errors that other ranks report are often consequences of an exit.
  for (int i = 0; i < count; ++i)
    if (events[static_cast<std::size_t>(i)].data.u64 >> 40 == static_cast<std::uint64_t>(Tag::signals))
      on_signals();
  for (int i = 0; i < count; ++i)
    dispatch(events[static_cast<std::size_t>(i)].events, events[static_cast<std::size_t>(i)].data.u64);
  flush_pmi();
  check_pmi();
  on_timers();
  flush_output();
}

void Job::dispatch(unsigned events, std::uint64_t data) {
  const int rank = static_cast<int>(data & 0xffffffffU);
  const int which = static_cast<int>(data >> 32 & 0xff);
  switch (static_cast<Tag>(data >> 40)) {
    case Tag::signals: break;
    case Tag::pmi:
      if (events & EPOLLOUT) write_pmi(rank);
      if (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) read_pmi(rank);
      break;
    case Tag::output: read_output(rank, which); break;
    case Tag::sink: break;  // run_once() calls flush_output()
    case Tag::input_source:
      if (input_) input_->on_source(now_);
      break;
    case Tag::input_target:
      if (input_) input_->on_target(rank);
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
    if (unfinalized_rank_ >= 0 && !code_ && alive_ > 0)
      fail(1, cat(describe(unfinalized_rank_), " exited with code 0 without MPI_Finalize; ending the job"));
    signal_groups(SIGTERM);
    signal_groups(SIGCONT);
  }
  if (kill_at_ && *kill_at_ <= now_) {
    kill_at_.reset();
    signal_groups(SIGKILL);
  }
  if (input_) input_->on_time(now_);
  for (Stream& stream : streams_)
    if (stream.sink->empty()) stream.mux->on_time(now_);
  const bool nothing_left = alive_ == 0 && open_outputs_ == 0 && !drained_;
  if (nothing_left || (drain_at_ && *drain_at_ <= now_ && alive_ == 0)) drain();
}

void Job::read_pmi(int rank) {
  Rank& state = ranks_[static_cast<std::size_t>(rank)];
  while (state.pmi >= 0 && pmi_.output(rank).size() < kPmiOutLimit) {
    const ssize_t n = read(state.pmi, read_buffer_.data(), read_buffer_.size());
    if (n > 0) {
      pmi_.on_bytes(rank, {read_buffer_.data(), static_cast<std::size_t>(n)});
      if (static_cast<std::size_t>(n) < read_buffer_.size())
        return;  // level-triggered epoll reports the rest
    } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
      close_pmi(rank);
    } else if (errno == EAGAIN) {
      return;
    }
  }
}

void Job::flush_pmi() {
  for (int rank : pmi_.take_dirty()) write_pmi(rank);
}

void Job::write_pmi(int rank) {
  Rank& state = ranks_[static_cast<std::size_t>(rank)];
  std::string& out = pmi_.output(rank);
  while (state.pmi >= 0 && !out.empty()) {
    const ssize_t n = send(state.pmi, out.data(), out.size(), MSG_NOSIGNAL);
    if (n >= 0) {
      out.erase(0, static_cast<std::size_t>(n));
    } else if (errno == EAGAIN) {
      break;
    } else if (errno != EINTR) {
      out.clear();  // the rank has closed its end; what it sent before can still be read
    }
  }
  const bool writing = state.pmi >= 0 && !out.empty();
  if (state.pmi >= 0 && writing != state.pmi_writing) {
    unwatch(state.pmi);
    watch(state.pmi, writing ? EPOLLOUT : EPOLLIN, Tag::pmi, rank, 0);
    state.pmi_writing = writing;
  }
}

void Job::close_pmi(int rank) {
  Rank& state = ranks_[static_cast<std::size_t>(rank)];
  if (state.pmi < 0) return;
  unwatch(state.pmi);
  close(std::exchange(state.pmi, -1));
}

bool Job::finished() const {
  if (alive_ > 0) return false;
  if (give_up_at_ && *give_up_at_ <= now_) return true;
  if (open_outputs_ > 0) return false;
  for (const Stream& stream : streams_)
    if (!stream.sink->empty() || !stream.mux->ready().empty()) return false;
  return drained_;
}

int Job::finish() {
  signal_groups(SIGKILL);  // processes that the ranks started and left
  for (Rank& rank : ranks_) {
    if (rank.pid > 0) waitpid(rank.pid, nullptr, 0);
    rank.pid = -1;
  }
  guard_.stop();
  remove_job_files(plan_.job_id);
  return code_.value_or(0);
}

}  // namespace herald::launch
