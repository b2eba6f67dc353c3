// SPDX-License-Identifier: BSD-3-Clause
// engine/progress_thread.hpp: a thread of the library that takes turns while the program computes, so that
// pulls, long messages and nonblocking collectives go on (knob progress).
//
// It works under the one lock like any thread of the program, and blocks on the same doorbell. Peers ring it
// only while the program is outside and something is under way: a call withdraws the announcement when it
// enters and renews it when it leaves. Otherwise the thread is parked on a doorbell of its own, and takes a
// turn now and then while the program computes: service calls of peers need an answer.
#pragma once
#include <cstdint>

#include "engine/periodic_thread.hpp"
#include "path/inbox.hpp"

namespace herald::engine {

class Lock;
class Engine;
class Waiter;

class ProgressThread {
 public:
  ProgressThread(Engine& engine, Lock& lock, Waiter& waiter) noexcept
      : engine_(engine), lock_(lock), waiter_(waiter) {}
  ProgressThread(const ProgressThread&) = delete;
  ProgressThread& operator=(const ProgressThread&) = delete;

  // A nonblocking call that leaves something long under way should start the thread.
  void set_wanted() noexcept { state_ = State::wanted; }
  bool is_wanted() const noexcept { return state_ == State::wanted; }
  bool is_running() const noexcept { return state_ >= State::awake; }
  void forbid() noexcept { state_ = State::forbidden; }
  // It does not run, and the program computes.
  bool may_start() const noexcept {
    return inside_ == 0 && (state_ == State::none || state_ == State::wanted);
  }
  // The program computes, and this thread takes turns in its place.
  bool is_alone() const noexcept { return inside_ == 0 && is_running(); }
  // True: the lock is active from here on, and the caller holds it.
  bool start() noexcept;
  void stop() noexcept;  // with the lock

  // A thread of the program enters or leaves the library, with the lock.
  void on_enter() noexcept;
  void on_leave() noexcept;
  // Another thread blocks inside: peers are to ring again. True if something moved meanwhile.
  bool relisten() noexcept;

 private:
  // none -> awake <-> listening (blocks on the doorbell), parked; wanted: until there is a reason to start.
  enum class State : std::uint8_t { none, forbidden, wanted, awake, listening, parked };
  void run() noexcept;
  void listen() noexcept;
  void park() noexcept;
  void wake() noexcept;

  Engine& engine_;
  Lock& lock_;
  Waiter& waiter_;
  State state_ = State::none;
  bool stop_ = false;
  std::uint32_t inside_ = 0;  // threads of the program in a call
  int program_cpu_ = -1;      // where the program last left the library
  path::LocalDoorbell own_doorbell_;
  PeriodicThread thread_;
};

}  // namespace herald::engine
