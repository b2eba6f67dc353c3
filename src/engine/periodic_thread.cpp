// SPDX-License-Identifier: BSD-3-Clause
#include "engine/periodic_thread.hpp"

#include <signal.h>
#include <unistd.h>

#include <chrono>

namespace herald::engine {

bool PeriodicThread::start(Work work, void* context, Duration every) noexcept {
  work_ = work;
  context_ = context;
  every_ = every;
  stopping_ = false;
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  running_ = ::pthread_create(&thread_, nullptr, run, this) == 0;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pid_ = ::getpid();
  return running_;
}

void PeriodicThread::hurry(Duration every) noexcept {
  {
    const std::lock_guard<std::mutex> hold(mutex_);
    every_ = every;
    hurried_ = true;
  }
  changed_.notify_all();
}

void PeriodicThread::stop() noexcept {
  if (!running_ || pid_ != ::getpid()) return;  // a child has no such thread
  {
    const std::lock_guard<std::mutex> hold(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  ::pthread_join(thread_, nullptr);
  running_ = false;
}

void* PeriodicThread::run(void* self) noexcept {
  PeriodicThread& me = *static_cast<PeriodicThread*>(self);
  std::unique_lock<std::mutex> hold(me.mutex_);
  for (;;) {
    me.changed_.wait_for(hold, std::chrono::nanoseconds(me.every_.ns),
                         [&] { return me.stopping_ || me.hurried_; });
    if (me.stopping_) break;
    me.hurried_ = false;
    hold.unlock();
    me.work_(me.context_);
    hold.lock();
  }
  return nullptr;
}

}  // namespace herald::engine
