// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/runtime.hpp"
#include "mpi/errors.hpp"

#include <unistd.h>
#include <ctime>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "mpi/call.hpp"
#include "mpi/context_agreement.hpp"
#include "mpi/timeline.hpp"

extern char** environ;

namespace herald::mpi {
namespace {

constexpr std::uint8_t kStartLock = 1, kEngineLock = 2;  // Call::locked_

// Not every launcher ends a job when one of its processes is killed (Slurm does not, by default). A program
// that handles errors itself gets them from the calls that need the peer.
void peer_died(p2p::PeerId peer) {
  const Errhandler* handler = runtime().world != nullptr ? runtime().world->errhandler : initial_errhandler();
  if (handler->kind != Errhandler::Kind::fatal && handler->kind != Errhandler::Kind::abort) return;
  char text[300];
  std::snprintf(text, sizeof text,
                runtime().engine().is_local(peer)
                    ? "herald: %s: rank %d on this host (%s) has ended without MPI_Finalize: aborting the job"
                    : "herald: %s: rank %d on host %s does not answer any more: aborting the job",
                who_am_i(), peer, runtime().engine().host_of(peer).c_str());
  runtime().abort(1, text);
}

#ifdef __GLIBC__
void exit_hook(int status, void*) { runtime().on_exit(status); }
void hook_exit() { (void)::on_exit(exit_hook, nullptr); }
#else
void exit_hook() { runtime().on_exit(0); }
void hook_exit() { (void)std::atexit(exit_hook); }
#endif

}  // namespace

std::atomic<Mode> mode_now{Mode::off};

std::atomic<Runtime*> the_runtime{nullptr};

Runtime& make_runtime() noexcept {
  static Runtime& one = *new Runtime;
  the_runtime.store(&one, std::memory_order_release);
  return one;
}

void Runtime::enter(Call& call, When when) noexcept {
  for (;;) {
    const Mode mode = mode_now.load(std::memory_order_acquire);
    if (mode == Mode::many) {
      engine_->lock();
      call.locked_ = kEngineLock;
      if (mode_now.load(std::memory_order_acquire) == Mode::many) return;
      engine_->unlock();
    } else {
      if (mode == Mode::one && when == When::live) return;
      start_lock_.lock();
      call.locked_ = kStartLock;
      if (mode_now.load(std::memory_order_acquire) != Mode::many) break;
      start_lock_.unlock();  // an engine that threads share appeared meanwhile: its lock is the one to hold
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
  if ((locked & kEngineLock) != 0) engine_->unlock();
  if ((locked & kStartLock) != 0) start_lock_.unlock();
}

const Knobs& Runtime::knobs() noexcept {
  if (!knobs_read_) {
    knobs_ = read_knobs(environ, complaints_);
    knobs_read_ = true;
  }
  return knobs_;
}

std::string Runtime::set_knob(std::size_t index, const std::string& value) noexcept {
  (void)knobs();
  return herald::set_knob(knobs_, index, value);
}

void Runtime::tell_complaints() noexcept {
  if (boot_->rank() == 0)
    for (const std::string& line : complaints_) std::fprintf(stderr, "herald: warning: %s\n", line.c_str());
  complaints_.clear();
}

// HERALD_VERBOSE: 1 lets rank 0 say how the job started, 2 every rank.
void Runtime::tell_start() noexcept {
  if (knobs_.verbose < 1 || (knobs_.verbose < 2 && engine_->rank() != 0)) return;
  int local = 0;
  for (int peer = 0; peer < engine_->size(); ++peer) local += engine_->is_local(peer) ? 1 : 0;
  std::fprintf(
      stderr,
      "herald: rank %d of %d: process %d, started by %s, threads %s; memory is shared with %d of %d ranks\n",
      engine_->rank(), engine_->size(), pid_, boot_->name(), threads_ ? "multiple" : "one at a time", local,
      engine_->size());
}

int Runtime::start(Call& call, bool threads_multiple, std::string& why) noexcept {
  if (ended_) {
    why = "MPI has ended in this process (MPI_Finalize) and cannot start again";
    return MPI_ERR_OTHER;
  }
  if (engine_ == nullptr) {
    (void)knobs();
    boot_ = boot::open(environ, why);
    if (boot_ == nullptr) return MPI_ERR_OTHER;
    tell_complaints();
    open_timeline();
    engine_ = engine::Engine::open(*boot_, knobs_, threads_multiple, why);
    if (engine_ == nullptr) return MPI_ERR_OTHER;
    start_timeline();
    engine_->when_peer_dies(peer_died);
    threads_ = threads_multiple;
    context_count_ = 0;
    pid_ = static_cast<int>(::getpid());
    tell_start();
    hook_exit();
  }
  if (users_++ == 0) {
    if (engine_->is_locked()) {  // from here on this call holds both locks
      engine_->lock();
      call.locked_ |= kEngineLock;
    }
    mode_now.store(engine_->is_locked() ? Mode::many : Mode::one, std::memory_order_release);
  }
  return MPI_SUCCESS;
}

void Runtime::stop(Call& call) noexcept {
  if (call.locked_ == 0) {
    start_lock_.lock();
    call.locked_ = kStartLock;
  }
  if (--users_ != 0) return;
  if (world_state == World::ended) close();
  mode_now.store(Mode::off, std::memory_order_release);
}

void Runtime::start_progress_thread(Call& call) noexcept {
  if (!engine_->start_progress_thread()) return;
  call.locked_ |= kEngineLock;
  mode_now.store(Mode::many, std::memory_order_release);
}

// Nobody may leave while others still need what it promised, so all meet first.
void Runtime::close() noexcept {
  world_barrier();
  engine_->close();
  const std::uint32_t depth = engine_->give_up_lock();  // for the engine's own thread, which still answers
  if (engine_->has_remote())
    (void)boot_->fence();  // a peer on another host may still wait to hear that all came
  if (boot_->finalize() != Status::ok)
    std::fprintf(stderr, "herald: %s: the launcher did not answer at the end: %s\n", who_am_i(),
                 boot_->last_error().c_str());
  engine_->end();
  engine_->take_back_lock(depth);
  write_timeline();
  ended_ = true;
}

void Runtime::on_exit(int status) noexcept {
  if (engine_ == nullptr || ended_ || static_cast<int>(::getpid()) != pid_) return;
  if (users_ == 0) {  // sessions only: this is the end that MPI_Finalize would have been
    engine_->lock();
    mode_now.store(engine_->is_locked() ? Mode::many : Mode::one, std::memory_order_release);
    close();
    mode_now.store(Mode::off, std::memory_order_release);
    engine_->unlock();
    return;
  }
  char text[400];
  std::snprintf(text, sizeof text, "herald: %s: the process exits without %s: aborting the job", who_am_i(),
                world_state == World::live ? "MPI_Finalize" : "MPI_Session_finalize");
  abort(status, text);
}

void Runtime::abort(int code, const char* message) noexcept {
  (void)std::fflush(stdout);
  if (message != nullptr) std::fprintf(stderr, "%s\n", message);
  (void)std::fflush(stderr);
  if (boot_ != nullptr) write_timeline();
  const int status = (code & 0xff) != 0 ? code & 0xff : 1;  // an aborted job never looks like a success
  if (boot_ != nullptr) boot_->abort(status, message != nullptr ? message : "MPI_Abort");
  if (engine_ != nullptr) engine_->emergency_cleanup();
  ::_exit(status);
}

std::uint64_t Runtime::next_context() noexcept {
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
