// SPDX-License-Identifier: BSD-3-Clause
// mpi/core/runtime.hpp: the state of MPI in this process: not started, live, ended.
// MPI_Init and every MPI_Session_init share one start: the first opens boot and engine. MPI_Finalize, if it
// is the last user, closes them for good (a PMIx client cannot connect again). After the last
// MPI_Session_finalize they stay open for the next session, and are closed when the process exits.
//
// Locks: `start_lock_` while there is no engine, and for calls that are allowed at any time when threads do
// not call at once; the engine's lock when they do (MPI_THREAD_MULTIPLE); none on the short path.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/knobs.hpp"
#include "boot/boot.hpp"
#include "engine/engine.hpp"
#include "mpi/core/handle_table.hpp"

namespace herald::mpi {

class Call;
enum class When : std::uint8_t;
struct Comm;
struct Group;
struct Errhandler;
struct Datatype;
struct Op;
struct Info;
struct Session;
struct Request;

// off: calls of kind `live` are errors. one: one thread at a time. many: every call takes the engine's lock.
enum class Mode : std::uint8_t { off, one, many };
extern std::atomic<Mode> mode_now;

class Runtime {
 public:
  // Called by every entry point that cannot take the short path (call.hpp); `leave` gets Call::locked_.
  void enter(Call& call, When when) noexcept;
  void leave(std::uint8_t locked) noexcept;

  engine::Engine& engine() noexcept { return *engine_; }
  bool live() const noexcept { return mode_now.load(std::memory_order_acquire) != Mode::off; }
  boot::Boot& boot() noexcept { return *boot_; }
  bool booted() const noexcept { return boot_ != nullptr; }
  bool ended() const noexcept { return ended_; }
  bool threads_multiple() const noexcept { return threads_; }

  // Read from the environment at the first use; MPI_T may change them before the start.
  const Knobs& knobs() noexcept;
  std::string set_knob(std::size_t index, const std::string& value) noexcept;
  bool has_engine() const noexcept { return engine_ != nullptr; }

  // Opens boot and engine if this is the first user; counts users. On failure returns the error class with
  // `why`. The first user decides whether threads may call at once.
  int start(Call& call, bool threads_multiple, std::string& why) noexcept;
  // Counts down; the last user after MPI_Finalize closes. No operation may be pending.
  void stop(Call& call, Comm* last_comm = nullptr) noexcept;
  // The call leaves a long operation under way: the progress thread may continue it (knob progress). From
  // here on the call may hold the engine's lock.
  void progress_thread(Call& call) noexcept {
    if (engine_->progress_thread().is_wanted()) start_progress_thread(call);
  }
  // See engine/engine.hpp. From here on the call may hold the engine's lock.
  void offer_services(Call& call) noexcept;
  // The network, where processes of other jobs are reached. From here on the call may hold the engine's lock.
  bool open_foreign(Call& call, std::string& why) noexcept;
  // Ends the job, or only these ranks of it: prints the message, tells the launcher, calls _exit.
  [[noreturn]] void abort(int code, const char* message, bool by_exit = false,
                          std::span<const int> ranks = {}) noexcept;

  // Called at the end of each call, with the lock, as long as it is not null; calls take the longer way then.
  void observe(void (*observer)()) noexcept;

  std::uint64_t next_context() noexcept;

  // World model (MPI_Init ... MPI_Finalize)
  enum class World : std::uint8_t { not_started, live, ended };
  std::atomic<World> world_state{World::not_started};
  int thread_level = 0;
  std::uint64_t main_thread = 0;
  Comm* world = nullptr;
  Comm* self = nullptr;
  Comm* parent = nullptr;  // MPI_Comm_get_parent; null: this job was not spawned

  // At process exit.
  void on_exit(int status) noexcept;

 private:
  void close(Comm* last_comm = nullptr) noexcept;
  Mode live_mode() const noexcept;
  void start_progress_thread(Call& call) noexcept;
  void print_knob_warnings() noexcept;
  void print_start() noexcept;

  static constexpr std::uint8_t kStartLock = 1, kEngineLock = 2;  // Call::locked_
  std::recursive_mutex start_lock_;
  std::unique_ptr<boot::Boot> boot_;
  std::unique_ptr<engine::Engine> engine_;
  Knobs knobs_;
  std::vector<std::string> knob_warnings_;
  bool knobs_read_ = false;
  void (*observer_)() = nullptr;
  int users_ = 0;
  int pid_ = 0;  // of the process that started: a forked child does not close
  bool threads_ = false;
  bool ended_ = false;
  std::uint32_t context_count_ = 0;
};

// Constructed at the first use, never destroyed (exit handlers may still need it).
extern std::atomic<Runtime*> the_runtime;
Runtime& make_runtime() noexcept;
inline Runtime& runtime() noexcept {
  Runtime* made = the_runtime.load(std::memory_order_acquire);
  return made != nullptr ? *made : make_runtime();
}

// Other processes may ask for something as long as this exists (engine/engine.hpp). Destroyed with the lock.
class ServiceOffer {
 public:
  ServiceOffer() noexcept = default;
  ~ServiceOffer() {
    if (made_) engine::withdraw_services(runtime().engine());
  }
  ServiceOffer(const ServiceOffer&) = delete;
  ServiceOffer& operator=(const ServiceOffer&) = delete;
  // From here on the call may hold the engine's lock.
  void make(Call& call) noexcept {
    runtime().offer_services(call);
    made_ = true;
  }

 private:
  bool made_ = false;
};

// "rank 3 on HOST", or "HOST" while the rank is not known.
const char* who_am_i() noexcept;
const char* host_name() noexcept;

// For MPI_Wtime.
double wall_seconds() noexcept;

}  // namespace herald::mpi
