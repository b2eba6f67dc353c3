// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong between hosts (here: processes that may use UDP only, over the loopback interface):
// bytes lost, doubled or out of order; a process that sleeps though datagrams came; one that computes and is
// taken for dead; one that is dead and waited for; acknowledgements that nobody gives at the end.
#include <gtest/gtest.h>

#include <thread>

#include "tests/unit/engine/traffic.hpp"

using namespace herald;
using namespace herald::test;

namespace {

struct FarJob : Job {
  FarJob() {
    knobs.path = "udp";
    knobs.if_ = "lo";
    knobs.detect_ms = 60000;  // a slow machine is no dead one
  }
};

int deaths = 0;
void count_death(p2p::PeerId) { ++deaths; }

}  // namespace

TEST(Far, two_processes_exchange_short_and_long_messages) {
  for (const std::int64_t spin_us : {0, 50}) {
    FarJob job;
    job.knobs.spin_us = spin_us;
    EXPECT_TRUE(job.run(2, [](engine::Engine& engine, boot::Boot&) {
      CHILD_CHECK(!engine.peers().is_local(1 - engine.peers().rank()) &&
                  engine.peers().is_local(engine.peers().rank()));
      ping_pong(engine);
    }));
  }
}

TEST(Far, the_same_by_tcp_only) {
  for (const int size : {2, 4}) {
    FarJob job;
    job.knobs.path = "tcp";
    EXPECT_TRUE(job.run(size, [](engine::Engine& engine, boot::Boot&) { all_to_all(engine, 24); })) << size;
  }
}

TEST(Far, all_to_all_of_2_4_and_8_processes) {
  for (int size : {2, 4, 8}) {
    FarJob job;
    EXPECT_TRUE(job.run(size, [](engine::Engine& engine, boot::Boot&) { all_to_all(engine, 24); })) << size;
  }
}

TEST(Far, the_other_ways_to_push_and_to_repair) {
  for (const char* mode : {"zero", "all"}) {
    FarJob job;
    job.knobs.baseline = std::string("repair=go_back_n,push=") + mode;
    EXPECT_TRUE(job.run(3, [](engine::Engine& engine, boot::Boot&) { all_to_all(engine, 24); })) << mode;
  }
}

TEST(Far, little_allowance_and_little_buffer) {
  FarJob job;
  job.knobs.unexpected_bytes = 2000;
  job.knobs.tuning.net_push_bytes = 3000;
  job.knobs.tuning.net_switch_bytes = 16384;
  EXPECT_TRUE(job.run(4, [](engine::Engine& engine, boot::Boot&) { all_to_all(engine, 40); }));
}

namespace {

// With 0 it sleeps when it comes back, before it has looked at what is due.
void compute_for_long(std::int64_t spin_us) {
  FarJob job;
  job.knobs.detect_ms = 500;
  job.knobs.spin_us = spin_us;
  EXPECT_TRUE(job.run(2, [](engine::Engine& engine, boot::Boot&) {
    engine.peers().when_peer_dies(count_death);
    std::vector<unsigned char> data(200000), back(data.size());
    fill(data, 1);
    if (engine.peers().rank() == 0) {
      for (int tag = 0; tag < 4; ++tag) send(engine, 1, tag, data.data(), tag == 3 ? data.size() : 1000);
    } else {
      usleep(2'500'000);  // five times the detection time without a call
      for (int tag = 0; tag < 4; ++tag) {
        std::fill(back.begin(), back.end(), 0);
        const std::size_t bytes = tag == 3 ? data.size() : 1000;
        CHILD_CHECK(receive(engine, 0, tag, back.data(), bytes) == bytes);
        CHILD_CHECK(
            std::equal(back.begin(), back.begin() + static_cast<std::ptrdiff_t>(bytes), data.begin()));
      }
    }
    CHILD_CHECK(deaths == 0);
  }));
}

}  // namespace

TEST(Far, who_computes_is_not_dead_and_loses_nothing) { compute_for_long(-1); }
TEST(Far, who_computes_and_then_sleeps_is_not_dead_and_loses_nothing) { compute_for_long(0); }

TEST(Far, a_dead_peer_is_noticed_by_who_waits_for_it_and_by_who_sends_to_it) {
  FarJob job;
  job.knobs.detect_ms = 300;
  (void)job.run(3, [](engine::Engine& engine, boot::Boot&) {
    engine.peers().when_peer_dies(count_death);
    unsigned char byte = 0;
    if (engine.peers().rank() == 2) _exit(3);
    std::vector<unsigned char> data(1000000);
    p2p::RecvOp op;
    prepare(op, 2, 1, &byte, 1);
    p2p::SendOp out;
    prepare(out, engine.peers().rank(), 2, 1, data.data(), data.size());
    if (engine.peers().rank() == 0) {
      send(engine, 1, 9, data.data(), data.size());
      start(engine, out);
      wait(engine, out);
      CHILD_CHECK(out.status == Status::peer_lost);
    } else {
      CHILD_CHECK(receive(engine, 0, 9, data.data(), data.size()) == data.size());
      start(engine, op);
      engine.lock().enter();
      while (deaths == 0) engine.wait_turn();
      engine.lock().leave();
      engine.messages().cancel(op);
    }
    CHILD_CHECK(deaths == 1 && engine.peers().is_gone(2));
    engine.close();
    engine.end();
    _exit(0);  // a fence would wait for the dead
  });
  EXPECT_EQ(job.statuses()[0], 0);
  EXPECT_EQ(job.statuses()[1], 0);
}

TEST(Far, threads_of_one_process_wait_for_messages_of_others) {
  FarJob job;
  job.threads_multiple = true;
  job.knobs.spin_us = 0;
  EXPECT_TRUE(job.run(2, [](engine::Engine& engine, boot::Boot&) {
    const int other = 1 - engine.peers().rank();
    std::vector<std::thread> threads;
    for (int tag = 0; tag < 4; ++tag)
      threads.emplace_back([&engine, other, tag] {
        for (int i = 0; i < 100; ++i) {
          int value = i * 10 + tag, got = -1;
          engine.lock().enter();
          if (engine.peers().rank() == 0) send(engine, other, tag, &value, sizeof value);
          CHILD_CHECK(receive(engine, other, tag, &got, sizeof got) == sizeof got && got == value);
          if (engine.peers().rank() == 1) send(engine, other, tag, &value, sizeof value);
          engine.lock().leave();
        }
      });
    for (std::thread& thread : threads) thread.join();
  }));
}
