// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: a packet that is lost while the program computes stays lost until the program returns.
#include "node/node.hpp"

#include <gtest/gtest.h>

namespace herald {
namespace {

constexpr wire::Seal kSeal{{1, 2}, 7};

TEST(Node, the_keep_alive_thread_repeats_packets_after_a_busy_turn_of_the_program) {
  p2p::CoreConfig core;
  core.peers = 2;
  node::Node node(core);
  node::NodeConfig config;
  config.mesh.peers = config.lanes.peers = 2;
  config.mesh.seal = config.lanes.seal = kSeal;
  node.connect(config, nullptr);
  node.add_peer(1, 1);

  Instant now{1'000'000'000};
  p2p::SendOp send;
  unsigned char byte = 1;
  send.to = 1;
  send.data = type::Cursor::bytes(&byte, 1);
  node.core().start(send);
  (void)node.pump(now, 1);
  rel::TxBatch batch;
  const auto transmit = [&] {
    while (node.poll_transmit(now, batch) != 0) {
    }
  };
  node.begin_turn(now, node::Caller::program);
  transmit();  // and the network loses it
  (void)node.end_turn(now, node::Caller::program, true);
  ASSERT_EQ(node.mesh().counters().resent, 0u);
  for (int i = 0; i < 10; ++i) {
    now = now + milliseconds(100);
    node.begin_turn(now, node::Caller::keep_alive);
    (void)node.end_turn(now, node::Caller::keep_alive, false);
    transmit();
  }
  EXPECT_GT(node.mesh().counters().resent, 0u);
  node.on_peer_gone(1);
}

}  // namespace
}  // namespace herald
