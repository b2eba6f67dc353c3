// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/io/work.hpp"

#include <utility>

#include "mpi/io/atomic_lock.hpp"
#include "mpi/io/collective.hpp"

namespace herald::mpi {
namespace {

class FileWork : public Work {
 public:
  explicit FileWork(const File& file) noexcept : file_(handle_of(&file)) {}
  // Errors go to the handler of the file, if it is still open.
  File* file() const noexcept override { return find(file_); }
  const char* reason() const noexcept override { return result_.failure.text.c_str(); }

 protected:
  void finish(Request& request) noexcept {
    request.bytes = result_.bytes;
    finish_work(request, result_.failure.error_class);
  }
  const MPI_File file_;
  TransferResult result_;
};

// The transfer is over before the request is made.
class DoneWork final : public FileWork {
 public:
  DoneWork(const File& file, TransferResult result) noexcept : FileWork(file) { result_ = std::move(result); }
  void start(Request& request) noexcept override { finish(request); }
};

// A transfer that goes on in turns of the engine.
class TurnsWork : public FileWork {
 public:
  explicit TurnsWork(const Transfer& transfer) noexcept
      : FileWork(*transfer.file), state_(state_of(*transfer.file)), type_(transfer.type) {
    if (type_ != nullptr) retain(type_);  // the program may free it now
  }
  ~TurnsWork() override {
    if (type_ != nullptr) release(type_);
  }

 protected:
  // True: the transfer is over.
  virtual bool advance() noexcept = 0;
  void take_turns(Request& request) noexcept {
    request_ = &request;
    if (advance()) return finish(request);
    runtime().engine().hooks().add(poll, this);
    runtime().engine().messages().send_posted();
  }
  FileState& state_;

 private:
  static bool poll(void* self) noexcept {
    auto& work = *static_cast<TurnsWork*>(self);
    if (!work.advance()) return false;
    runtime().engine().hooks().remove(poll, self);
    work.finish(*work.request_);
    return true;
  }
  Datatype* type_;
  Request* request_ = nullptr;
};

// The file's thread transfers while the program goes on.
class ThreadWork final : public TurnsWork, private path::FileJob {
 public:
  ThreadWork(const Transfer& transfer, const Access& access) noexcept
      : TurnsWork(transfer), access_(access) {}
  ~ThreadWork() override {
    if (!is_done()) state_.thread.wait(*this);
  }
  void start(Request& request) noexcept override {
    (void)access_.begin();  // cannot fail: nothing is converted
    state_.thread.start(*this);
    take_turns(request);
  }

 private:
  void run() noexcept override { result_ = access_.conclude(access_.transfer()); }
  bool advance() noexcept override { return is_done(); }

  Access access_;
};

// Waits for the shared pointer and for the lock of atomic mode, then transfers.
class SharedWork final : public TurnsWork {
 public:
  SharedWork(const Transfer& transfer, const Access& access) noexcept
      : TurnsWork(transfer), access_(access), lock_(state_, transfer.writes) {}
  void start(Request& request) noexcept override {
    state_.coordinator.fetch_add(access_.etypes(), question_);
    take_turns(request);
  }

 private:
  bool advance() noexcept override {
    if (!question_.answered) {
      if (!runtime().engine().peers().is_gone(state_.coordinator.owner())) return false;
      state_.coordinator.abandon(question_);
      result_.failure = lost_owner(state_);
      return true;
    }
    if (!lock_.advance()) return false;
    access_.set_position(question_.value);
    result_ = access_.run_with(lock_);
    return true;
  }

  Access access_;
  io::Question question_;
  AtomicLock lock_;
};

// A collective transfer. It begins when those that began before it on the same file are over.
class CollectiveWork final : public TurnsWork {
 public:
  CollectiveWork(const Transfer& transfer, bool ordered) noexcept
      : TurnsWork(transfer), operation_(transfer, ordered, true) {}
  void start(Request& request) noexcept override {
    state_.background.push_back(this);
    take_turns(request);
  }

 private:
  bool advance() noexcept override {
    if (state_.background.front() != this || !operation_.advance()) return false;
    state_.background.pop_front();
    result_ = operation_.result();
    return true;
  }

  CollectiveAccess operation_;
};

int hand_out(const File& file, std::unique_ptr<Work> work, MPI_Request* request) noexcept {
  *request = handle_of(new_work(file.comm, std::move(work), false));
  return MPI_SUCCESS;
}

}  // namespace

int start_alone(Call& call, const Transfer& transfer, MPI_Request* request) noexcept {
  Access access(transfer);
  if (Failure failure = access.prepare()) return fail(call, failure);
  if (transfer.pointer == Pointer::shared)
    return hand_out(*transfer.file, std::make_unique<SharedWork>(transfer, access), request);
  if (Failure failure = access.take_position()) return fail(call, failure);
  if (access.suits_thread())
    return hand_out(*transfer.file, std::make_unique<ThreadWork>(transfer, access), request);
  return hand_out(*transfer.file, std::make_unique<DoneWork>(*transfer.file, access.run()), request);
}

Request* start_together(const Transfer& transfer, bool ordered) noexcept {
  return new_work(transfer.file->comm, std::make_unique<CollectiveWork>(transfer, ordered), false);
}

TransferResult run_together(const Transfer& transfer, bool ordered) noexcept {
  await_background(state_of(*transfer.file));
  CollectiveAccess operation(transfer, ordered, false);
  (void)operation.advance();
  return operation.result();
}

}  // namespace herald::mpi
