// SPDX-License-Identifier: BSD-3-Clause
#include "forwarder.hpp"

#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>

#include "text.hpp"

namespace herald::launch {
namespace {

constexpr std::size_t kReadBytes = 64 * 1024;

bool are_same_file(int a, int b) {
  struct stat first {
  }, second{};
  return fstat(a, &first) == 0 && fstat(b, &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino && first.st_rdev == second.st_rdev;
}

// "14:03:59.127"
std::string time_of_day() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  tm parts{};
  localtime_r(&now.tv_sec, &parts);
  char text[32];
  std::snprintf(text, sizeof text, "%02d:%02d:%02d.%03ld", parts.tm_hour, parts.tm_min, parts.tm_sec,
                now.tv_nsec / 1'000'000);
  return text;
}

}  // namespace

OutputForwarder::OutputForwarder(Poller& poller, const JobPlan& plan)
    : poller_(poller), pipes_(static_cast<std::size_t>(plan.size) * 2), buffer_(kReadBytes) {
  sinks_.push_back(std::make_unique<Sink>(1));
  if (!are_same_file(1, 2)) sinks_.push_back(std::make_unique<Sink>(2));
  for (std::size_t which = 0; which < 2; ++which) {
    Stream& stream = streams_[which];
    stream.sink = sinks_[std::min(which, sinks_.size() - 1)].get();
    stream.mux = std::make_unique<OutputMux>(plan.size, plan.label, !stream.sink->is_file());
    stream.mux->set_numbers(plan.ranks);
    if (plan.output.timestamps) stream.mux->set_stamp(time_of_day);
  }
  streams_[1].mux->merge_errors();
}

OutputForwarder::~OutputForwarder() {
  for (const Pipe& each : pipes_)
    if (each.fd >= 0) close(each.fd);
}

void OutputForwarder::add(int rank, int out, int err) {
  for (int which = 0; which < 2; ++which) {
    Pipe& own = pipe(rank, which);
    own.fd = which == 0 ? out : err;
    own.watched = true;
    poller_.watch(own.fd, EPOLLIN, Tag::output, rank, which);
    ++open_;
  }
}

void OutputForwarder::read(int rank, int which, Millis now) {
  Pipe& own = pipe(rank, which);
  OutputMux& mux = *streams_[static_cast<std::size_t>(which)].mux;
  if (own.fd < 0) return;
  if (!mux.accepts(rank)) {  // unwatched until there is room: epoll would report EPOLLHUP all the time
    poller_.unwatch(own.fd);
    own.watched = false;
    paused_.emplace_back(rank, which);
    return;
  }
  // A process that outlives the job may write without end, so draining takes no more than the pipe held.
  const auto most = drained_ ? static_cast<std::size_t>(own.undrained) : buffer_.size();
  const ssize_t n = ::read(own.fd, buffer_.data(), std::min(most, buffer_.size()));
  if (n > 0) {
    mux.on_bytes(rank, {buffer_.data(), static_cast<std::size_t>(n)}, now);
    if (drained_) own.undrained -= static_cast<int>(n);
  } else if (n == 0 || (errno != EINTR && (drained_ || errno != EAGAIN))) {
    close_pipe(rank, which);
  }
}

void OutputForwarder::close_pipe(int rank, int which) {
  Pipe& own = pipe(rank, which);
  if (own.fd < 0) return;
  if (own.watched) poller_.unwatch(own.fd);
  close(std::exchange(own.fd, -1));
  own.watched = false;
  streams_[static_cast<std::size_t>(which)].mux->on_end(rank);
  --open_;
}

void OutputForwarder::on_time(Millis now) {
  for (Stream& stream : streams_)
    if (stream.sink->empty()) stream.mux->on_time(now);
}

std::optional<Millis> OutputForwarder::next_deadline() const {
  std::optional<Millis> first;
  for (const Stream& stream : streams_) {
    if (!stream.sink->empty()) continue;
    const auto at = stream.mux->next_deadline();
    if (at && (!first || *at < *first)) first = at;
  }
  return first;
}

std::string OutputForwarder::flush() {
  std::string failure;
  bool moved = true;
  while (moved) {
    moved = false;
    for (int which = 0; which < 2; ++which) {
      Stream& stream = streams_[static_cast<std::size_t>(which)];
      if (stream.broken) stream.mux->ready().clear();
      if (stream.sink->empty() && !stream.mux->ready().empty()) stream.sink->push(stream.mux->ready());
      if (stream.sink->empty()) continue;
      const Sink::Result result = stream.sink->flush();
      if (result == Sink::Result::broken) failure = on_broken_stream(which);
      moved = moved || result != Sink::Result::blocked;
    }
  }
  watch_sinks();
  if (!paused_.empty()) resume_paused();
  return failure;
}

void OutputForwarder::watch_sinks() {
  for (std::size_t i = 0; i < sinks_.size(); ++i) {
    const bool wait = !sinks_[i]->empty();
    if (wait == sink_watched_[i]) continue;
    if (wait)
      poller_.watch(sinks_[i]->fd(), EPOLLOUT, Tag::sink, static_cast<int>(i));
    else
      poller_.unwatch(sinks_[i]->fd());
    sink_watched_[i] = wait;
  }
}

// The reader has closed the stream. Ranks that go on writing get SIGPIPE, as in a shell's pipeline.
std::string OutputForwarder::on_broken_stream(int which) {
  Sink* sink = streams_[static_cast<std::size_t>(which)].sink;
  for (int i = 0; i < 2; ++i) {
    Stream& stream = streams_[static_cast<std::size_t>(i)];
    if (stream.sink != sink || stream.broken) continue;
    stream.broken = true;
    for (int rank = 0; rank < ranks(); ++rank) close_pipe(rank, i);
    stream.mux->ready().clear();
  }
  if (sink->error() == EPIPE) return {};
  return cat("cannot write to ", which == 0 ? "standard output" : "standard error", ": ",
             std::strerror(sink->error()));
}

void OutputForwarder::resume_paused() {
  auto waiting = std::exchange(paused_, {});
  for (const auto& [rank, which] : waiting) {
    Pipe& own = pipe(rank, which);
    if (own.fd < 0) continue;
    if (!streams_[static_cast<std::size_t>(which)].mux->accepts(rank)) {
      paused_.emplace_back(rank, which);
      continue;
    }
    poller_.watch(own.fd, EPOLLIN, Tag::output, rank, which);
    own.watched = true;
  }
}

void OutputForwarder::read_all(Millis now) {
  for (int rank = 0; rank < ranks(); ++rank)
    for (int which = 0; which < 2; ++which) {
      int held = 0;
      const Pipe& own = pipe(rank, which);
      if (own.fd >= 0 && own.watched && ioctl(own.fd, FIONREAD, &held) == 0 && held > 0)
        read(rank, which, now);
    }
}

bool OutputForwarder::drain(Millis now) {
  if (!std::exchange(drained_, true))
    for (Pipe& own : pipes_)
      if (own.fd >= 0) ioctl(own.fd, FIONREAD, &own.undrained);
  for (int rank = 0; rank < ranks(); ++rank)
    for (int which = 0; which < 2; ++which)
      while (pipe(rank, which).fd >= 0 && streams_[static_cast<std::size_t>(which)].mux->accepts(rank))
        read(rank, which, now);
  if (open_ > 0) return false;
  for (Stream& stream : streams_) stream.mux->on_all_ended();
  return true;
}

bool OutputForwarder::is_empty() const {
  for (const Stream& stream : streams_)
    if (!stream.sink->empty() || !stream.mux->ready().empty()) return false;
  return true;
}

}  // namespace herald::launch
