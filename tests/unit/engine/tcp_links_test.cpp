// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: a stranger, a recorded handshake or a connection for another rank is taken for a peer;
// a connection that proves nothing stays; two connections that cross close each other, or both stay.
#include "engine/tcp_links.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <optional>

using namespace herald;

namespace {

const wire::Seal kSeal{{11, 22}, 5};

// Two ranks in one process over the loopback interface, without UDP by choice; time goes by 1 ms a turn.
struct Rank {
  std::unique_ptr<path::UdpPath> udp;
  std::unique_ptr<path::TcpPath> tcp = std::make_unique<path::TcpPath>();
  p2p::CoreConfig core;
  std::optional<node::Node> node;
  std::optional<engine::TcpLinks> links;

  bool open(int rank) {
    path::UdpConfig config;
    config.rank = rank;
    config.size = 2;
    config.interfaces = "lo";
    config.networks = "127.0.0.0/8";
    config.take_port = [this](const sockaddr& at, socklen_t length) { return tcp->listen(at, length); };
    std::string why;
    udp = path::UdpPath::open(config, why);
    return udp != nullptr;
  }
  void meet(int rank, const Rank& other) {
    std::string why;
    ASSERT_GT(udp->add_peer(1 - rank, other.udp->card(), why), 0) << why;
    core.me = rank;
    core.peers = 2;
    node.emplace(core);
    node::NodeConfig config;
    config.mesh.me = config.lanes.me = rank;
    config.mesh.peers = config.lanes.peers = 2;
    config.mesh.seal = config.lanes.seal = kSeal;
    node->connect(config, nullptr);
    node->add_peer(1 - rank, 1);
    links.emplace(engine::TcpLinks::Config{rank, 2, kSeal, true, true, false}, std::move(tcp), *udp, *node);
  }
  // Datagrams that came: they are no packets, so the node counts them as such.
  std::uint64_t came() const { return node->mesh().counters().malformed; }
};

struct Two {
  Rank ranks[2];
  Instant now{1'000'000'000};
  bool ready = ranks[0].open(0) && ranks[1].open(1);

  Two() {
    if (!ready) return;
    for (int i = 0; i < 2; ++i) ranks[i].meet(i, ranks[1 - i]);
  }
  void turn() {
    now = now + milliseconds(1);
    for (Rank& one : ranks) (void)one.links->turn(now, true);
  }
  template <class Condition>
  bool run_until(const Condition& condition, int turns = 5000) {
    for (int i = 0; i < turns && !condition(); ++i) {
      turn();
      ::usleep(100);
    }
    return condition();
  }
  void send(int from) {
    static const std::array<std::byte, 3> bytes{};
    const path::UdpSend one{1 - from, 0, bytes};
    ranks[from].links->send(now, {&one, 1});
  }
  // A stranger that connects to rank 1 and has read its challenge.
  int connect_stranger(wire::StreamNonce& nonce) {
    const path::UdpEnds ends = ranks[0].udp->ends_of(1, 0);
    const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
    EXPECT_EQ(::connect(fd, reinterpret_cast<const sockaddr*>(&ends.theirs), ends.length), 0);
    struct {
      wire::StreamHead head;
      wire::StreamChallenge challenge;
    } first{};
    for (int i = 0; i < 100; ++i) turn();
    EXPECT_EQ(::recv(fd, &first, sizeof first, MSG_WAITALL), static_cast<ssize_t>(sizeof first));
    nonce = {first.challenge.nonce[0], first.challenge.nonce[1]};
    return fd;
  }
  void send_hello(int fd, std::uint32_t from, std::uint32_t to, std::uint64_t tag) {
    struct {
      wire::StreamHead head;
      wire::StreamHello hello;
    } frame{};
    frame.head.bytes = sizeof frame.hello;
    frame.head.kind = static_cast<std::uint8_t>(wire::StreamKind::hello);
    frame.hello.version = wire::kStreamVersion;
    frame.hello.from = from;
    frame.hello.to = to;
    frame.hello.nonce[0] = 1;
    frame.hello.nonce[1] = 2;
    frame.hello.tag = tag;
    EXPECT_EQ(::send(fd, &frame, sizeof frame, MSG_NOSIGNAL), static_cast<ssize_t>(sizeof frame));
  }
  static bool is_closed(int fd) {
    char byte;
    return ::recv(fd, &byte, 1, MSG_DONTWAIT) == 0 || (errno != EAGAIN && errno != EINTR);
  }
};

constexpr wire::StreamNonce kNonce{1, 2};

}  // namespace

TEST(TcpLinks, datagrams_arrive_once_both_ends_have_proven_the_key) {
  Two two;
  if (!two.ready) GTEST_SKIP();
  two.send(0);  // dropped: it asks for a connection
  ASSERT_TRUE(two.run_until([&] { return two.ranks[0].links->connections() == 1; }));
  ASSERT_TRUE(two.run_until([&] {
    two.send(0);
    two.send(1);
    return two.ranks[1].came() >= 3 && two.ranks[0].came() >= 3;
  }));
  EXPECT_EQ(two.ranks[1].links->refused(), 0u);
}

TEST(TcpLinks, connections_that_cross_leave_the_same_one) {
  for (int round = 0; round < 20; ++round) {
    Two two;
    if (!two.ready) GTEST_SKIP();
    two.send(0);
    two.send(1);
    (void)two.run_until([] { return false; }, 50);
    EXPECT_EQ(two.ranks[0].links->connections(), 1u);
    EXPECT_EQ(two.ranks[1].links->connections(), 1u);
    const std::uint64_t before[2] = {two.ranks[0].came(), two.ranks[1].came()};
    two.send(0);
    two.send(1);
    EXPECT_TRUE(two.run_until(
        [&] { return two.ranks[0].came() == before[0] + 1 && two.ranks[1].came() == before[1] + 1; }));
  }
}

TEST(TcpLinks, forged_replayed_and_misdirected_handshakes_are_refused) {
  Two two;
  if (!two.ready) GTEST_SKIP();
  wire::StreamNonce nonce;
  std::uint64_t refused = 0;
  const auto must_fail = [&](std::uint32_t from, std::uint32_t to, const auto& tag_of) {
    const int fd = two.connect_stranger(nonce);
    two.send_hello(fd, from, to, tag_of());
    EXPECT_TRUE(two.run_until([&] { return Two::is_closed(fd); }));
    EXPECT_EQ(two.ranks[1].links->refused(), ++refused);
    ::close(fd);
  };
  const auto good_tag = [&] { return wire::StreamSession(kSeal, 0, 1, kNonce, nonce).hello_tag(); };
  must_fail(0, 1, [] { return std::uint64_t{0}; });
  must_fail(0, 1, [&] { return wire::StreamSession({{11, 23}, 5}, 0, 1, kNonce, nonce).hello_tag(); });
  must_fail(0, 1, [&] { return wire::StreamSession({{11, 22}, 4}, 0, 1, kNonce, nonce).hello_tag(); });
  must_fail(0, 0, good_tag);   // for another rank
  must_fail(1, 1, good_tag);   // of ourselves
  must_fail(7, 1, good_tag);   // of no rank
  std::uint64_t recorded = 0;  // a hello that was good once
  int fd = two.connect_stranger(nonce);
  two.send_hello(fd, 0, 1, recorded = good_tag());
  EXPECT_FALSE(two.run_until([&] { return two.ranks[1].links->refused() != refused; }, 100));
  ::close(fd);
  (void)two.run_until([] { return false; }, 100);
  must_fail(0, 1, [&] { return recorded; });
}

// What could go wrong: a process that was killed is waited for until the detection time is over.
TEST(TcpLinks, a_peer_whose_host_refuses_its_port_is_lost_within_a_second) {
  Two two;
  if (!two.ready) GTEST_SKIP();
  two.ranks[1].links.reset();
  two.ranks[1].udp.reset();
  Rank& one = two.ranks[0];
  rel::PeerLiveness& liveness = one.node->mesh().liveness();
  const Instant asked = two.now;
  liveness.probe(asked, 1);
  for (int i = 0; i < 2000 && !liveness.was_refused(1); ++i) {
    two.now = two.now + milliseconds(1);
    two.send(0);
    (void)one.links->turn(two.now, true);
    ::usleep(100);
  }
  EXPECT_TRUE(liveness.was_refused(1));
  EXPECT_LT(two.now - asked, milliseconds(1000));
  EXPECT_TRUE(liveness.detector(two.now, 1)->is_dead(two.now));
}

TEST(TcpLinks, a_connection_that_says_nothing_is_closed_within_a_second) {
  Two two;
  if (!two.ready) GTEST_SKIP();
  wire::StreamNonce nonce;
  const int fd = two.connect_stranger(nonce);
  const Instant begin = two.now;
  EXPECT_TRUE(two.run_until([&] { return Two::is_closed(fd); }));
  EXPECT_LT((two.now - begin).ns, milliseconds(1100).ns);
  EXPECT_EQ(two.ranks[1].links->refused(), 1u);
  ::close(fd);
}
