// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong between real hosts: jumbo frames are not used, or a datagram is larger than the path
// MTU; two links use the same interface; a pulled cable ends the process or breaks the other link; a full
// socket loses the datagram or hangs. Two network namespaces of this process stand for two hosts with two
// cables; that needs root.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>

#include "udp_pair.hpp"

using namespace herald::path;

namespace {

bool run(const std::string& command) { return std::system((command + " >/dev/null 2>&1").c_str()) == 0; }

// Switches the network namespace of this thread and restores it at the end.
class Hosts {
 public:
  Hosts() {
    home_ = ::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    if (::geteuid() != 0) {
      why_ = "network namespaces need root";
    } else if (!run("ip -V") || !run("tc -V")) {
      why_ = "ip and tc (iproute2) are not on this machine";
    } else if (make()) {
      ready_ = true;
    } else if (why_.empty()) {
      why_ = "veth interfaces cannot be made here";
    }
  }
  ~Hosts() {
    (void)::setns(home_, CLONE_NEWNET);
    for (const int fd : {home_, net_[0], net_[1]})
      if (fd >= 0) ::close(fd);
  }

  bool ready() const { return ready_; }
  const std::string& why() const { return why_; }
  void enter(int host) { ASSERT_EQ(::setns(net_[host], CLONE_NEWNET), 0); }
  // On one host.
  bool sh(int host, const std::string& command) {
    enter(host);
    return run(command);
  }
  bool address(int host, const std::string& interface, const std::string& address) {
    return sh(host, "ip addr add " + address + " dev " + interface + " nodad");
  }
  std::unique_ptr<UdpPath> open(int host, UdpConfig config = {}) {
    enter(host);
    config.rank = host;
    config.size = 2;
    return UdpPath::open(config, why_);
  }
  // Opens paths on both hosts and exchanges their cards; returns the number of links.
  int join(std::unique_ptr<UdpPath> (&paths)[2], const UdpConfig& config = {}) {
    for (int i = 0; i < 2; ++i) paths[i] = open(i, config);
    if (!paths[0] || !paths[1]) return 0;
    enter(0);
    const int links = paths[0]->add_peer(1, paths[1]->card(), why_);
    enter(1);
    EXPECT_EQ(paths[1]->add_peer(0, paths[0]->card(), why_), links);
    return links;
  }

 private:
  bool make() {
    for (int i = 0; i < 2; ++i) {
      if (::unshare(CLONE_NEWNET) != 0) {
        why_ = "network namespaces are not allowed here";
        return false;
      }
      net_[i] = ::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
      (void)run("sysctl -q -w net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0");
      (void)run("ip link set lo up");
    }
    const std::string other = "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(net_[0]);
    for (const std::string name : {"eth0", "eth1"}) {
      if (!run("ip link add " + name + " type veth peer name " + name + " netns " + other)) return false;
      if (!run("ip link set " + name + " up") || !sh(0, "ip link set " + name + " up")) return false;
      enter(1);
    }
    return true;
  }

  int home_ = -1;
  int net_[2] = {-1, -1};
  bool ready_ = false;
  std::string why_;
};

std::vector<Came> receive(UdpPath& path, std::size_t least) {
  std::vector<Came> came;
  for (int waits = 0; waits < 1000 && came.size() < least; ++waits) {
    const auto batch = path.receive();
    for (const auto& each : batch)
      came.push_back({each.from, each.link, Bytes(each.bytes.begin(), each.bytes.end())});
    if (batch.empty()) ::usleep(10000);
  }
  return came;
}

std::size_t send(UdpPath& path, const UdpSend& one) {
  std::ptrdiff_t failed = -1;
  const std::size_t left = path.send(std::span(&one, 1), failed);
  EXPECT_EQ(failed, left == 1 ? -1 : 0);
  return left;
}

}  // namespace

TEST(UdpNet, two_cables_are_two_links_and_a_pulled_one_fails_alone) {
  Hosts hosts;
  if (!hosts.ready()) GTEST_SKIP() << hosts.why();
  for (int host = 0; host < 2; ++host)
    for (int cable = 0; cable < 2; ++cable)
      ASSERT_TRUE(hosts.address(host, "eth" + std::to_string(cable),
                                "10.0." + std::to_string(cable) + "." + std::to_string(host + 1) + "/24"));
  std::unique_ptr<UdpPath> paths[2];
  ASSERT_EQ(hosts.join(paths), 2) << hosts.why();
  EXPECT_EQ(paths[0]->link_name(1, 1), "eth1 10.0.1.1 -> 10.0.1.2");
  EXPECT_EQ(paths[0]->datagram_bytes(), 1472u);
  EXPECT_EQ(paths[1]->descriptors().size(), 2u);
  const Bytes hello = pattern(1472, 1);
  for (std::uint8_t link = 0; link < 2; ++link) {
    ASSERT_EQ(send(*paths[0], {1, link, hello}), 1u);
    const auto came = receive(*paths[1], 1);
    ASSERT_EQ(came.size(), 1u);
    EXPECT_EQ(came[0].from, 0);
    EXPECT_EQ(came[0].link, link);
    EXPECT_EQ(came[0].bytes, hello);
  }
  ASSERT_TRUE(hosts.sh(0, "ip link set eth1 down"));
  EXPECT_EQ(send(*paths[0], {1, 1, hello}), 0u);
  EXPECT_FALSE(paths[0]->send_blocked());
  EXPECT_EQ(send(*paths[0], {1, 0, hello}), 1u);
  EXPECT_EQ(receive(*paths[1], 1).size(), 1u);
}

TEST(UdpNet, two_cables_in_one_subnet_are_both_used) {
  Hosts hosts;
  if (!hosts.ready()) GTEST_SKIP() << hosts.why();
  for (int host = 0; host < 2; ++host)
    for (int cable = 0; cable < 2; ++cable)
      ASSERT_TRUE(hosts.address(host, "eth" + std::to_string(cable),
                                "10.0.0." + std::to_string(2 * host + cable + 1) + "/24"));
  std::unique_ptr<UdpPath> paths[2];
  ASSERT_EQ(hosts.join(paths), 4) << hosts.why();
  const Bytes hello = pattern(100, 1);
  for (std::uint8_t link = 0; link < 2; ++link) {
    ASSERT_EQ(send(*paths[0], {1, link, hello}), 1u);
    const auto came = receive(*paths[1], 1);
    ASSERT_EQ(came.size(), 1u) << paths[0]->link_name(1, link);
    EXPECT_EQ(came[0].link, link);
  }
}

TEST(UdpNet, jumbo_frames_are_used_where_both_have_them) {
  Hosts hosts;
  if (!hosts.ready()) GTEST_SKIP() << hosts.why();
  for (int host = 0; host < 2; ++host) {
    ASSERT_TRUE(hosts.sh(host, "ip link set eth0 mtu 9000"));
    ASSERT_TRUE(hosts.address(host, "eth0", "10.0.0." + std::to_string(host + 1) + "/24"));
    ASSERT_TRUE(hosts.address(host, "eth0", "fd00::" + std::to_string(host + 1) + "/64"));
  }
  for (const char* networks : {"10.0.0.0/8", "fd00::/8"}) {
    UdpConfig config;
    config.networks = networks;
    std::unique_ptr<UdpPath> paths[2];
    ASSERT_EQ(hosts.join(paths, config), 1) << hosts.why();
    const std::uint32_t most = networks[0] == '1' ? 8972 : 8952;
    EXPECT_EQ(paths[0]->datagram_bytes(), most);
    const Bytes whole = pattern(most, 1);
    ASSERT_EQ(send(*paths[0], {1, 0, whole}), 1u);
    const auto came = receive(*paths[1], 1);
    ASSERT_EQ(came.size(), 1u);
    EXPECT_EQ(came[0].bytes, whole);
  }
}

TEST(UdpNet, link_local_addresses_are_used_if_there_are_no_others) {
  Hosts hosts;
  if (!hosts.ready()) GTEST_SKIP() << hosts.why();
  // One cable has a static address on each side: the test need not wait for autoconfiguration.
  for (int host = 0; host < 2; ++host) {
    ASSERT_TRUE(hosts.sh(host, "ip link set eth1 down"));
    ASSERT_TRUE(hosts.sh(host, "ip -6 addr flush dev eth0"));
    ASSERT_TRUE(hosts.address(host, "eth0", "fe80::" + std::to_string(host + 1) + "/64"));
  }
  UdpConfig config;
  config.networks = "fe80::/10";
  std::unique_ptr<UdpPath> paths[2];
  ASSERT_EQ(hosts.join(paths, config), 1) << hosts.why();
  const Bytes hello = pattern(10, 1);
  ASSERT_EQ(send(*paths[0], {1, 0, hello}), 1u);
  const auto came = receive(*paths[1], 1);
  ASSERT_EQ(came.size(), 1u);
  EXPECT_EQ(came[0].from, 0);
}

TEST(UdpNet, a_shrinking_path_mtu_still_delivers) {
  Hosts hosts;
  if (!hosts.ready()) GTEST_SKIP() << hosts.why();
  for (int host = 0; host < 2; ++host)
    ASSERT_TRUE(hosts.address(host, "eth0", "10.0.0." + std::to_string(host + 1) + "/24"));
  std::unique_ptr<UdpPath> paths[2];
  UdpConfig config;
  config.networks = "10.0.0.0/8";
  ASSERT_EQ(hosts.join(paths, config), 1) << hosts.why();
  ASSERT_TRUE(hosts.sh(0, "ip link set eth0 mtu 1000"));
  std::vector<Bytes> sent;
  std::vector<UdpSend> batch;
  for (std::size_t i = 0; i < 20; ++i) sent.push_back(pattern(1472, i));
  for (const Bytes& bytes : sent) batch.push_back({1, 0, bytes});
  std::ptrdiff_t failed = -1;
  ASSERT_EQ(paths[0]->send(batch, failed), batch.size());
  const auto came = receive(*paths[1], sent.size());
  ASSERT_EQ(came.size(), sent.size());
  for (std::size_t i = 0; i < sent.size(); ++i) EXPECT_EQ(came[i].bytes, sent[i]);
}

TEST(UdpNet, a_full_socket_is_reported_and_recovers) {
  Hosts hosts;
  if (!hosts.ready()) GTEST_SKIP() << hosts.why();
  for (int host = 0; host < 2; ++host)
    ASSERT_TRUE(hosts.address(host, "eth0", "10.0.0." + std::to_string(host + 1) + "/24"));
  if (!hosts.sh(0, "tc qdisc add dev eth0 root tbf rate 8mbit burst 4k limit 1000000"))
    GTEST_SKIP() << "this kernel has no tbf queue";
  UdpConfig config;
  config.networks = "10.0.0.0/8";
  config.socket_bytes = 16384;
  std::unique_ptr<UdpPath> paths[2];
  ASSERT_EQ(hosts.join(paths, config), 1) << hosts.why();
  // The receiver may be slow: its socket must not be the one that is full.
  const int large = 4 << 20;
  ASSERT_EQ(::setsockopt(paths[1]->descriptors()[0], SOL_SOCKET, SO_RCVBUFFORCE, &large, sizeof large), 0);
  std::vector<Bytes> sent;
  std::vector<UdpSend> batch;
  for (std::size_t i = 0; i < 200; ++i) sent.push_back(pattern(1000 - i, i));
  for (const Bytes& bytes : sent) batch.push_back({1, 0, bytes});
  std::size_t left = 0;
  int blocked = 0;
  std::vector<Came> came;
  for (int tries = 0; tries < 10000 && came.size() < sent.size(); ++tries) {
    std::ptrdiff_t failed = -1;
    left += paths[0]->send(std::span(batch).subspan(left), failed);
    ASSERT_EQ(failed, -1);
    ASSERT_EQ(paths[0]->send_blocked(), left < batch.size());
    blocked += paths[0]->send_blocked();
    for (const auto& each : paths[1]->receive())
      came.push_back({each.from, each.link, Bytes(each.bytes.begin(), each.bytes.end())});
    pollfd entries[2] = {
        {paths[0]->descriptors()[0], static_cast<short>(left < batch.size() ? POLLOUT : 0), 0},
        {paths[1]->descriptors()[0], POLLIN, 0}};
    (void)::poll(entries, 2, 100);
  }
  EXPECT_GT(blocked, 0);
  ASSERT_EQ(came.size(), sent.size());
  for (std::size_t i = 0; i < sent.size(); ++i) EXPECT_EQ(came[i].bytes, sent[i]);
}
