// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong with the thread that goes on while the program computes: nothing moves until the
// program calls; it spins where nothing is under way; a ring is lost when the program comes and goes; it is
// in the engine together with the program; the end waits for it for ever.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "tests/unit/engine/job.hpp"

using namespace herald;
using namespace herald::test;

namespace {

constexpr std::size_t kLong = 3'000'000;

bool is_done(engine::Engine& engine, const p2p::Op& op) {  // takes no turn
  engine.lock().enter();
  const bool done = op.done;
  engine.lock().leave();
  return done;
}

bool done_by_itself(engine::Engine& engine, const p2p::Op& op) {
  for (int i = 0; i < 20000 && !is_done(engine, op); ++i) usleep(1000);
  return is_done(engine, op);
}

double used_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

}  // namespace

TEST(ThreadState, long_messages_come_and_go_while_the_program_is_elsewhere) {
  for (const char* cma : {"auto", "off"}) {
    Job job;
    job.knobs.progress = "thread";
    job.knobs.cma = cma;
    EXPECT_TRUE(job.run(2, [](engine::Engine& engine, boot::Boot& boot) {
      std::vector<char> out(kLong, static_cast<char>(engine.peers().rank() + 1)), in(kLong);
      p2p::RecvOp recv;
      p2p::SendOp send;
      prepare(recv, 1 - engine.peers().rank(), 1, in.data(), in.size());
      prepare(send, engine.peers().rank(), 1 - engine.peers().rank(), 1, out.data(), out.size());
      start(engine, recv);
      start(engine, send);
      CHILD_CHECK(done_by_itself(engine, recv) && done_by_itself(engine, send));
      CHILD_CHECK(in.front() == 2 - engine.peers().rank() && in.back() == 2 - engine.peers().rank());
      (void)boot.fence();
    })) << cma;
  }
}

TEST(ThreadState, between_hosts_too) {
  Job job;
  job.knobs.progress = "thread";
  job.knobs.path = "udp";
  EXPECT_TRUE(job.run(2, [](engine::Engine& engine, boot::Boot& boot) {
    std::vector<char> data(kLong, 5);
    p2p::RecvOp recv;
    p2p::SendOp send;
    if (engine.peers().rank() == 0) {
      prepare(send, 0, 1, 1, data.data(), data.size());
      start(engine, send);
      CHILD_CHECK(done_by_itself(engine, send));
    } else {
      std::vector<char> in(kLong);
      prepare(recv, 0, 1, in.data(), in.size());
      start(engine, recv);
      CHILD_CHECK(done_by_itself(engine, recv));
      CHILD_CHECK(recv.status == Status::ok);
      CHILD_CHECK(in == data);
    }
    (void)boot.fence();
  }));
}

TEST(ThreadState, calls_that_wait_and_the_thread_get_along) {
  Job job;
  job.knobs.progress = "thread";
  EXPECT_TRUE(job.run(2, [](engine::Engine& engine, boot::Boot&) {
    std::vector<char> data(100'000);
    for (int i = 0; i < 2000; ++i) {
      const std::size_t bytes = i % 7 == 0 ? data.size() : 8;
      data[0] = static_cast<char>(i);
      if (engine.peers().rank() == 0) send(engine, 1, i, data.data(), bytes);
      if (engine.peers().rank() == 1) {
        data[0] = -1;
        CHILD_CHECK(receive(engine, 0, i, data.data(), bytes) == bytes && data[0] == static_cast<char>(i));
      }
      if (i % 100 == 0) usleep(1000);
    }
  }));
}

TEST(ThreadState, it_sleeps_when_there_is_nothing_to_do) {
  Job job;
  job.knobs.progress = "thread";
  EXPECT_TRUE(job.run(2, [](engine::Engine& engine, boot::Boot& boot) {
    char byte = 1;
    p2p::RecvOp recv;
    prepare(recv, 1 - engine.peers().rank(), 1, &byte, 1);
    start(engine, recv);  // and so it listens
    const double before = used_seconds();
    usleep(1'000'000);
    CHILD_CHECK(used_seconds() - before < 0.1);
    send(engine, 1 - engine.peers().rank(), 1, &byte, 1);
    CHILD_CHECK(done_by_itself(engine, recv));
    (void)boot.fence();
  }));
}
