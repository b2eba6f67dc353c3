// SPDX-License-Identifier: BSD-3-Clause
// launch/job_output.cpp: copies the ranks' output to mpiexec's own streams, with back-pressure.
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "job.hpp"
#include "text.hpp"

namespace herald::launch {

void Job::read_output(int rank, int which) {
  const auto at = static_cast<std::size_t>(which);
  Rank& state = ranks_[static_cast<std::size_t>(rank)];
  Stream& stream = streams_[at];
  if (state.out[at] < 0) return;
  if (!stream.mux->accepts(
          rank)) {  // unwatched until there is room: epoll would report EPOLLHUP all the time
    unwatch(state.out[at]);
    state.watched[at] = false;
    paused_.emplace_back(rank, which);
    return;
  }
  // A process that outlives the job may write without end, so draining takes no more than the pipe held.
  const auto most = drained_ ? static_cast<std::size_t>(state.undrained[at]) : read_buffer_.size();
  const ssize_t n = read(state.out[at], read_buffer_.data(), std::min(most, read_buffer_.size()));
  if (n > 0) {
    stream.mux->on_bytes(rank, {read_buffer_.data(), static_cast<std::size_t>(n)}, now_);
    if (drained_) state.undrained[at] -= static_cast<int>(n);
  } else if (n == 0 || (errno != EINTR && (drained_ || errno != EAGAIN))) {
    close_output(rank, which);
  }
}

void Job::close_output(int rank, int which) {
  const auto at = static_cast<std::size_t>(which);
  Rank& state = ranks_[static_cast<std::size_t>(rank)];
  if (state.out[at] < 0) return;
  if (state.watched[at]) unwatch(state.out[at]);
  close(std::exchange(state.out[at], -1));
  state.watched[at] = false;
  streams_[at].mux->on_end(rank);
  if (--open_outputs_ == 0 && alive_ == 0) drain();
}

void Job::flush_output() {
  bool moved = true;
  while (moved) {
    moved = false;
    for (int which = 0; which < 2; ++which) {
      Stream& stream = streams_[static_cast<std::size_t>(which)];
      if (stream.broken) stream.mux->ready().clear();
      if (stream.sink->empty() && !stream.mux->ready().empty()) stream.sink->push(stream.mux->ready());
      if (stream.sink->empty()) continue;
      const Sink::Result result = stream.sink->flush();
      if (result == Sink::Result::broken) on_broken_stream(which);
      moved = moved || result != Sink::Result::blocked;
    }
  }
  for (std::size_t i = 0; i < sinks_.size(); ++i) {
    const bool wait = !sinks_[i]->empty();
    if (wait != sink_watched_[i]) {
      if (wait)
        watch(sinks_[i]->fd(), EPOLLOUT, Tag::sink, static_cast<int>(i), 0);
      else
        unwatch(sinks_[i]->fd());
      sink_watched_[i] = wait;
    }
  }
  if (!paused_.empty()) resume_paused();
}

// The reader has closed the stream. Ranks that go on writing get SIGPIPE, as in a shell's pipeline.
void Job::on_broken_stream(int which) {
  Sink* sink = streams_[static_cast<std::size_t>(which)].sink;
  const int error = sink->error();
  for (int i = 0; i < 2; ++i) {
    Stream& stream = streams_[static_cast<std::size_t>(i)];
    if (stream.sink != sink || stream.broken) continue;
    stream.broken = true;
    for (int rank = 0; rank < plan_.size; ++rank) close_output(rank, i);
    stream.mux->ready().clear();
  }
  if (error != EPIPE) {
    const char* name = which == 0 ? "standard output" : "standard error";
    fail(1, cat("cannot write to ", name, ": ", std::strerror(error)));
    if (!ending_) end_job(0);
  }
}

void Job::resume_paused() {
  auto waiting = std::exchange(paused_, {});
  for (const auto& [rank, which] : waiting) {
    const auto at = static_cast<std::size_t>(which);
    Rank& state = ranks_[static_cast<std::size_t>(rank)];
    if (state.out[at] < 0) continue;
    if (!streams_[at].mux->accepts(rank)) {
      paused_.emplace_back(rank, which);
      continue;
    }
    watch(state.out[at], EPOLLIN, Tag::output, rank, which);
    state.watched[at] = true;
  }
}

// All ranks have exited: reads what the pipes hold, and waits for no other process.
void Job::drain() {
  drain_at_.reset();
  if (!drained_) {
    drained_ = true;
    signal_groups(SIGKILL);
    for (Rank& rank : ranks_)
      for (std::size_t at = 0; at < 2; ++at)
        if (rank.out[at] >= 0) ioctl(rank.out[at], FIONREAD, &rank.undrained[at]);
  }
  for (int rank = 0; rank < plan_.size; ++rank) {
    for (int which = 0; which < 2; ++which) {
      const auto at = static_cast<std::size_t>(which);
      while (ranks_[static_cast<std::size_t>(rank)].out[at] >= 0 && streams_[at].mux->accepts(rank))
        read_output(rank, which);
    }
  }
  if (open_outputs_ > 0)
    drain_at_ = now_ + 20;  // the reader of our output is slow: continue when there is room
  else
    for (Stream& stream : streams_) stream.mux->on_all_ended();
}

}  // namespace herald::launch
