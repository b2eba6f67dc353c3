// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: bytes lost, doubled or out of order between processes; a full inbox or a sleeping peer
// that nobody wakes (hangs); memory of peers torn down while somebody writes; files left in /dev/shm.
#include <dirent.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "base/prng.hpp"
#include "engine/clock.hpp"
#include "path/shm/segment.hpp"
#include "tests/unit/engine/traffic.hpp"
#include "wire/p2p_packet.hpp"

using namespace herald;
using namespace herald::test;
using Main = Job::Main;

namespace {

int segments_in_shm() {
  const std::string prefix = "herald-" + std::to_string(geteuid()) + "-p" + std::to_string(getpid()) + "-";
  int count = 0;
  DIR* listing = opendir("/dev/shm");
  while (const dirent* entry = readdir(listing))
    count += std::strncmp(entry->d_name, prefix.c_str(), prefix.size()) == 0;
  closedir(listing);
  return count;
}

}  // namespace

TEST(Exchange, two_processes_exchange_short_and_long_messages) {
  Job job;
  EXPECT_TRUE(job.run(2, [](engine::Engine& engine, boot::Boot&) { ping_pong(engine); }));
  EXPECT_EQ(segments_in_shm(), 0);
}

TEST(Exchange, all_to_all_of_2_4_and_16_processes) {
  for (int size : {2, 4, 16}) {
    Job job;
    EXPECT_TRUE(job.run(size, [](engine::Engine& engine, boot::Boot&) { all_to_all(engine, 24); })) << size;
  }
  EXPECT_EQ(segments_in_shm(), 0);
}

TEST(Exchange, tiny_inboxes_fill_up_and_nothing_hangs) {
  for (const std::uint32_t rings : {0u, 1u, 8u}) {
    Job job;
    job.knobs.tuning.shm_cells = 8;
    job.knobs.tuning.shm_rings = rings;
    job.knobs.tuning.push_bytes = 100;
    job.knobs.tuning.cma_bytes = 4096;
    EXPECT_TRUE(job.run(4, [](engine::Engine& engine, boot::Boot&) { all_to_all(engine, 40); })) << rings;
  }
}

TEST(Exchange, a_receiver_that_does_not_look_is_waited_for_and_a_sender_that_closes_is_complete) {
  Job job;
  job.knobs.tuning.shm_cells = 8;
  job.knobs.tuning.shm_rings = 0;
  EXPECT_TRUE(job.run(2, [](engine::Engine& engine, boot::Boot&) {
    constexpr int kMessages = 200;
    if (engine.peers().rank() == 0) {
      // All are started; close() has to bring them over.
      static std::vector<int> values(kMessages);
      static std::vector<p2p::SendOp> ops(kMessages);
      for (int i = 0; i < kMessages; ++i) {
        values[i] = i;
        prepare(ops[i], 0, 1, 9, &values[i], sizeof(int));
        engine.messages().start(ops[i]);
      }
      CHILD_CHECK(!ops.back().done);  // the inbox has 8 cells
    } else {
      usleep(200000);
      for (int i = 0; i < kMessages; ++i) {
        int value = -1;
        receive(engine, 0, 9, &value, sizeof value);
        CHILD_CHECK(value == i);
      }
    }
  }));
}

TEST(Exchange, a_send_to_a_peer_that_has_left_ends_with_peer_lost) {
  Job job;
  EXPECT_TRUE(job.run(2, [](engine::Engine& engine, boot::Boot&) {
    if (engine.peers().rank() == 1) return;
    std::vector<char> data(1000000);
    p2p::SendOp op;
    prepare(op, 0, 1, 1, data.data(), data.size());
    engine.messages().start(op);
    wait(engine, op);
    CHILD_CHECK(op.status == Status::peer_lost);
  }));
}

// Data that a peer wrote before it left still counts, even if we find out by its closed inbox before we have
// read it.
TEST(Exchange, the_last_bytes_of_a_peer_that_has_left_arrive) {
  Job job;
  job.knobs.cma = "off";  // else it could not leave before we have taken them
  EXPECT_TRUE(job.run(2, [](engine::Engine& engine, boot::Boot&) {
    std::vector<unsigned char> data(40000), expected(40000);  // all fit into inbox and ring
    fill(expected, 1);
    if (engine.peers().rank() == 1) return send(engine, 0, 1, expected.data(), expected.size());
    p2p::RecvOp recv;
    prepare(recv, 1, 1, data.data(), data.size());
    engine.messages().start(recv);
    while (recv.phase != p2p::RecvPhase::pulling) engine.wait_turn();
    usleep(300000);                               // it sends all, and leaves
    std::vector<p2p::SendOp> into_nothing(6000);  // more than inbox and ring hold
    for (p2p::SendOp& op : into_nothing) {
      prepare(op, 0, 1, 2, data.data(), 1);
      engine.messages().start(op);
    }
    wait(engine, recv);
    CHILD_CHECK(recv.status == Status::ok && data == expected);
    for (p2p::SendOp& op : into_nothing) wait(engine, op);
    CHILD_CHECK(into_nothing.back().status == Status::peer_lost);
  }));
}

// A rank that is done first must not take its name away from peers that are still on their way to it.
TEST(Exchange, processes_that_do_nothing_but_open_and_close) {
  for (int i = 0; i < 20; ++i) {
    Job job;
    EXPECT_TRUE(job.run(8, [](engine::Engine&, boot::Boot&) {}));
  }
  EXPECT_EQ(segments_in_shm(), 0);
}

TEST(Exchange, a_peer_that_was_killed_is_noticed) {
  Job job;
  const Main main = [](engine::Engine& engine, boot::Boot&) {
    if (engine.peers().rank() == 1) kill(getpid(), SIGKILL);
    std::vector<char> data(1000000);
    p2p::SendOp op;
    prepare(op, 0, 1, 1, data.data(), data.size());
    engine.messages().start(op);
    wait(engine, op);
    CHILD_CHECK(op.status == Status::peer_lost);
  };
  EXPECT_FALSE(job.run(2, main, 20));
  EXPECT_EQ(job.statuses(), (std::vector<int>{0, SIGKILL}));
  EXPECT_EQ(segments_in_shm(), 0);
}

// Under 2 % of a processor while it waits, alone or beside others that compute.
TEST(Exchange, a_blocked_process_sleeps) {
  const auto used = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
  };
  for (const int ranks : {2, 5}) {
    Job job;
    EXPECT_TRUE(job.run(ranks, [&](engine::Engine& engine, boot::Boot& boot) {
      char byte = 0;
      (void)boot.fence();
      const double before = used();
      if (engine.peers().rank() == 0) {
        receive(engine, 1, 1, &byte, 1);
        CHILD_CHECK(used() - before < 0.02);
      } else if (engine.peers().rank() == 1) {
        sleep(1);
        send(engine, 0, 1, &byte, 1);
      } else {
        const time_t end = time(nullptr) + 2;
        while (time(nullptr) < end) {
        }
      }
    })) << ranks;
  }
}

TEST(Exchange, shared_memory_of_64_ranks_is_less_than_64_mib) {
  const Tuning tuning;
  const auto shape = path::InboxShape::make(tuning.shm_cells, wire::kLargestHeader + tuning.push_bytes, 64);
  const std::uint64_t inboxes = 64 * (sizeof(path::SegmentHeader) + path::kSideBytes + shape.bytes());
  EXPECT_LT(inboxes + tuning.coll_segments_bytes, std::uint64_t{64} << 20);
}

// A sleeper looks again after 100 ms anyway, so a ring that is missing shows only in the time. Without rings,
// each of these exchanges would take that long.
TEST(Exchange, sleepers_are_rung_for_messages) {
  Job job;
  job.knobs.spin_us = 0;
  EXPECT_TRUE(job.run(2, [](engine::Engine& engine, boot::Boot&) {
    constexpr int kTurns = 100;
    const Instant begin = engine::read_clock();
    for (std::size_t bytes : {1u, 1000000u}) {
      std::vector<char> data(bytes);
      for (int i = 0; i < kTurns; ++i) {
        if (i % 2 == engine.peers().rank()) {
          usleep(500);  // the other sleeps by now
          send(engine, 1 - engine.peers().rank(), 1, data.data(), bytes);
        } else {
          receive(engine, 1 - engine.peers().rank(), 1, data.data(), bytes);
        }
      }
    }
    CHILD_CHECK(engine::read_clock() - begin < milliseconds(kTurns * 100 / 2));
  }));
}

TEST(Exchange, sleepers_are_rung_for_room) {
  for (const std::uint32_t rings : {0u, 1u}) {
    Job job;
    job.knobs.spin_us = 0;
    job.knobs.tuning.shm_cells = 8;
    job.knobs.tuning.shm_rings = rings;
    EXPECT_TRUE(job.run(2, [rings](engine::Engine& engine, boot::Boot&) {
      constexpr std::size_t kMessages = 800;  // the inbox is full a hundred times; the ring as often
      const std::size_t bytes = rings == 0 ? 1 : 4000;
      const Instant begin = engine::read_clock();
      std::vector<char> data(bytes);
      std::vector<p2p::SendOp> ops(kMessages);
      if (engine.peers().rank() == 0)
        for (p2p::SendOp& op : ops) {
          prepare(op, 0, 1, 2, data.data(), bytes);
          engine.messages().start(op);
        }
      for (std::size_t i = 0; i < kMessages; ++i) {
        if (engine.peers().rank() == 0) wait(engine, ops[i]);
        if (engine.peers().rank() == 1 && i % 8 == 0) usleep(500);
        if (engine.peers().rank() == 1) receive(engine, 0, 2, data.data(), bytes);
      }
      CHILD_CHECK(engine::read_clock() - begin < milliseconds(4000));
    })) << rings;
  }
}

// A sender that gets a ring changes its way between two messages; and there are fewer rings than senders.
TEST(Exchange, messages_stay_in_order_when_a_ring_takes_over) {
  for (const std::uint32_t rings : {0u, 1u, 2u, 8u}) {
    Job job;
    job.knobs.tuning.shm_rings = rings;
    EXPECT_TRUE(job.run(4, [](engine::Engine& engine, boot::Boot&) {
      constexpr int kMessages = 100;
      if (engine.peers().rank() != 0) {
        for (int i = 0; i < kMessages; ++i) send(engine, 0, 1, &i, sizeof i);
        int all = 0;
        return (void)receive(engine, 0, 2, &all, sizeof all);
      }
      int value = -1;
      for (int i = 0; i < kMessages; ++i)
        for (int from = 1; from < 4; ++from) {
          CHILD_CHECK(receive(engine, from, 1, &value, sizeof value) == sizeof value && value == i);
        }
      for (int to = 1; to < 4; ++to) send(engine, to, 2, &value, sizeof value);
    })) << rings;
  }
}

// A receive that polls for its message might overtake another one, or starve the messages of other peers.
TEST(Exchange, polled_receives_keep_the_order_and_serve_other_peers) {
  Job job;
  EXPECT_TRUE(job.run(3, [](engine::Engine& engine, boot::Boot&) {
    constexpr int kTurns = 200;
    const auto now = [&](int from, int tag, int& value) {
      p2p::RecvOp op;
      prepare(op, from, tag, &value, sizeof value);
      op.awaited = from;
      engine.messages().start_and_poll(op);
      if (!op.done) wait(engine, op);
      CHILD_CHECK(op.done && op.status == Status::ok && op.bytes == sizeof value && op.from_source == from &&
                  op.from_tag == tag);
    };
    int value = 0;
    if (engine.peers().rank() == 2) {  // its only message is to be taken while the two others talk
      std::vector<char> data(100000);
      return send(engine, 0, 7, data.data(), data.size());
    }
    std::vector<char> data(100000);
    p2p::RecvOp side;
    prepare(side, 2, 7, data.data(), data.size());
    if (engine.peers().rank() == 0) start(engine, side);
    const int other = 1 - engine.peers().rank();
    for (int i = 0; i < kTurns; ++i) {
      const int tag = i % 3;
      value = i;
      if (engine.peers().rank() == 0) {
        send(engine, other, 3, &value, sizeof value);  // comes first and is received last
        send(engine, other, tag, &value, sizeof value);
      }
      now(other, tag, value);
      CHILD_CHECK(value == i);
      if (engine.peers().rank() == 1) {
        now(other, 3, value);
        CHILD_CHECK(value == i);
        send(engine, other, tag, &value, sizeof value);
      }
    }
    if (engine.peers().rank() == 0) wait(engine, side);
  }));
}

TEST(Exchange, huge_message) {
  Job job;
  EXPECT_TRUE(job.run(2, [](engine::Engine& engine, boot::Boot&) {
    const std::size_t bytes = (std::size_t{1} << 26) + 12345;
    std::vector<unsigned char> data(bytes);
    if (engine.peers().rank() == 0) {
      for (std::size_t i = 0; i < bytes; i += 4093) data[i] = static_cast<unsigned char>(i);
      send(engine, 1, 1, data.data(), bytes);
    } else {
      CHILD_CHECK(receive(engine, 0, 1, data.data(), bytes) == bytes);
      for (std::size_t i = 0; i < bytes; i += 4093) {
        CHILD_CHECK(data[i] == static_cast<unsigned char>(i));
        data[i] = 0;
      }
      CHILD_CHECK(std::memcmp(data.data(), data.data() + 1, bytes - 1) == 0);  // all of the rest is 0
    }
  }));
}
