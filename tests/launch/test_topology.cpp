// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: a rank is bound to processors of another rank, or to none; units are counted across
// sockets; words that are not known are ignored.
#include <gtest/gtest.h>

#include "launch/hwloc_reader.hpp"
#include "launch/machine.hpp"
#include "launch/rankfile.hpp"
#include "launch/ranking.hpp"
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

TEST(Topology, hwloc_and_the_kernel_agree_on_this_machine) {
  const std::vector<int> all = allowed_cpus();
  const std::vector<Processor> known = read_hwloc(all), told = read_topology(all, "/sys");
  if (known.empty()) GTEST_SKIP() << "no hwloc";
  ASSERT_EQ(known.size(), told.size());
  for (std::size_t a = 0; a < all.size(); ++a)
    for (std::size_t b = 0; b < all.size(); ++b)
      for (const Unit unit : {Unit::hwthread, Unit::core, Unit::l3cache, Unit::numa, Unit::socket})
        EXPECT_EQ(known[a].group(unit) == known[b].group(unit), told[a].group(unit) == told[b].group(unit))
            << all[a] << ' ' << all[b];
  EXPECT_TRUE(read_hwloc({1 << 20}).empty());
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
  const auto note = [](const std::string& map, int ranks) {
    return place_ranks(machine(), parse_mapping(map), "", ranks).note;
  };
  EXPECT_EQ(note("slot:PE=2", 3),
            "3 ranks with 2 cores each need 6 cores, and there are 4; ranks are not bound");
  EXPECT_EQ(note("slot:PE=5:HWTCPUS", 2),
            "2 ranks with 5 hardware threads each need 10 hardware threads, and there are 8; ranks are not "
            "bound");
  EXPECT_EQ(note("numa:PE=3", 1),
            "1 rank with 3 cores each do not fit into the 4 cores, when no rank has cores of more than one "
            "NUMA node; ranks are not bound");
}

TEST(Topology, more_ranks_than_ppr_allows_are_refused_even_unbound) {
  for (const char* bind : {"", "none", "core"})
    EXPECT_THROW((void)place("ppr:1:socket", bind, 3), UsageError) << bind;
  EXPECT_TRUE(place("ppr:1:socket", "none", 2).empty());
  EXPECT_EQ(place("ppr:2:core", "core", 3), (Cpus{{0, 1}, {0, 1}, {2, 3}}));
}

TEST(Topology, hardware_threads_count_as_cores_if_wanted) {
  EXPECT_EQ(place("slot:HWTCPUS", "hwthread", 3), (Cpus{{0}, {1}, {2}}));
  EXPECT_EQ(place("slot:PE=2:HWTCPUS", "", 2), (Cpus{{0, 1}, {2, 3}}));
  EXPECT_EQ(place("socket:HWTCPUS", "core", 3), (Cpus{{0, 1}, {4, 5}, {0, 1}}));
  EXPECT_EQ(place("hwthread:PE=3", "", 2), (Cpus{{0, 1, 2}, {3, 4, 5}}));
  EXPECT_EQ(place("ppr:2:core", "hwthread", 3), (Cpus{{0}, {1}, {2}}));
}

TEST(Topology, a_rank_bound_to_several_cores_or_their_sockets) {
  EXPECT_EQ(place("slot", "core:2", 2), (Cpus{{0, 1, 2, 3}, {4, 5, 6, 7}}));
  EXPECT_EQ(place("slot:PE=3", "socket", 1), (Cpus{{0, 1, 2, 3, 4, 5, 6, 7}}));
  EXPECT_EQ(place("slot", "core:overload-allowed", 1), (Cpus{{0, 1}}));
  EXPECT_THROW((void)place("slot", "socket:2", 1), UsageError);
}

// The processors of each rank after --rank-by; the ranks belong to programs of these sizes.
Cpus number(const std::string& map, const std::string& bind, const std::string& rank_by,
            const std::vector<int>& programs) {
  int ranks = 0;
  for (const int size : programs) ranks += size;
  const Mapping mapping = parse_mapping(map);
  const Places places = place_ranks(machine(), mapping, bind, ranks);
  Cpus out;
  for (const std::size_t place : number_by_place(machine(), places, programs, mapping.unit, rank_by))
    out.push_back(places.cpus[place]);
  return out;
}

TEST(Ranking, units_of_a_host_in_turn_or_one_after_the_other) {
  const Cpus mapped{{0, 1}, {4, 5}, {2, 3}, {6, 7}}, in_order{{0, 1}, {2, 3}, {4, 5}, {6, 7}};
  for (const char* word : {"", "slot", "node", "socket", "numa"})
    EXPECT_EQ(number("socket", "core", word, {4}), mapped) << word;
  for (const char* word : {"fill", "core", "hwthread", "l3cache"})
    EXPECT_EQ(number("socket", "core", word, {4}), in_order) << word;
  EXPECT_EQ(number("slot", "core", "socket", {4}), mapped);
  EXPECT_EQ(number("slot", "hwthread", "core", {4}), (Cpus{{0}, {2}, {1}, {3}}));
}

TEST(Ranking, binding_to_a_larger_unit_does_not_change_the_numbers) {
  EXPECT_EQ(number("slot", "socket", "socket", {4}), number("socket", "socket", "", {4}));
}

TEST(Ranking, ranks_of_a_program_stay_consecutive) {
  EXPECT_EQ(number("slot", "core", "socket", {1, 3}), (Cpus{{0, 1}, {2, 3}, {4, 5}, {6, 7}}));
  EXPECT_EQ(number("slot", "core", "socket", {3, 1}), (Cpus{{0, 1}, {4, 5}, {2, 3}, {6, 7}}));
  const std::vector<std::vector<int>> mapped{{0, 1}, {2, 3}};
  EXPECT_EQ(number_by_host(mapped, {2, 2}, "node"), mapped);
}

TEST(Ranking, hosts_in_turn_or_one_after_the_other) {
  using Ranks = std::vector<std::vector<int>>;
  const Ranks blocks{{0, 1, 2}, {3}}, turns{{0, 2, 3}, {1}};
  EXPECT_EQ(number_by_host(blocks, {4}, ""), blocks);
  EXPECT_EQ(number_by_host(blocks, {4}, "node"), turns);
  for (const char* word : {"slot", "fill", "core", "socket"})
    EXPECT_EQ(number_by_host(turns, {4}, word), blocks) << word;
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
