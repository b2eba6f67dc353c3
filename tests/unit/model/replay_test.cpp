// SPDX-License-Identifier: BSD-3-Clause
// A replay against times computed by hand: computation that hides a message counted twice, a rank that leaves
// a collective before the last one has come, or two messages through a port at once.
#include "model/replay.hpp"

#include <gtest/gtest.h>

namespace herald::model {
namespace {

using Does = Action::Kind;

// O_s 10, L 100 + bytes, ports 1 a byte, O_r 20, U_r 5; messages of more than 1000 bytes wait.
Parameters port_cluster() {
  Parameters all;
  PathParameters& udp = all.of(Path::udp);
  udp.send_overhead = Function::line(10, 0);
  udp.latency = Function::line(100, 1);
  udp.send_gap = udp.recv_gap = Function::line(0, 1);
  udp.recv_overhead = Function::line(20, 0);
  udp.user_recv = Function::line(5, 0);
  udp.eager_bytes = 1000;
  udp.packet_bytes = 100;
  return all;
}

TEST(Replay, a_receiver_waits_for_its_message) {
  Program program;
  program.host = {0, 1};
  program.messages = {{0, 1, 100, 1}};
  program.ranks = {{{Does::compute, 0, 1000}, {Does::send, 0, 0}},
                   {{Does::recv, 0, 0}, {Does::await_recv, 0, 0}}};
  const Replayed got = replay(program, port_cluster());
  EXPECT_EQ(got.stuck, -1);
  EXPECT_DOUBLE_EQ(got.ns, 1000 + 10 + 200 + 20 + 5);
  EXPECT_DOUBLE_EQ(got.shares.computing, 500);  // mean of two ranks
  EXPECT_DOUBLE_EQ(got.shares.waiting,
                   (1000 + 235) / 2.0);  // for the sender, and for the end of the other rank
  EXPECT_DOUBLE_EQ(got.shares.wire, 100);
  EXPECT_DOUBLE_EQ(got.message_ns[0], 235);
}

TEST(Replay, computation_hides_a_message_that_is_under_way) {
  Program program;
  program.host = {0, 1};
  program.messages = {{0, 1, 100, 1}};
  program.ranks = {{{Does::send, 0, 0}},
                   {{Does::recv, 0, 0}, {Does::compute, 0, 900}, {Does::await_recv, 0, 0}}};
  EXPECT_DOUBLE_EQ(replay(program, port_cluster()).ns, 900);
  EXPECT_DOUBLE_EQ(replay(program, port_cluster(), 10).ns, 235);
}

TEST(Replay, a_long_message_leaves_when_its_receiver_is_ready) {
  Program program;
  program.host = {0, 1};
  program.messages = {{0, 1, 5000, 1}};
  program.ranks = {{{Does::send, 0, 0}, {Does::await_send, 0, 0}},
                   {{Does::compute, 0, 3000}, {Does::recv, 0, 0}, {Does::await_recv, 0, 0}}};
  const Replayed got = replay(program, port_cluster());
  EXPECT_GT(got.end_ns[0], 3000 + 5000);
  EXPECT_GE(got.end_ns[0], got.end_ns[1]);  // it learns of the end
}

TEST(Replay, two_senders_share_the_port_of_a_receiver) {
  Program program;
  program.host = {0, 1, 2};
  program.messages = {{1, 0, 1000, 1}, {2, 0, 1000, 1}};
  program.ranks = {
      {{Does::recv, 0, 0}, {Does::recv, 1, 0}, {Does::await_recv, 0, 0}, {Does::await_recv, 1, 0}},
      {{Does::send, 0, 0}},
      {{Does::send, 1, 0}}};
  const Replayed got = replay(program, port_cluster());
  EXPECT_GE(got.ns, 2000);
  EXPECT_GT(got.shares.contention, 0);
}

TEST(Replay, ranks_leave_a_collective_when_those_have_come_that_they_need) {
  Program program;
  program.host = {0, 1, 2};
  JoinedCall call;
  call.members = {0, 1, 2};
  call.ns = 50, call.other_ns = 7;
  call.split.wire = 50;
  const auto run = [&](Flow flow) {
    call.flow = flow;
    call.root = flow == Flow::from_root || flow == Flow::to_root ? 1 : -1;
    program.calls = {call};
    program.ranks.assign(3, {});
    for (std::size_t rank = 0; rank < 3; ++rank)
      program.ranks[rank] = {{Does::compute, 0, 100.0 * static_cast<double>(rank)},
                             {Does::join, 0, 0},
                             {Does::await_join, 0, 0}};
    return replay(program, port_cluster()).end_ns;
  };
  EXPECT_EQ(run(Flow::all), (std::vector<double>{250, 250, 250}));
  EXPECT_EQ(run(Flow::prefix), (std::vector<double>{50, 150, 250}));
  EXPECT_EQ(run(Flow::from_root), (std::vector<double>{150, 107, 200}));
  EXPECT_EQ(run(Flow::to_root), (std::vector<double>{7, 250, 207}));
}

TEST(Replay, a_rank_that_waits_for_ever_is_named) {
  Program program;
  program.host = {0, 1};
  program.messages = {{0, 1, 100, 1}};
  program.ranks = {{}, {{Does::recv, 0, 0}, {Does::await_recv, 0, 0}}};
  EXPECT_EQ(replay(program, port_cluster()).stuck, 1);
}

}  // namespace
}  // namespace herald::model
