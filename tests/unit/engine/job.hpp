// SPDX-License-Identifier: BSD-3-Clause
// tests/unit/engine/job.hpp: several forked processes with an engine each, and a Boot that keeps its values
// in memory that they share. A child says what it thinks by its exit code; the parent waits for each with a
// limit.
#pragma once
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "boot/boot.hpp"
#include "engine/engine.hpp"

namespace herald::test {

struct SharedTable {
  static constexpr int kMostRanks = 64;
  std::atomic<int> arrived;
  std::atomic<int> round;
  char values[2][kMostRanks][4096];  // of two keys, which differ in their last letter
};

class FakeBoot final : public boot::Boot {
 public:
  FakeBoot(SharedTable& table, int rank, int size) : table_(table), rank_(rank), size_(size) {
    for (int i = 0; i < size; ++i) ranks_.push_back(i);
  }
  const char* name() const noexcept override { return "fake"; }
  int rank() const noexcept override { return rank_; }
  int size() const noexcept override { return size_; }
  int app_number() const noexcept override { return -1; }
  int universe_size() const noexcept override { return -1; }
  std::span<const int> local_ranks() const noexcept override { return ranks_; }
  Status put(std::string_view key, std::string_view value) override {
    std::snprintf(value_of(rank_, key), sizeof table_.values[0][0], "%.*s", static_cast<int>(value.size()),
                  value.data());
    return Status::ok;
  }
  Status fence() override {
    const int round = table_.round.load();
    if (table_.arrived.fetch_add(1) + 1 == size_) {
      table_.arrived.store(0);
      table_.round.fetch_add(1);
    }
    while (table_.round.load() == round) sched_yield();
    return Status::ok;
  }
  Status refuse(Status status, std::string) override { return status; }
  Status get(int rank, std::string_view key, std::string& value) override {
    value = value_of(rank, key);
    return Status::ok;
  }
  void abort(const boot::Abort& abort) noexcept override { _exit(abort.status()); }
  Status finalize() override { return Status::ok; }
  const std::string& last_error() const noexcept override { return error_; }

 private:
  char* value_of(int rank, std::string_view key) {
    return table_.values[key.empty() ? 0 : key.back() & 1][rank];
  }
  SharedTable& table_;
  int rank_, size_;
  std::vector<int> ranks_;
  std::string error_;
};

// Check in a child: prints and leaves with code 1.
#define CHILD_CHECK(condition)                                                                 \
  do {                                                                                         \
    if (!(condition)) {                                                                        \
      std::fprintf(stderr, "child %d: %s:%d: %s\n", getpid(), __FILE__, __LINE__, #condition); \
      _exit(1);                                                                                \
    }                                                                                          \
  } while (0)

class Job {
 public:
  using Main = std::function<void(engine::Engine&, boot::Boot&)>;
  Job() {
    void* memory =
        mmap(nullptr, sizeof(SharedTable), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    table_ = new (memory) SharedTable{};
  }
  ~Job() { munmap(table_, sizeof(SharedTable)); }

  Knobs knobs;
  bool threads_multiple = false;
  std::function<void(int rank, Knobs& knobs)> adjust;  // what differs between ranks; may be empty

  // True if every child came to its end and left with 0 within the limit. `main` runs in each child.
  bool run(int size, const Main& main, int limit_s = 60) {
    std::vector<pid_t> children;
    for (int rank = 0; rank < size; ++rank) {
      const pid_t pid = fork();
      if (pid == 0) child(rank, size, main);
      children.push_back(pid);
    }
    bool good = true;
    statuses_.assign(children.size(), -1);
    const time_t end = time(nullptr) + limit_s;
    for (std::size_t i = 0; i < children.size(); ++i) good = reap(children[i], i, end) && good;
    return good;
  }

  // As from waitpid(), by rank; -1: ended by us.
  const std::vector<int>& statuses() const { return statuses_; }

 private:
  [[noreturn]] void child(int rank, int size, const Main& main) {
    FakeBoot boot(*table_, rank, size);
    std::string why;
    if (adjust) adjust(rank, knobs);
    auto engine = engine::Engine::open(boot, knobs, threads_multiple, why);
    if (!engine) {
      std::fprintf(stderr, "rank %d: %s\n", rank, why.c_str());
      _exit(2);
    }
    main(*engine, boot);
    engine->close();
    if (engine->peers().has_remote()) (void)boot.fence();
    engine->end();
    engine.reset();
    _exit(0);
  }
  bool reap(pid_t pid, std::size_t rank, time_t end) {
    int status = 0;
    while (waitpid(pid, &status, WNOHANG) == 0) {
      if (time(nullptr) > end) {
        std::fprintf(stderr, "rank %zu did not end in time\n", rank);
        kill(pid, SIGKILL);
        waitpid(pid, &status, 0);
        return false;  // its status stays -1
      }
      usleep(1000);
    }
    statuses_[rank] = status;
    return status == 0;
  }
  SharedTable* table_;
  std::vector<int> statuses_;
};

// Calls over the engine, as the mpi room makes them.
template <class Op>
void start(engine::Engine& engine, Op& op) {
  engine.lock().enter();
  engine.messages().start(op);
  engine.lock().leave();
}

inline void wait(engine::Engine& engine, p2p::Op& op) {
  engine.lock().enter();
  while (!op.done) engine.wait_turn();
  engine.lock().leave();
}

inline void prepare(p2p::SendOp& op, int me, int to, int tag, const void* data, std::size_t bytes) {
  op.context = 7;
  op.source = me;
  op.to = to;
  op.tag = tag;
  op.data = type::Cursor::bytes(const_cast<void*>(data), bytes);
}

inline void prepare(p2p::RecvOp& op, int from, int tag, void* data, std::size_t bytes) {
  op.context = 7;
  op.source = op.awaited = from;
  op.tag = tag;
  op.data = type::Cursor::bytes(data, bytes);
}

inline void send(engine::Engine& engine, int to, int tag, const void* data, std::size_t bytes,
                 p2p::SendMode mode = p2p::SendMode::standard) {
  p2p::SendOp op;
  prepare(op, engine.peers().rank(), to, tag, data, bytes);
  op.mode = mode;
  start(engine, op);
  wait(engine, op);
}

inline std::uint64_t receive(engine::Engine& engine, int from, int tag, void* data, std::size_t bytes) {
  p2p::RecvOp op;
  prepare(op, from, tag, data, bytes);
  start(engine, op);
  wait(engine, op);
  return op.bytes;
}

}  // namespace herald::test
