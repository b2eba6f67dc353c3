// SPDX-License-Identifier: BSD-3-Clause
// mpi/env/lifetime.cpp: the start of MPI in this process, its end, and the end by an abort.
#include <pthread.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <semaphore>

#include "boot/rank_pid.hpp"
#include "engine/clock.hpp"
#include "mpi/comm/context_agreement.hpp"
#include "mpi/core/call.hpp"
#include "mpi/core/errors.hpp"
#include "mpi/core/request.hpp"
#include "mpi/core/runtime.hpp"
#include "mpi/core/waiting.hpp"
#include "mpi/env/crash.hpp"
#include "mpi/env/timeline.hpp"

extern char** environ;

namespace herald::mpi {
namespace {

// Not every launcher ends a job when one of its processes is killed (Slurm does not, by default). A program
// that handles errors itself gets them from the calls that need the peer.
void peer_died(p2p::PeerId peer) {
  if (!runtime().engine().foreign().is_connected(peer)) return;
  if (runtime().boot().has_aborted(peer)) return;  // by MPI_Abort on a communicator without this process
  const Errhandler* handler = runtime().world != nullptr ? runtime().world->errhandler : initial_errhandler();
  if (handler->kind != Errhandler::Kind::fatal && handler->kind != Errhandler::Kind::abort) return;
  engine::Engine& engine = runtime().engine();
  const std::string host = engine.peers().host_of(peer);
  const double limit_s = static_cast<double>(runtime().knobs().detect_ms) / 1000;
  char text[300];
  const bool is_local = engine.peers().is_local(peer), is_foreign = engine.foreign().is_foreign(peer);
  if (is_local && is_foreign)
    std::snprintf(text, sizeof text,
                  "herald: %s: a process of another job that is connected (peer %d, on this host) has ended "
                  "without MPI_Finalize: aborting the job",
                  who_am_i(), peer);
  else if (is_local)
    std::snprintf(text, sizeof text,
                  "herald: %s: rank %d on this host (%s) has ended without MPI_Finalize: aborting the job",
                  who_am_i(), peer, host.c_str());
  else if (is_foreign)
    std::snprintf(text, sizeof text,
                  "herald: %s: a process of another job that is connected (peer %d, on host %s) has not "
                  "answered for %g s (HERALD_DETECT_MS): aborting the job",
                  who_am_i(), peer, host.c_str(), limit_s);
  else if (engine.peers().was_refused(peer))
    std::snprintf(text, sizeof text,
                  "herald: %s: rank %d has ended without MPI_Finalize: its host %s refuses packets to its "
                  "ports: aborting the job",
                  who_am_i(), peer, host.c_str());
  else
    std::snprintf(
        text, sizeof text,
        "herald: %s: rank %d on host %s has not answered for %g s (HERALD_DETECT_MS): aborting the job",
        who_am_i(), peer, host.c_str(), limit_s);
  runtime().abort(1, text);
}

// Processes that are still connected end together.
void leave_other_jobs(engine::ForeignPeers& foreign) noexcept {
  if (!foreign.is_open()) return;
  constexpr Duration kFlush = milliseconds(2000);  // for the acknowledgement of the last message
  foreign.say_goodbye();
  wait_until([&] { return foreign.has_left(); });
  const Instant limit = engine::read_clock() + kFlush;
  wait_until([&] { return foreign.is_flushed() || engine::read_clock() > limit; });
  foreign.forget_all();
  if (foreign.strangers() != 0 && runtime().knobs().verbose > 0)
    std::fprintf(stderr, "herald: %s: ports refused %llu connections without their secret\n", who_am_i(),
                 static_cast<unsigned long long>(foreign.strangers()));
}

struct LastWords {
  const char* message;
  std::binary_semaphore printed{0};
};

void* print_and_flush(void* argument) noexcept {
  auto& last = *static_cast<LastWords*>(argument);
  if (last.message != nullptr) std::fprintf(stderr, "%s\n", last.message);
  (void)std::fflush(stderr);
  (void)std::fflush(stdout);
  last.printed.release();
  return nullptr;
}

// A launcher that is told of an abort may discard what it has not read yet, so output goes first. But a pipe
// that nobody reads, or a stream that another thread has locked, must not keep the launcher from being told.
void print_last_words(const char* message) noexcept {
  constexpr std::chrono::milliseconds kPatience{200};
  auto* last = new LastWords{message};  // never freed: the thread may outlive the wait
  pthread_t thread;
  if (::pthread_create(&thread, nullptr, print_and_flush, last) != 0) return;
  (void)::pthread_detach(thread);
  (void)last->printed.try_acquire_for(kPatience);
}

#ifdef __GLIBC__
void exit_hook(int status, void*) { runtime().on_exit(status); }
void hook_exit() { (void)::on_exit(exit_hook, nullptr); }
#else
void exit_hook() { runtime().on_exit(0); }
void hook_exit() { (void)std::atexit(exit_hook); }
#endif

}  // namespace

void Runtime::print_knob_warnings() noexcept {
  if (boot_->rank() == 0)
    for (const std::string& line : knob_warnings_)
      std::fprintf(stderr, "herald: warning: %s\n", line.c_str());
  knob_warnings_.clear();
}

// HERALD_VERBOSE=1: rank 0 reports how the job started; 2: every rank.
void Runtime::print_start() noexcept {
  if (knobs_.verbose < 1 || (knobs_.verbose < 2 && engine_->peers().rank() != 0)) return;
  int local = 0;
  for (int peer = 0; peer < engine_->peers().size(); ++peer) local += engine_->peers().is_local(peer) ? 1 : 0;
  std::fprintf(
      stderr,
      "herald: rank %d of %d: process %d, started by %s, threads %s; memory is shared with %d of %d ranks\n",
      engine_->peers().rank(), engine_->peers().size(), pid_, boot_->name(),
      threads_ ? "multiple" : "one at a time", local, engine_->peers().size());
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
    print_knob_warnings();
    open_timeline();
    engine_ = engine::Engine::open(*boot_, knobs_, threads_multiple, why);
    if (engine_ == nullptr) return MPI_ERR_OTHER;
    start_timeline();
    engine_->peers().when_peer_dies(peer_died);
    engine_->state().when_described(show_call);
    engine_->state().when_timeline_wanted(save_timeline);
    engine_->state().set_phase(RankPhase::running);
    threads_ = threads_multiple;
    context_count_ = 0;
    pid_ = static_cast<int>(::getpid());
    (void)::setenv(boot::kRankPid, std::to_string(pid_).c_str(), 1);
    print_start();
    hook_exit();
    if (boot_->size() > 1) {
      write_whole_lines();
      catch_crashes();
    }
  }
  if (users_++ == 0) {
    if (engine_->lock().is_active()) {  // from here on this call holds both locks
      engine_->lock().enter();
      call.locked_ |= kEngineLock;
    }
    mode_now.store(live_mode(), std::memory_order_release);
  }
  return MPI_SUCCESS;
}

void Runtime::stop(Call& call, Comm* last_comm) noexcept {
  if (call.locked_ == 0) {
    start_lock_.lock();
    call.locked_ = kStartLock;
  }
  const bool last = --users_ == 0;
  if (last && world_state == World::ended)
    close(last_comm);
  else if (last_comm != nullptr)
    release(last_comm);
  if (!last) return;
  mode_now.store(Mode::off, std::memory_order_release);
}

bool Runtime::open_foreign(Call& call, std::string& why) noexcept {
  bool locked = false;
  const bool opened = engine_->foreign().open(locked, why);
  if (!locked) return opened;
  call.locked_ |= kEngineLock;
  mode_now.store(Mode::many, std::memory_order_release);
  return opened;
}

void Runtime::offer_services(Call& call) noexcept {
  if (!engine::offer_services(*engine_)) return;
  call.locked_ |= kEngineLock;
  mode_now.store(Mode::many, std::memory_order_release);
}

void Runtime::start_progress_thread(Call& call) noexcept {
  if (!engine_->progress_thread().start()) return;
  call.locked_ |= kEngineLock;
  mode_now.store(Mode::many, std::memory_order_release);
}

// A process may not leave while peers still need data from it, so a barrier comes first. MPI_COMM_WORLD is
// freed after it: a synchronous send that no receive matches is not completed by the end of its receiver.
void Runtime::close(Comm* last_comm) noexcept {
  engine_->state().set_phase(RankPhase::finalizing);
  world_barrier();
  leave_other_jobs(engine_->foreign());
  if (last_comm != nullptr) release(last_comm);
  bool several_hosts = false;
  for (int rank = 0; rank < boot_->size(); ++rank)
    several_hosts = several_hosts || !engine_->peers().is_local(rank);
  engine_->close();
  const std::uint32_t depth =
      engine_->lock().give_up();  // for the engine's thread, which still answers peers
  if (several_hosts)
    (void)boot_->fence();  // a peer on another host may still wait for the end of the barrier
  if (boot_->finalize() != Status::ok)
    std::fprintf(stderr, "herald: %s: the launcher did not answer at the end: %s\n", who_am_i(),
                 boot_->last_error().c_str());
  engine_->end();
  engine_->lock().take_back(depth);
  engine_->state().set_phase(RankPhase::ended);
  write_timeline();
  ended_ = true;
}

void Runtime::on_exit(int status) noexcept {
  if (engine_ == nullptr || ended_ || static_cast<int>(::getpid()) != pid_) return;
  if (users_ == 0) {  // sessions only: the exit takes the place of MPI_Finalize
    engine_->lock().enter();
    mode_now.store(live_mode(), std::memory_order_release);
    close();
    mode_now.store(Mode::off, std::memory_order_release);
    engine_->lock().leave();
    return;
  }
  char text[400];
  std::snprintf(text, sizeof text, "herald: %s: the process exits without %s: aborting the job", who_am_i(),
                world_state == World::live ? "MPI_Finalize" : "MPI_Session_finalize");
  abort(status, text, true);
}

void Runtime::abort(int code, const char* message, bool by_exit, std::span<const int> ranks) noexcept {
  print_last_words(message);
  if (boot_ != nullptr) write_timeline();
  const boot::Abort abort{code, message != nullptr ? message : "MPI_Abort", by_exit, ranks};
  if (boot_ != nullptr) boot_->abort(abort);
  if (engine_ != nullptr) engine_->emergency_cleanup();
  ::_exit(abort.status());
}

}  // namespace herald::mpi
