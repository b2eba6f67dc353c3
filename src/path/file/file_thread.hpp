// SPDX-License-Identifier: BSD-3-Clause
// path/file/file_thread.hpp: a thread that reads and writes a file while the program goes on. It starts with
// the first job, takes no signals and runs jobs one after another.
#pragma once
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>

namespace herald::path {

// Stays in place until it is done.
class FileJob {
 public:
  FileJob() = default;
  FileJob(const FileJob&) = delete;
  FileJob& operator=(const FileJob&) = delete;
  virtual ~FileJob() = default;
  virtual void run() noexcept = 0;  // in the thread
  bool is_done() const noexcept { return done_.load(std::memory_order_acquire); }

 private:
  friend class FileThread;
  std::atomic<bool> done_{true};
};

class FileThread {
 public:
  using Notice = void (*)() noexcept;
  FileThread() = default;
  FileThread(const FileThread&) = delete;
  FileThread& operator=(const FileThread&) = delete;
  ~FileThread();  // after the last job

  // Where the system gives no thread, the job runs here.
  void start(FileJob& job) noexcept;
  void wait(FileJob& job) noexcept;
  // Is called in the thread after each job.
  void set_notice(Notice notice) noexcept { notice_ = notice; }

 private:
  static void* serve(void* self) noexcept;
  bool is_running() noexcept;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<FileJob*> jobs_;
  Notice notice_ = nullptr;
  bool stopping_ = false;
  pid_t pid_ = 0;  // of the process that has the thread; 0: none
  pthread_t thread_{};
};

}  // namespace herald::path
