// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: a socket is bound outside HERALD_PORTS; a range that is used up, or no range at all,
// is taken for something else.
#include "path/ports.hpp"

#include <gtest/gtest.h>

#include <set>

#include "path/udp/card.hpp"
#include "path/udp/udp.hpp"

using namespace herald::path;

TEST(Ports, a_range_is_two_ports_and_a_dash) {
  Ports ports;
  EXPECT_TRUE(read_ports("", ports));
  EXPECT_TRUE(ports.any());
  EXPECT_TRUE(read_ports("20000-20100", ports));
  EXPECT_EQ(ports.first, 20000);
  EXPECT_EQ(ports.last, 20100);
  EXPECT_EQ(ports.count(), 101u);
  for (const char* bad : {"20000", "20000-", "-20000", "20100-20000", "20000-20000", "80-90", "20000-70000",
                          "20000-20100 ", "a-b", "20000:20100", "20000-20100-20200"}) {
    EXPECT_FALSE(read_ports(bad, ports)) << bad;
    EXPECT_EQ(ports.first, 20000) << bad;
  }
}

TEST(Ports, all_are_tried_except_for_the_reserved_one) {
  const Ports ports{2000, 2003, 2003};
  std::set<int> tried;
  for (std::uint32_t i = 0; i < ports.count(); ++i) tried.insert(ports.at(6, i));
  EXPECT_EQ(tried, (std::set<int>{0, 2000, 2001, 2002}));
}

namespace {

std::unique_ptr<UdpPath> open_path(const Ports& ports, std::string& why) {
  UdpConfig config;
  config.interfaces = "lo";
  config.networks = "127.0.0.0/8";
  config.ports = ports;
  return UdpPath::open(config, why);
}

}  // namespace

TEST(Ports, sockets_are_bound_within_the_range_until_it_is_used_up) {
  // Another program may use some of the ports: at least one range of these is free.
  for (std::uint16_t first = 21000; first < 30000; first = static_cast<std::uint16_t>(first + 997)) {
    Ports ports{first, static_cast<std::uint16_t>(first + 3), static_cast<std::uint16_t>(first + 3)};
    std::vector<std::unique_ptr<UdpPath>> open;
    std::set<int> used;
    std::string why;
    while (auto path = open_path(ports, why)) {
      udp::NetCard card;
      ASSERT_TRUE(udp::read_card(path->card(), card, why)) << why;
      for (const auto& interface : card.interfaces)
        for (const auto& address : interface.addresses) used.insert(address.port);
      open.push_back(std::move(path));
      ASSERT_LE(open.size(), 3u);
    }
    EXPECT_NE(why.find("HERALD_PORTS=" + ports.text()), std::string::npos) << why;
    EXPECT_NE(why.find("wider range"), std::string::npos) << why;
    for (const int port : used) {
      EXPECT_TRUE(ports.contains(static_cast<std::uint16_t>(port))) << port;
      EXPECT_NE(port, ports.reserved);
    }
    if (used.size() == 3) return;
  }
  FAIL() << "no range of ports is free";
}
