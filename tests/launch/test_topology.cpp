// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: a rank is bound to processors of another rank, or to none; units are counted across
// sockets; words that are not known are ignored.
#include <gtest/gtest.h>

#include "launch/rankfile.hpp"
#include "launch/spec.hpp"
#include "launch/topology.hpp"

namespace herald::launch {
namespace {

// Two sockets of two cores of two threads; a level-3 cache for each core.
std::vector<Processor> machine() {
  std::vector<Processor> out;
  for (int cpu = 0; cpu < 8; ++cpu) out.push_back({cpu, cpu / 2, cpu / 2, cpu / 4, cpu / 4});
  return out;
}

using Cpus = std::vector<std::vector<int>>;
Cpus place(const std::string& map, const std::string& bind, int ranks) {
  return place_ranks(machine(), parse_mapping(map), bind, ranks).cpus;
}

TEST(Topology, ranks_get_cores_in_order) {
  EXPECT_EQ(place("slot", "core", 3), (Cpus{{0, 1}, {2, 3}, {4, 5}}));
  EXPECT_EQ(place("slot", "hwthread", 3), (Cpus{{0}, {1}, {2}}));
  EXPECT_TRUE(place("slot", "", 3).empty());
  EXPECT_TRUE(place("slot", "none", 3).empty());
}

TEST(Topology, sockets_take_turns) {
  EXPECT_EQ(place("socket", "core", 4), (Cpus{{0, 1}, {4, 5}, {2, 3}, {6, 7}}));
  EXPECT_EQ(place("socket", "socket", 2), (Cpus{{0, 1, 2, 3}, {4, 5, 6, 7}}));
  EXPECT_EQ(place("core", "numa", 3), (Cpus{{0, 1, 2, 3}, {0, 1, 2, 3}, {4, 5, 6, 7}}));
  EXPECT_EQ(place("l3cache", "l3cache", 2), (Cpus{{0, 1}, {2, 3}}));
}

TEST(Topology, several_cores_each_and_several_ranks_on_a_unit) {
  EXPECT_EQ(place("slot:PE=2", "", 2), (Cpus{{0, 1, 2, 3}, {4, 5, 6, 7}}));
  EXPECT_EQ(place("ppr:2:socket", "core", 4), (Cpus{{0, 1}, {2, 3}, {4, 5}, {6, 7}}));
}

TEST(Topology, more_ranks_than_cores_are_not_bound_and_say_so) {
  const Places places = place_ranks(machine(), parse_mapping("core"), "core", 5);
  EXPECT_TRUE(places.cpus.empty());
  EXPECT_EQ(places.note, "5 ranks for 4 cores; ranks are not bound");
  EXPECT_EQ(place("socket", "socket", 6).size(), 6u);  // they share
}

TEST(Topology, unknown_words_are_refused) {
  for (const char* text : {"board", "core:PE=0", "core:PE=x", "ppr:2", "ppr:0:node", "", "core:wide"})
    EXPECT_THROW((void)parse_mapping(text), UsageError) << text;
  EXPECT_THROW((void)place("core", "board", 1), UsageError);
  EXPECT_EQ(parse_mapping(":OVERSUBSCRIBE").unit, Unit::core);
}

TEST(Topology, the_picture_shows_sockets_cores_and_threads) {
  EXPECT_EQ(picture(machine(), {2, 3}), "[../BB][../..]");
  EXPECT_EQ(picture(machine(), {4}), "[../..][B./..]");
}

TEST(Rankfile, hosts_slots_and_relative_hosts) {
  std::vector<RankPlace> places = parse_rankfile(
      "# a comment\nrank 2=+n1 slot=1:0\n\nrank 0=a slot=0-1\nrank 1=b slot=1,0  # end\n", "f");
  ASSERT_EQ(places.size(), 3u);
  EXPECT_EQ(places[0].host, "a");
  EXPECT_EQ(places[0].slot, "0-1");
  EXPECT_EQ(places[2].slot, "1:0");
  const HostList hosts = rankfile_hosts(places, parse_host_list("x,a"));
  EXPECT_EQ(hosts.text(), "a:2,b:1");
  EXPECT_EQ(rankfile_ranks(places, hosts), (std::vector<std::vector<int>>{{0, 2}, {1}}));
}

TEST(Rankfile, slots_are_cores_of_the_machine_or_of_a_socket) {
  EXPECT_EQ(slot_cpus(machine(), "0"), (std::vector<int>{0, 1}));
  EXPECT_EQ(slot_cpus(machine(), "2-3"), (std::vector<int>{4, 5, 6, 7}));
  EXPECT_EQ(slot_cpus(machine(), "1:1,0"), (std::vector<int>{4, 5, 6, 7}));
  EXPECT_THROW((void)slot_cpus(machine(), "4"), UsageError);
  EXPECT_THROW((void)slot_cpus(machine(), "2:0"), UsageError);
}

TEST(Rankfile, errors_name_file_line_and_cure) {
  const auto error_of = [](const std::string& text) -> std::string {
    try {
      (void)parse_rankfile(text, "f");
    } catch (const UsageError& error) {
      return error.what();
    }
    return {};
  };
  EXPECT_EQ(error_of("rank 0=a\nrnk 1=b\n"), "--rankfile f, line 2: write rank N=HOST slot=CORES");
  EXPECT_EQ(error_of("rank 0=a slot=x\n"),
            "--rankfile f, line 1: slot=x: write numbers of cores (0-1,3) or SOCKET:CORES");
  EXPECT_EQ(error_of("rank 0=a\nrank 0=b\n"), "--rankfile f, line 2: rank 0 is there twice");
  EXPECT_EQ(error_of("rank 0=a\nrank 2=b\n"), "--rankfile f: rank 1 is missing");
  EXPECT_EQ(error_of("# nothing\n"), "--rankfile f: it names no rank");
  std::vector<RankPlace> places = parse_rankfile("rank 0=+n1\n", "f");
  EXPECT_THROW((void)rankfile_hosts(places, parse_host_list("a")), UsageError);
}

}  // namespace
}  // namespace herald::launch
