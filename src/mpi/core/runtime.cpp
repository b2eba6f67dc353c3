// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/core/runtime.hpp"

#include <unistd.h>
#include <ctime>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "mpi/core/call.hpp"
#include "path/random.hpp"

extern char** environ;

namespace herald::mpi {

std::atomic<Mode> mode_now{Mode::off};

std::atomic<Runtime*> the_runtime{nullptr};

Runtime& make_runtime() noexcept {
  static Runtime& one = *new Runtime;
  the_runtime.store(&one, std::memory_order_release);
  return one;
}

void Runtime::enter(Call& call, When when) noexcept {
  if (when == When::unlocked) when = When::live;
  for (;;) {
    const Mode mode = mode_now.load(std::memory_order_acquire);
    if (mode == Mode::many) {
      engine_->lock().enter();
      call.locked_ = kEngineLock;
      if (mode_now.load(std::memory_order_acquire) == Mode::many) {
        process_trace.add(TraceEvent::call_begin, std::uint64_t{0}, Trace::text(call.function()));
        return;
      }
      engine_->lock().leave();
    } else {
      if (mode == Mode::one && when == When::live) return;
      start_lock_.lock();
      call.locked_ = kStartLock;
      if (mode_now.load(std::memory_order_acquire) != Mode::many) break;
      start_lock_.unlock();  // another thread has opened a shared engine meanwhile: take its lock instead
    }
    call.locked_ = 0;
  }
  if (when != When::live || live()) return;
  if (world_state == World::ended)
    (void)call.fail(MPI_ERR_OTHER,
                    "called after MPI_Finalize; move it before, or open a session with "
                    "MPI_Session_init first");
  else
    (void)call.fail(MPI_ERR_OTHER,
                    "MPI is not started; call MPI_Init, MPI_Init_thread or MPI_Session_init first");
}

void Runtime::leave(std::uint8_t locked) noexcept {
  if ((locked & kEngineLock) != 0) {
    process_trace.end_or_forget(TraceEvent::call_begin, TraceEvent::call_end);
    if (observer_ != nullptr && live()) observer_();
    engine_->lock().leave();
  }
  if ((locked & kStartLock) != 0) start_lock_.unlock();
}

Mode Runtime::live_mode() const noexcept {
  const bool shared = engine_->lock().is_active() || observer_ != nullptr || process_trace.is_recording();
  return shared ? Mode::many : Mode::one;
}

// Calls of other threads may be under way only if the lock is active: the mode is `many` then.
void Runtime::observe(void (*observer)()) noexcept {
  observer_ = observer;
  if (live() && observer != nullptr) engine_->messages().trace();
  if (live() && live_mode() == Mode::many) mode_now.store(Mode::many, std::memory_order_release);
}

const Knobs& Runtime::knobs() noexcept {
  if (!knobs_read_) {
    knobs_ = read_knobs(environ, knob_warnings_);
    knobs_read_ = true;
  }
  return knobs_;
}

std::string Runtime::set_knob(std::size_t index, const std::string& value) noexcept {
  (void)knobs();
  return herald::set_knob(knobs_, index, value);
}

// The processes of several jobs count alike: communicators that join them get random numbers.
std::uint64_t Runtime::next_context() noexcept {
  constexpr std::uint64_t kSeveralJobs = std::uint64_t{1} << 61;
  if (engine_->foreign().is_open()) return (path::random_number() & (kSeveralJobs - 2)) | kSeveralJobs;
  return (static_cast<std::uint64_t>(boot_->rank()) << 32) | (kFirstContextCount + context_count_++);
}

const char* host_name() noexcept {
  static const auto name = [] {
    std::string host(256, '\0');
    if (::gethostname(host.data(), host.size() - 1) != 0) host = "localhost";
    return std::string(host.c_str());
  };
  static const std::string& cached = *new std::string(name());
  return cached.c_str();
}

const char* who_am_i() noexcept {
  static thread_local char text[300];
  if (runtime().booted())
    std::snprintf(text, sizeof text, "rank %d on %s", runtime().boot().rank(), host_name());
  else
    std::snprintf(text, sizeof text, "%s", host_name());
  return text;
}

double wall_seconds() noexcept {
  timespec now{};
  (void)::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

}  // namespace herald::mpi
