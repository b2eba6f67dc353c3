// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: a peer's card crashes this process or yields an address that is not in it; two hosts
// number their links differently; the wrong interface is chosen, above all the bridge of a container engine,
// which has the same address on every host; a wrong HERALD_IF or HERALD_NET is ignored.
#include <gtest/gtest.h>

#include "base/prng.hpp"
#include "path/udp/card.hpp"

using namespace herald;
using namespace herald::path::udp;

namespace {

NetCard card_of(const std::string& text) {
  NetCard card;
  std::string why;
  EXPECT_TRUE(read_card(text, card, why)) << why;
  return card;
}

// What could go wrong: ranks take the network to be faster or slower than its slowest host, or differ in it.
TEST(UdpCard, the_fastest_interface_tells_the_rate_of_a_host) {
  EXPECT_EQ(fastest_mbit(card_of("udp1 1 a,1500,100,p,10.0.0.1/24:9 b,1500,2500,p,10.0.1.1/24:9")), 2500u);
  EXPECT_EQ(fastest_mbit(card_of("udp1 1 a,1500,0,p,10.0.0.1/24:9")), 0u);
}

// Links as text: "eth0 10.0.0.1 > eth0 10.0.0.2".
std::vector<std::string> links(const NetCard& ours, const NetCard& theirs, bool first = true) {
  std::vector<std::string> words;
  for (const Pair& pair : pair_up(ours, theirs, first)) {
    const CardInterface& our = ours.interfaces[pair.our_interface];
    const CardInterface& their = theirs.interfaces[pair.their_interface];
    words.push_back(our.name + " " + to_text(our.addresses[pair.our_address].prefix.address) + " > " +
                    their.name + " " + to_text(their.addresses[pair.their_address].prefix.address));
  }
  return words;
}

using Words = std::vector<std::string>;

Interface make_interface(const std::string& name, InterfaceKind kind, const Words& prefixes, bool up = true) {
  Interface interface;
  interface.name = name;
  interface.kind = kind;
  interface.up = up;
  for (const std::string& text : prefixes) {
    Prefix prefix;
    EXPECT_TRUE(parse_prefix(text, prefix));
    interface.addresses.push_back(prefix);
  }
  return interface;
}

std::vector<Interface> a_host() {
  return {make_interface("eth0", InterfaceKind::plain, {"10.0.0.1/24", "fe80::1/64", "fd00::1/64"}),
          make_interface("eth1", InterfaceKind::plain, {"192.168.1.1/24"}),
          make_interface("eth2", InterfaceKind::plain, {"10.2.0.1/24"}, false),
          make_interface("docker0", InterfaceKind::secondary, {"172.17.0.1/16"}),
          make_interface("lo", InterfaceKind::loopback, {"127.0.0.1/8", "::1/128"})};
}

Words chosen(const std::string& names, const std::string& networks) {
  std::vector<Interface> taken;
  std::string why;
  if (!choose_interfaces(a_host(), names, networks, taken, why)) return {why};
  Words words;
  for (const Interface& each : taken)
    for (const Prefix& prefix : each.addresses) words.push_back(each.name + " " + to_text(prefix.address));
  return words;
}

}  // namespace

TEST(UdpAddress, prefixes_are_read_and_contain_what_they_should) {
  Prefix prefix;
  ASSERT_TRUE(parse_prefix("10.64.0.0/10", prefix));
  Address address;
  ASSERT_TRUE(parse_address("10.127.255.255", address));
  EXPECT_TRUE(prefix.contains(address));
  ASSERT_TRUE(parse_address("10.128.0.0", address));
  EXPECT_FALSE(prefix.contains(address));
  ASSERT_TRUE(parse_address("::ffff:10.64.0.1", address));
  EXPECT_FALSE(prefix.contains(address));
  ASSERT_TRUE(parse_prefix("0.0.0.0/0", prefix));
  ASSERT_TRUE(parse_address("255.1.2.3", address));
  EXPECT_TRUE(prefix.contains(address));
  for (const char* bad :
       {"", "10.0.0", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1", "10.0.0.0/8x", "fd00::/129", "eth0",
        "10.0.0.256", "/8", "fe80::1%eth0", "1111:2222:3333:4444:5555:6666:7777:8888:9999:aaaa:bbbb"})
    EXPECT_FALSE(parse_prefix(bad, prefix)) << bad;
}

TEST(UdpCard, a_written_card_is_read_back) {
  const std::string text =
      "udp1 1f eth0,9000,10000,p,10.0.0.1/24:4000,fe80::1/64:4001 wg0,1420,0,s,10.9.0.1/24:5 "
      "lo,65536,0,l,::1/128:6";
  const NetCard card = card_of(text);
  EXPECT_EQ(write_card(card), text);
  ASSERT_EQ(card.interfaces.size(), 3u);
  EXPECT_EQ(card.net, 0x1fu);
  EXPECT_EQ(card.interfaces[0].mtu, 9000u);
  EXPECT_EQ(card.interfaces[0].addresses[1].port, 4001);
  EXPECT_EQ(card.interfaces[1].kind, InterfaceKind::secondary);
}

TEST(UdpCard, malformed_cards_are_refused_with_a_reason) {
  std::string many = "udp1 1";
  for (int i = 0; i < 17; ++i) many += " e" + std::to_string(i) + ",1500,0,p,10.0.0.1/24:1";
  for (const std::string& bad :
       {std::string(),
        std::string("udp2 1 eth0,1500,0,p,10.0.0.1/24:1"),
        std::string("udp1"),
        std::string("udp1 1"),
        std::string("udp1 xyz eth0,1500,0,p,10.0.0.1/24:1"),
        std::string("udp1 11111111111111111 eth0,1500,0,p,10.0.0.1/24:1"),
        std::string("udp1 1 eth0,1500,0,p"),
        std::string("udp1 1 eth0,1500,0,q,10.0.0.1/24:1"),
        std::string("udp1 1 eth0,500,0,p,10.0.0.1/24:1"),
        std::string("udp1 1 eth0,1500,-1,p,10.0.0.1/24:1"),
        std::string("udp1 1 eth0,1500,0,p,10.0.0.1/24:0"),
        std::string("udp1 1 eth0,1500,0,p,10.0.0.1/24:65536"),
        std::string("udp1 1 eth0,1500,0,p,10.0.0.1:1"),
        std::string("udp1 1 eth0,1500,0,p,10.0.0.1/33:1"),
        std::string("udp1 1 eth0,1500,0,p,fe80::1:1"),
        std::string("udp1 1 ,1500,0,p,10.0.0.1/24:1"),
        std::string("udp1 1 abcdefghijklmnop,1500,0,p,10.0.0.1/24:1"),
        std::string("udp1 1 eth0,1500,0,p,10.0.0.1/24:1,10.0.0.2/24:1,10.0.0.3/24:1"),
        std::string("udp1 1  eth0,1500,0,p,10.0.0.1/24:1"),
        std::string("udp1 1 e\x7f,1500,0,p,10.0.0.1/24:1"),
        many,
        "udp1 1 " + std::string(5000, 'x')}) {
    NetCard card;
    std::string why;
    EXPECT_FALSE(read_card(bad, card, why)) << bad;
    EXPECT_NE(why, "") << bad;
    EXPECT_TRUE(card.interfaces.empty()) << bad;
  }
}

TEST(UdpPairs, only_interfaces_in_one_subnet_are_paired) {
  const NetCard a = card_of(
      "udp1 a eth0,1500,1000,p,10.0.0.1/24:1,fe80::1/64:2 eth1,9000,10000,p,10.0.1.1/24:3 "
      "docker0,1500,0,s,172.17.0.1/16:4");
  const NetCard b = card_of(
      "udp1 b eth0,1500,1000,p,10.0.0.2/24:1,fe80::2/64:2 eth1,9000,10000,p,10.0.1.2/24:3 "
      "docker0,1500,0,s,172.17.0.1/16:4");
  EXPECT_EQ(links(a, b), (Words{"eth1 10.0.1.1 > eth1 10.0.1.2", "eth0 10.0.0.1 > eth0 10.0.0.2"}));
}

TEST(UdpPairs, two_cables_in_one_subnet_pair_in_the_same_order) {
  const NetCard a = card_of("udp1 a eth0,1500,0,p,10.0.0.1/24:1 eth1,1500,0,p,10.0.0.2/24:3");
  const NetCard b = card_of("udp1 b eth0,1500,0,p,10.0.0.3/24:1 eth1,1500,0,p,10.0.0.4/24:3");
  EXPECT_EQ(links(a, b), (Words{"eth0 10.0.0.1 > eth0 10.0.0.3", "eth1 10.0.0.2 > eth1 10.0.0.4",
                                "eth0 10.0.0.1 > eth1 10.0.0.4", "eth1 10.0.0.2 > eth0 10.0.0.3"}));
}

TEST(UdpPairs, routed_networks_then_tunnels_if_there_is_nothing_better) {
  const NetCard a = card_of("udp1 a eth0,1500,0,p,10.1.0.1/24:1 wg0,1420,0,s,10.9.0.1/24:2");
  const NetCard b = card_of("udp1 b eth0,1500,0,p,10.2.0.1/24:1 wg0,1420,0,s,10.9.0.2/24:2");
  EXPECT_EQ(links(a, b), (Words{"eth0 10.1.0.1 > eth0 10.2.0.1", "wg0 10.9.0.1 > wg0 10.9.0.2",
                                "eth0 10.1.0.1 > wg0 10.9.0.2", "wg0 10.9.0.1 > eth0 10.2.0.1"}));
  EXPECT_TRUE(pair_up(a, b, true)[0].routed);
  EXPECT_FALSE(pair_up(a, b, true)[1].routed);
}

TEST(UdpPairs, ipv6_where_ipv4_does_not_match) {
  const NetCard a = card_of("udp1 a eth0,1500,0,p,10.1.0.1/24:1,fd00::1/64:2");
  EXPECT_EQ(links(a, card_of("udp1 b eth0,1500,0,p,10.2.0.1/24:1,fd00::2/64:2")),
            Words{"eth0 fd00::1 > eth0 fd00::2"});
  EXPECT_EQ(links(card_of("udp1 a eth0,1500,0,p,fe80::1/64:2"), card_of("udp1 b eth0,1500,0,p,fe80::2/64:2")),
            Words{"eth0 fe80::1 > eth0 fe80::2"});
  EXPECT_EQ(links(card_of("udp1 a eth0,1500,0,p,fe80::1/64:2"), card_of("udp1 b eth0,1500,0,p,10.0.0.1/8:2")),
            Words{});
}

TEST(UdpPairs, loopback_is_for_one_network_namespace_only) {
  const NetCard a = card_of("udp1 a lo,65536,0,l,127.0.0.1/8:1,::1/128:2");
  NetCard b = card_of("udp1 a lo,65536,0,l,127.0.0.1/8:3,::1/128:4");
  EXPECT_EQ(links(a, b), Words{"lo 127.0.0.1 > lo 127.0.0.1"});
  b.net = 0xb;
  EXPECT_EQ(links(a, b), Words{});
}

TEST(UdpPairs, both_sides_get_the_same_links_in_the_same_order) {
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    Prng chance(seed);
    NetCard cards[2];
    for (NetCard& card : cards) {
      card.net = chance.below(8) == 0 ? 1 : chance.next();
      const std::uint64_t interfaces = 1 + chance.below(5);
      for (std::uint64_t i = 0; i < interfaces; ++i) {
        CardInterface interface {
          "e" + std::to_string(i), 1500, static_cast<std::uint32_t>(chance.below(3)),
              static_cast<InterfaceKind>(chance.below(3)), {}
        };
        const Words texts{
            "10.0." + std::to_string(chance.below(3)) + "." + std::to_string(chance.below(4)) + "/24",
            (chance.below(2) == 0 ? "fe80::" : "fd00::") + std::to_string(chance.below(9)) + "/64"};
        const std::uint64_t which = chance.below(3);
        for (std::size_t a = 0; a < 2; ++a) {
          CardAddress address{{}, 1};
          if (which != a && parse_prefix(texts[a], address.prefix)) interface.addresses.push_back(address);
        }
        card.interfaces.push_back(interface);
      }
    }
    const auto here = pair_up(cards[0], cards[1], true);
    auto there = pair_up(cards[1], cards[0], false);
    for (Pair& pair : there)
      pair = {pair.their_interface, pair.their_address, pair.our_interface, pair.our_address, pair.routed};
    ASSERT_EQ(here, there) << "seed " << seed;
    ASSERT_LE(here.size(), kMostLinks);
  }
}

TEST(UdpInterfaces, all_that_are_up_except_loopback) {
  EXPECT_EQ(chosen("", ""),
            (Words{"eth0 10.0.0.1", "eth0 fd00::1", "eth1 192.168.1.1", "docker0 172.17.0.1"}));
}

TEST(UdpInterfaces, loopback_if_there_is_nothing_else_or_if_it_is_named) {
  EXPECT_EQ(chosen("lo", ""), (Words{"lo 127.0.0.1", "lo ::1"}));
  EXPECT_EQ(chosen("", "127.0.0.0/8"), Words{"lo 127.0.0.1"});
  std::vector<Interface> taken;
  std::string why;
  const Interface lo = make_interface("lo", InterfaceKind::loopback, {"127.0.0.1/8"});
  EXPECT_TRUE(choose_interfaces(std::vector{lo}, "", "", taken, why));
  EXPECT_FALSE(choose_interfaces({}, "", "", taken, why));
  EXPECT_NE(why.find("no network interface is up"), std::string::npos) << why;
}

TEST(UdpInterfaces, names_and_networks_select) {
  EXPECT_EQ(chosen("eth1,eth0", ""), (Words{"eth1 192.168.1.1", "eth0 10.0.0.1", "eth0 fd00::1"}));
  EXPECT_EQ(chosen("", "10.0.0.0/8"), Words{"eth0 10.0.0.1"});
  EXPECT_EQ(chosen("", "fe80::/10, 192.168.0.0/16"), (Words{"eth0 fe80::1", "eth1 192.168.1.1"}));
}

TEST(UdpInterfaces, wrong_settings_name_the_variable_the_value_and_the_remedy) {
  const auto expect = [](const Words& got, const Words& parts) {
    ASSERT_EQ(got.size(), 1u);
    for (const std::string& part : parts) EXPECT_NE(got[0].find(part), std::string::npos) << got[0];
  };
  expect(chosen("eth9", ""), {"HERALD_IF=eth9", "no interface eth9", "eth0, eth1, eth2 (down), docker0, lo"});
  expect(chosen("eth2", ""), {"HERALD_IF=eth2", "is down", "ip link set eth2 up"});
  expect(chosen(",", ""), {"HERALD_IF=,", "names no interface", "eth0"});
  expect(chosen("", "10.0.0.0/40"), {"HERALD_NET=10.0.0.0/40", "is not a network", "10.0.0.0/8"});
  expect(chosen("", "11.0.0.0/8"), {"HERALD_NET=11.0.0.0/8", "no interface", "eth0 10.0.0.1/24"});
  expect(chosen("eth1", "10.0.0.0/8"), {"HERALD_NET=10.0.0.0/8"});
}

TEST(UdpInterfaces, containers_and_tunnels_are_recognised_by_name) {
  for (const char* name : {"docker0", "br-1234567890ab", "cni0", "virbr0", "wg0", "tun0", "veth12ab"})
    EXPECT_TRUE(is_secondary_name(name)) << name;
  for (const char* name : {"eth0", "eno1", "enp3s0", "br0", "bond0", "lo", "wlan0", "ib0", "team0"})
    EXPECT_FALSE(is_secondary_name(name)) << name;
}

TEST(UdpInterfaces, the_list_of_the_kernel_has_loopback) {
  bool found = false;
  for (const Interface& each : list_interfaces())
    if (each.name == "lo") {
      found = true;
      EXPECT_EQ(each.kind, InterfaceKind::loopback);
      EXPECT_GE(each.mtu, 576u);
      EXPECT_GT(each.index, 0u);
    }
  EXPECT_TRUE(found);
}
