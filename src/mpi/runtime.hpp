// SPDX-License-Identifier: BSD-3-Clause
// mpi/runtime.hpp: the state of MPI in this process: not started, live, ended; and what lives meanwhile.
// MPI_Init and every MPI_Session_init share one start: the first opens boot and engine, the last finalize
// closes them. A process can start once (a PMIx client cannot come back).
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "base/knobs.hpp"
#include "boot/boot.hpp"
#include "engine/engine.hpp"
#include "mpi/object.hpp"

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

class Runtime {
 public:
  // Called by every entry point; `leave` gets what `enter` left in the call.
  void enter(Call& call, When when) noexcept;
  void leave(std::uint8_t locked) noexcept;

  engine::Engine& engine() noexcept { return *engine_; }
  bool live() const noexcept { return engine_live_.load(std::memory_order_acquire) != nullptr; }
  boot::Boot& boot() noexcept { return *boot_; }
  const Knobs& knobs() const noexcept { return knobs_; }

  // Opens boot and engine if this is the first user; counts users. On failure returns the error class with
  // `why`.
  int start(int thread_level, std::string& why) noexcept;
  // Counts down; the last one closes. Nothing may be pending.
  void stop() noexcept;
  // Ends the whole job: message on stderr, launcher told, _exit. Never returns.
  [[noreturn]] void abort(int code, const char* message) noexcept;

  std::uint64_t next_context() noexcept;

  // World model (MPI_Init ... MPI_Finalize)
  enum class World : std::uint8_t { not_started, live, ended };
  std::atomic<World> world_state{World::not_started};
  int thread_level = 0;
  std::uint64_t main_thread = 0;
  Comm* world = nullptr;
  Comm* self = nullptr;
  Errhandler* initial_errhandler = nullptr;  // for errors before there is a communicator

 private:
  std::recursive_mutex start_lock_;
  std::unique_ptr<boot::Boot> boot_;
  std::unique_ptr<engine::Engine> engine_;
  std::atomic<engine::Engine*> engine_live_{nullptr};
  Knobs knobs_;
  int users_ = 0;
  bool ended_ = false;
  std::uint32_t context_count_ = 0;
};

// The one of this process. Constructed on first use, never destroyed (exit handlers may still need it).
Runtime& runtime() noexcept;

// Seconds since some moment in the past, for MPI_Wtime.
double wall_seconds() noexcept;

}  // namespace herald::mpi
