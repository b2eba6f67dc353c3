// SPDX-License-Identifier: BSD-3-Clause
// engine/periodic_thread.hpp: a thread of the library that calls back at an interval, until it is stopped. It
// takes no signals.
#pragma once
#include <pthread.h>

#include <condition_variable>
#include <mutex>

#include "base/instant.hpp"

namespace herald::engine {

class PeriodicThread {
 public:
  using Work = void (*)(void* context);
  PeriodicThread() noexcept = default;
  ~PeriodicThread() { stop(); }
  PeriodicThread(const PeriodicThread&) = delete;
  PeriodicThread& operator=(const PeriodicThread&) = delete;

  // False if the system gives no thread.
  bool start(Work work, void* context, Duration every) noexcept;
  void hurry(Duration every) noexcept;
  void stop() noexcept;  // returns when the thread has ended
  bool is_running() const noexcept { return running_; }

 private:
  static void* run(void* self) noexcept;
  Work work_ = nullptr;
  void* context_ = nullptr;
  Duration every_{};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  bool hurried_ = false;
  bool running_ = false;
  pid_t pid_ = 0;
  pthread_t thread_{};
};

}  // namespace herald::engine
