// SPDX-License-Identifier: BSD-3-Clause
#include "path/file/file_thread.hpp"

#include <csignal>

namespace herald::path {

FileThread::~FileThread() {
  if (pid_ != ::getpid()) return;  // a forked child has no such thread
  {
    const std::lock_guard<std::mutex> hold(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  ::pthread_join(thread_, nullptr);
}

bool FileThread::is_running() noexcept {
  if (pid_ == ::getpid()) return true;
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const bool started = ::pthread_create(&thread_, nullptr, serve, this) == 0;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (started) pid_ = ::getpid();
  return started;
}

void FileThread::start(FileJob& job) noexcept {
  if (!is_running()) return job.run();
  {
    const std::lock_guard<std::mutex> hold(mutex_);
    job.done_.store(false, std::memory_order_relaxed);
    jobs_.push_back(&job);
  }
  changed_.notify_all();
}

void FileThread::wait(FileJob& job) noexcept {
  std::unique_lock<std::mutex> hold(mutex_);
  changed_.wait(hold, [&] { return job.is_done(); });
}

// The owner of a job may destroy it as soon as it is done.
void* FileThread::serve(void* self) noexcept {
  FileThread& me = *static_cast<FileThread*>(self);
  std::unique_lock<std::mutex> hold(me.mutex_);
  for (;;) {
    me.changed_.wait(hold, [&] { return me.stopping_ || !me.jobs_.empty(); });
    if (me.jobs_.empty()) break;
    FileJob& job = *me.jobs_.front();
    me.jobs_.pop_front();
    hold.unlock();
    job.run();
    hold.lock();
    job.done_.store(true, std::memory_order_release);
    me.changed_.notify_all();
    if (me.notice_ != nullptr) me.notice_();
  }
  return nullptr;
}

}  // namespace herald::path
