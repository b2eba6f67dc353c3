// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: a datagram arrives changed, merged with its neighbour, with the wrong sender, or
// without having been sent; UDP_SEGMENT and UDP_GRO change the datagrams; a dead peer, a network that is down
// or a full socket ends the process or blocks it.
#include "path/udp/udp.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>

#include "udp_pair.hpp"

using namespace herald::path;

namespace {

class UdpBoth : public testing::TestWithParam<std::tuple<bool, const char*>> {
 protected:
  Team make(int size) { return Team(size, std::get<0>(GetParam()), std::get<1>(GetParam())); }
};

}  // namespace

INSTANTIATE_TEST_SUITE_P(Udp, UdpBoth,
                         testing::Combine(testing::Bool(), testing::Values("127.0.0.0/8", "::1/128")),
                         [](const auto& each) {
                           return std::string(std::get<0>(each.param) ? "segments" : "plain") +
                                  (std::get<1>(each.param)[0] == ':' ? "_family_6" : "_family_4");
                         });

TEST_P(UdpBoth, datagrams_of_every_size_arrive_unchanged) {
  Team team = make(2);
  if (!team.ready()) GTEST_SKIP() << team.why();
  const std::uint32_t most = team.path(0).datagram_bytes();
  for (const std::uint32_t size : {0u, 1u, 20u, 1472u, 1473u, 9000u, most - 1, most}) {
    const Bytes sent = pattern(size, size);
    ASSERT_EQ(team.send(0, {{1, 0, sent}}), 1u) << size;
    const auto came = team.receive(1, 1);
    ASSERT_EQ(came.size(), 1u) << size;
    EXPECT_EQ(came[0].from, 0);
    EXPECT_EQ(came[0].link, 0);
    EXPECT_EQ(came[0].bytes, sent);
  }
}

TEST_P(UdpBoth, batches_of_equal_and_different_sizes_arrive_in_order) {
  Team team = make(2);
  if (!team.ready()) GTEST_SKIP() << team.why();
  for (const std::size_t count : {2u, 63u, 64u, 65u, 300u}) {
    std::vector<Bytes> sent;
    for (std::size_t i = 0; i < count; ++i) {
      // Runs of equal size, ended by a shorter, a longer or an empty datagram.
      const std::size_t size = i % 7 == 6 ? 100 : i % 40 == 39 ? 0 : i % 50 < 40 ? 300 : 301;
      sent.push_back(pattern(size, i));
    }
    std::vector<UdpSend> batch;
    for (const Bytes& bytes : sent) batch.push_back({1, 0, bytes});
    ASSERT_EQ(team.send(0, batch), count);
    const auto came = team.receive(1, count);
    ASSERT_EQ(came.size(), count);
    for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(came[i].bytes, sent[i]) << i;
  }
}

TEST_P(UdpBoth, a_batch_over_several_peers_reaches_each) {
  constexpr int kPeers = 5;
  Team team = make(kPeers);
  if (!team.ready()) GTEST_SKIP() << team.why();
  std::vector<Bytes> sent;
  std::vector<UdpSend> batch;
  for (std::size_t i = 0; i < 60; ++i) sent.push_back(pattern(100, i));
  for (std::size_t i = 0; i < sent.size(); ++i)
    batch.push_back({1 + static_cast<int>(i / 3) % 4, 0, sent[i]});
  ASSERT_EQ(team.send(0, batch), batch.size());
  for (int peer = 1; peer < kPeers; ++peer) {
    const auto came = team.receive(peer, 15);
    ASSERT_EQ(came.size(), 15u);
    std::size_t at = 0;
    for (std::size_t i = 0; i < batch.size(); ++i)
      if (batch[i].to == peer) {
        EXPECT_EQ(came[at].from, 0);
        EXPECT_EQ(came[at++].bytes, sent[i]);
      }
  }
  // And back: the sender is known.
  for (int peer = 1; peer < kPeers; ++peer) ASSERT_EQ(team.send(peer, {{0, 0, sent[0]}}), 1u);
  int seen = 0;
  for (const Came& each : team.receive(0, kPeers - 1)) seen |= 1 << each.from;
  EXPECT_EQ(seen, 0b11110);
}

TEST_P(UdpBoth, a_closed_peer_is_reported_and_the_others_still_receive) {
  Team team = make(3);
  if (!team.ready()) GTEST_SKIP() << team.why();
  team.close(1);
  const Bytes hello = pattern(10, 1);
  bool told = false;
  for (int tries = 0; tries < 1000 && !told; ++tries) {
    std::ptrdiff_t failed = -1;
    const std::vector<UdpSend> batch{{2, 0, hello}, {1, 0, hello}};
    const std::size_t left = team.path(0).send(batch, failed);
    told = failed == 1;
    EXPECT_EQ(left, told ? 1u : 2u);
    if (!told) usleep(1000);
    (void)team.path(0).receive();
    const auto came = team.receive(2, 1);
    ASSERT_EQ(came.size(), 1u);
    EXPECT_EQ(came[0].bytes, hello);
  }
  EXPECT_TRUE(told);
  // The error queue is drained: nothing would wake a sleeper again and again. On a busy machine the error may
  // arrive late.
  std::ptrdiff_t failed = -1;
  (void)team.path(0).send(std::vector<UdpSend>{{1, 0, hello}}, failed);
  bool quiet = false;
  for (int tries = 0; tries < 1000 && !quiet; ++tries) {
    usleep(2000);
    (void)team.path(0).receive();
    pollfd entry{team.path(0).descriptors()[0], POLLIN, 0};
    quiet = ::poll(&entry, 1, 0) == 0;
  }
  EXPECT_TRUE(quiet);
}

// A socket with one peer is connected to it: coalesced datagrams and errors must work as before.
TEST_P(UdpBoth, a_connected_pair_exchanges_datagrams_and_detects_its_end) {
  Team team = make(2);
  if (!team.ready()) GTEST_SKIP() << team.why();
  team.path(0).settle();
  team.path(1).settle();
  const Bytes one = pattern(92, 1);
  for (int round = 0; round < 3; ++round) {
    ASSERT_EQ(team.send(0, {{1, 0, one}}), 1u);
    auto came = team.receive(1, 1);
    ASSERT_EQ(came.size(), 1u);
    EXPECT_EQ(came[0].from, 0);
    EXPECT_EQ(came[0].bytes, one);
    std::vector<Bytes> sent;
    std::vector<UdpSend> batch;
    for (std::size_t i = 0; i < 100; ++i) sent.push_back(pattern(300, i));
    for (const Bytes& bytes : sent) batch.push_back({0, 0, bytes});
    ASSERT_EQ(team.send(1, batch), sent.size());
    came = team.receive(0, sent.size());
    ASSERT_EQ(came.size(), sent.size());
    for (std::size_t i = 0; i < sent.size(); ++i) EXPECT_EQ(came[i].bytes, sent[i]);
    EXPECT_EQ(came[0].from, 1);
  }
  team.close(1);
  bool told = false;
  for (int tries = 0; tries < 1000 && !told; ++tries) {
    std::ptrdiff_t failed = -1;
    (void)team.path(0).send(std::vector<UdpSend>{{1, 0, one}}, failed);
    told = failed == 0;
    (void)team.path(0).receive();
    usleep(1000);
  }
  EXPECT_TRUE(told);
}

// Datagrams arrive singly, then many: none may wait for another to arrive.
TEST_P(UdpBoth, nothing_stays_queued_when_few_follow_many) {
  Team team = make(2);
  if (!team.ready()) GTEST_SKIP() << team.why();
  for (std::size_t count : {1u, 2u, 100u, 1u, 3u, 1u}) {
    std::vector<Bytes> sent;
    std::vector<UdpSend> batch;
    for (std::size_t i = 0; i < count; ++i) sent.push_back(pattern(200, i));
    for (const Bytes& bytes : sent) batch.push_back({1, 0, bytes});
    ASSERT_EQ(team.send(0, batch), count);
    EXPECT_EQ(team.receive(1, count).size(), count);
    EXPECT_FALSE(team.path(1).may_have_more() && team.path(1).receive().empty());
  }
}

// A socket turns UDP_GRO off when datagrams arrive singly for long, and on again.
TEST_P(UdpBoth, many_arrive_after_thousands_of_single_datagrams) {
  Team team = make(2);
  if (!team.ready()) GTEST_SKIP() << team.why();
  for (int round = 0; round < 2; ++round) {
    std::vector<Bytes> sent;
    std::vector<UdpSend> batch;
    for (std::size_t i = 0; i < 64; ++i) sent.push_back(pattern(900, i));
    for (const Bytes& bytes : sent) batch.push_back({1, 0, bytes});
    for (int again = 0; again < 3; ++again) {
      ASSERT_EQ(team.send(0, batch), batch.size());
      const auto came = team.receive(1, batch.size());
      ASSERT_EQ(came.size(), sent.size());
      for (std::size_t i = 0; i < sent.size(); ++i) ASSERT_EQ(came[i].bytes, sent[i]) << i;
    }
    for (std::size_t i = 0; i < 4500; ++i) {
      const Bytes one = pattern(8 + i % 50, i);
      ASSERT_EQ(team.send(0, {{1, 0, one}}), 1u);
      const auto came = team.receive(1, 1);
      ASSERT_EQ(came.size(), 1u) << i;
      ASSERT_EQ(came[0].bytes, one) << i;
    }
  }
}

TEST(Udp, an_unknown_sender_has_no_peer) {
  Team team(2, true, "127.0.0.0/8");
  if (!team.ready()) GTEST_SKIP() << team.why();
  sockaddr_in to{};
  socklen_t length = sizeof to;
  ASSERT_EQ(::getsockname(team.path(1).descriptors()[0], reinterpret_cast<sockaddr*>(&to), &length), 0);
  const int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ASSERT_GE(fd, 0);
  ASSERT_EQ(::sendto(fd, "boo", 3, 0, reinterpret_cast<const sockaddr*>(&to), length), 3);
  ::close(fd);
  const auto came = team.receive(1, 1);
  ASSERT_EQ(came.size(), 1u);
  EXPECT_EQ(came[0].from, -1);
  EXPECT_EQ(came[0].link, 255);
}

TEST(Udp, an_unsendable_datagram_is_named_and_the_rest_is_sent) {
  Team team(3, true, "127.0.0.0/8");
  if (!team.ready()) GTEST_SKIP() << team.why();
  const Bytes small = pattern(5, 1);
  const Bytes large(70000);
  for (const UdpSend& bad : {UdpSend{2, 1, small}, UdpSend{0, 0, small}, UdpSend{3, 0, small},
                             UdpSend{-1, 0, small}, UdpSend{1, 0, large}}) {
    std::ptrdiff_t failed = -1;
    const std::vector<UdpSend> batch{{1, 0, small}, bad, {2, 0, small}};
    ASSERT_EQ(team.path(0).send(batch, failed), 1u);
    ASSERT_EQ(failed, 1);
    EXPECT_FALSE(team.path(0).send_blocked());
    ASSERT_EQ(team.path(0).send(std::span(batch).subspan(2), failed), 1u);
    EXPECT_EQ(failed, -1);
    EXPECT_EQ(team.receive(1, 1).size(), 1u);
    EXPECT_EQ(team.receive(2, 1).size(), 1u);
  }
}

TEST(Udp, peers_are_added_once_and_only_with_a_card) {
  Team team(2, true, "127.0.0.0/8");
  if (!team.ready()) GTEST_SKIP() << team.why();
  std::string why;
  EXPECT_EQ(team.path(0).add_peer(1, team.path(1).card(), why), 0);
  EXPECT_NE(why.find("added before"), std::string::npos) << why;
  EXPECT_EQ(team.path(0).add_peer(2, team.path(1).card(), why), 0);
  EXPECT_NE(why.find("not in the job"), std::string::npos) << why;
  EXPECT_EQ(team.path(0).add_peer(0, "nonsense", why), 0);
  EXPECT_NE(why.find("rank 0"), std::string::npos) << why;
  EXPECT_EQ(team.path(0).add_peer(0, "udp1 1 eth0,1500,0,p,10.77.0.1/24:9", why), 0);
  EXPECT_NE(why.find("HERALD_IF"), std::string::npos) << why;
  EXPECT_EQ(team.path(0).link_name(1, 0), "lo 127.0.0.1 -> 127.0.0.1");
}

// A socket with one peer is connected to it, and must serve the newcomer too.
TEST(Udp, a_process_of_another_job_comes_later) {
  Team team(2, true, "127.0.0.0/8"), other(1, true, "127.0.0.0/8");
  if (!team.ready() || !other.ready()) GTEST_SKIP() << team.why();
  std::string why;
  team.path(0).settle();
  team.path(1).settle();
  other.path(0).settle();
  const std::string card = team.path(0).card();
  ASSERT_GT(team.path(0).add_foreign(7, other.path(0).card(), true, why), 0) << why;
  ASSERT_GT(other.path(0).add_foreign(3, card, false, why), 0) << why;
  EXPECT_EQ(team.path(0).card(), card);
  EXPECT_GT(other.path(0).payload_to(3), 1000u);
  EXPECT_EQ(other.path(0).addresses(), std::vector<std::string>{"127.0.0.1"});
  const Bytes bytes(100, std::byte{1});
  EXPECT_EQ(other.send(0, {{3, 0, bytes}}), 1u);
  EXPECT_EQ(team.send(1, {{0, 0, bytes}}), 1u);
  const std::vector<Came> came = team.receive(0, 2);
  ASSERT_EQ(came.size(), 2u);
  EXPECT_EQ(came[0].from + came[1].from, 1 + 7);
  EXPECT_EQ(team.send(0, {{7, 0, bytes}, {1, 0, bytes}}), 2u);
  EXPECT_EQ(other.receive(0, 1).at(0).from, 3);
  EXPECT_EQ(team.receive(1, 1).at(0).from, 0);
}

TEST(Udp, a_wrong_interface_is_reported) {
  UdpConfig config;
  config.interfaces = "nosuch0";
  std::string why;
  EXPECT_EQ(UdpPath::open(config, why), nullptr);
  EXPECT_NE(why.find("HERALD_IF=nosuch0"), std::string::npos) << why;
}

TEST(Udp, a_sleeper_wakes_when_a_datagram_arrives) {
  Team team(2, true, "127.0.0.0/8");
  if (!team.ready()) GTEST_SKIP() << team.why();
  ASSERT_EQ(team.path(1).descriptors().size(), 1u);  // one socket is in use, whatever else lo has
  pollfd entry{team.path(1).descriptors()[0], POLLIN, 0};
  EXPECT_EQ(::poll(&entry, 1, 0), 0);
  const Bytes hello = pattern(10, 1);
  ASSERT_EQ(team.send(0, {{1, 0, hello}}), 1u);
  EXPECT_EQ(::poll(&entry, 1, 10000), 1);
  EXPECT_EQ(team.receive(1, 1).size(), 1u);
}

TEST(Udp, only_datagrams_beyond_the_receive_buffer_are_lost) {
  Team team(2, true, "127.0.0.0/8", 8192);
  if (!team.ready()) GTEST_SKIP() << team.why();
  EXPECT_GE(team.path(1).receive_bytes(), 2048u);
  EXPECT_LE(team.path(1).receive_bytes(), 16384u);
  std::vector<Bytes> sent;
  for (std::size_t i = 0; i < 200; ++i) sent.push_back(pattern(1000 - i, i));
  for (const Bytes& bytes : sent) ASSERT_EQ(team.send(0, {{1, 0, bytes}}), 1u);
  const auto came = team.receive(1, 1);
  ASSERT_GT(came.size(), 0u);
  ASSERT_LT(came.size(), sent.size());
  for (const Came& each : came) {
    ASSERT_LE(each.bytes.size(), 1000u);
    EXPECT_EQ(each.bytes, sent[1000 - each.bytes.size()]);
  }
}
