// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: `herald doctor` reports faults of a healthy cluster, or none of a faulty one; it names
// the wrong host, or suggests no remedy; one fault between many hosts gives many findings.
#include "doctor/doctor.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "doctor/loss.hpp"

using namespace herald::tools::doctor;

namespace {

json make_interface(const std::string& name, const std::string& address) {
  return {{"name", name},
          {"up", true},
          {"kind", "plain"},
          {"mtu", 1500},
          {"mbit", 1000},
          {"multicast", true},
          {"addresses", json::array({address})}};
}

json make_host(int number) {
  const std::string digit = std::to_string(number);
  return {{"name", "h" + digit},
          {"herald", "1.0"},
          {"kernel", "Linux 6.1"},
          {"machine", "x86_64"},
          {"cores", 4},
          {"clock", "tsc"},
          {"interfaces", json::array({make_interface("eth0", "10.0.0." + digit + "/24")})},
          {"rp_filter", "1"},
          {"sockets", {{"wanted", 4 << 20}, {"receive", 4 << 20}, {"send", 4 << 20}}},
          {"shm", {{"there", true}, {"writable", true}, {"bytes", 1 << 30}, {"free", 1 << 30}}},
          {"cma", true},
          {"ptrace_scope", "1"},
          {"files", 1024},
          {"memlock", -1},
          {"launchers", json::array({"mpirun"})},
          {"problem", ""}};
}

json healthy(int hosts) {
  json report = {{"herald", "1.0"},        {"started_by", "pmix"},   {"ranks", hosts},
                 {"hosts", json::array()}, {"reach", json::array()}, {"multicast", json::array()}};
  for (int i = 1; i <= hosts; ++i) report["hosts"].push_back(make_host(i));
  for (int i = 1; i <= hosts; ++i)
    for (int j = 1; j <= hosts; ++j) {
      if (i == j) continue;
      const std::string from = "h" + std::to_string(i), to = "h" + std::to_string(j);
      report["reach"].push_back({{"from", from},
                                 {"to", to},
                                 {"link", "eth0"},
                                 {"small", true},
                                 {"full", true},
                                 {"full_bytes", 1472},
                                 {"rtt_us", 50.0},
                                 {"offset_us", 10.0}});
      report["multicast"].push_back({{"from", from}, {"to", to}, {"heard", 15}});
    }
  return report;
}

using Names = std::vector<std::string>;

// The single expected finding.
Finding only(const json& report) {
  const auto findings = diagnose(report);
  EXPECT_EQ(findings.size(), 1u) << format_report(report, findings);
  if (findings.empty()) return {};
  EXPECT_NE(findings[0].what, "");
  EXPECT_NE(findings[0].remedy, "");
  EXPECT_NE(format_report(report, findings).find(findings[0].remedy), std::string::npos);
  return findings[0];
}

json& entry(json& report, const char* list, const std::string& from, const std::string& to) {
  for (json& each : report[list])
    if (each["from"] == from && each["to"] == to) return each;
  ADD_FAILURE();
  return report;
}

void cut(json& report, const std::string& a, const std::string& b) {
  for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)}) {
    entry(report, "reach", from, to)["small"] = false;
    entry(report, "reach", from, to)["full"] = false;
    entry(report, "multicast", from, to)["heard"] = 0;
  }
}

}  // namespace

TEST(Doctor, a_healthy_cluster_has_no_findings) {
  for (int hosts : {1, 2, 20}) {
    const json report = healthy(hosts);
    const auto findings = diagnose(report);
    EXPECT_TRUE(findings.empty());
    EXPECT_NE(format_report(report, findings).find("No problems found."), std::string::npos);
  }
}

TEST(Doctor, limits_of_a_host_are_found_and_hosts_with_equal_findings_are_merged) {
  json report = healthy(3);
  for (int i : {0, 2}) report["hosts"][i]["sockets"]["receive"] = 212992;
  const Finding finding = only(report);
  EXPECT_EQ(finding.id, "socket_buffers");
  EXPECT_EQ(finding.hosts, (Names{"h1", "h3"}));
  EXPECT_NE(finding.remedy.find("sysctl -w net.core.rmem_max=4194304"), std::string::npos);
}

TEST(Doctor, each_fault_of_a_host_is_one_finding) {
  const std::vector<std::pair<const char*, std::function<void(json&)>>> faults = {
      {"cma", [](json& host) { host["cma"] = false; }},
      {"shm", [](json& host) { host["shm"]["free"] = 1 << 20; }},
      {"shm",
       [](json& host) {
         host["shm"] = {{"there", false}};
       }},
      {"shm", [](json& host) { host["shm"]["writable"] = false; }},
      {"files", [](json& host) { host["files"] = 256; }},
      {"clock_source", [](json& host) { host["clock"] = "hpet"; }},
      {"slow_link", [](json& host) { host["interfaces"][0]["mbit"] = 100; }},
      {"settings", [](json& host) { host["problem"] = "HERALD_IF=eth9: there is no interface eth9"; }},
      {"mtu", [](json& host) { host["interfaces"][0]["mtu"] = 9000; }},
      {"rp_filter",
       [](json& host) { host["interfaces"].push_back(make_interface("eth1", "10.0.0.99/24")); }}};
  for (const auto& [id, spoil] : faults) {
    json report = healthy(3);
    spoil(report["hosts"][1]);
    const Finding finding = only(report);
    EXPECT_EQ(finding.id, id);
    EXPECT_EQ(finding.hosts, Names{"h2"}) << id;
  }
}

TEST(Doctor, valid_settings_give_no_finding) {
  json report = healthy(2);
  json& host = report["hosts"][0];
  host["files"] = -1;                 // unlimited
  host["interfaces"][0]["mbit"] = 0;  // not known
  json second = make_interface("docker0", "10.0.0.77/24");
  second["kind"] = "secondary";
  second["mtu"] = 9000;
  second["mbit"] = 10;
  host["interfaces"].push_back(second);
  json down = make_interface("eth1", "10.0.0.78/24");
  down["up"] = false;
  host["interfaces"].push_back(down);
  EXPECT_TRUE(diagnose(report).empty());
}

TEST(Doctor, an_unreachable_pair_is_named_and_gives_no_multicast_finding) {
  json report = healthy(3);
  cut(report, "h1", "h2");
  const auto findings = diagnose(report);
  ASSERT_EQ(findings.size(), 2u);
  for (const Finding& each : findings) EXPECT_EQ(each.id, "unreachable");
  EXPECT_EQ(findings[0].hosts, Names{"h1"});
  EXPECT_NE(findings[0].what.find("h2"), std::string::npos);
}

TEST(Doctor, a_cluster_in_two_halves_is_two_findings) {
  json report = healthy(8);
  for (int i = 1; i <= 4; ++i)
    for (int j = 5; j <= 8; ++j) cut(report, "h" + std::to_string(i), "h" + std::to_string(j));
  const auto findings = diagnose(report);
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].hosts, (Names{"h1", "h2", "h3", "h4"}));
  EXPECT_NE(findings[0].what.find("h5, h6, h7, h8"), std::string::npos);
}

TEST(Doctor, multicast_that_no_host_receives_is_one_finding) {
  json report = healthy(4);
  for (json& each : report["multicast"]) each["heard"] = 0;
  const Finding finding = only(report);
  EXPECT_EQ(finding.id, "multicast");
  EXPECT_EQ(finding.hosts.size(), 4u);
}

TEST(Doctor, partly_lost_multicast_is_reported_with_a_table) {
  json report = healthy(3);
  for (json& each : report["multicast"]) each["heard"] = each["sent"] = 60;
  EXPECT_TRUE(diagnose(report).empty());
  EXPECT_EQ(format_report(report, {}).find("%"), std::string::npos);
  entry(report, "multicast", "h1", "h3")["heard"] = 42;
  const Finding finding = only(report);
  EXPECT_EQ(finding.id, "multicast_loss");
  EXPECT_EQ(finding.hosts, (Names{"h3"}));
  EXPECT_NE(format_report(report, {finding}).find("70%"), std::string::npos);
  entry(report, "multicast", "h1", "h3")["heard"] = 58;
  EXPECT_TRUE(diagnose(report).empty());
}

namespace {

// Datagrams of all ordered pairs of `hosts`, without loss.
json unicast(int hosts, int sent) {
  json list = json::array();
  for (int i = 1; i <= hosts; ++i)
    for (int j = 1; j <= hosts; ++j)
      if (i != j)
        list.push_back({{"from", "h" + std::to_string(i)},
                        {"to", "h" + std::to_string(j)},
                        {"sent", sent},
                        {"received", sent}});
  return list;
}

}  // namespace

TEST(Doctor, loss_is_attributed_to_a_host_and_a_direction) {
  for (const bool receives : {true, false})
    for (const int lost : {10, 1000}) {  // of 10,000: from 0.1 % on
      json report = healthy(5);
      report["unicast"] = unicast(5, 10'000);
      for (json& each : report["unicast"])
        if (each[receives ? "to" : "from"] == "h3") each["received"] = 10'000 - lost;
      const Finding finding = only(report);
      EXPECT_EQ(finding.id, "loss");
      EXPECT_EQ(finding.hosts, Names{"h3"});
      EXPECT_NE(finding.what.find(receives ? "from h1, h2, h4, h5 to here" : "from here to h1, h2, h4, h5"),
                std::string::npos)
          << finding.what;
      EXPECT_EQ(finding.what.rfind(lost == 10 ? "0.10 %" : "10.0 %", 0), 0u) << finding.what;
    }
}

TEST(Doctor, loss_between_two_hosts_of_many_names_both_and_single_datagrams_are_no_finding) {
  json report = healthy(4);
  report["unicast"] = unicast(4, 10'000);
  entry(report, "unicast", "h1", "h4")["received"] = 9'900;
  const Finding finding = only(report);
  EXPECT_EQ(finding.hosts, Names{"h4"});
  EXPECT_NE(finding.what.find("from h1 to here"), std::string::npos);
  entry(report, "unicast", "h1", "h4")["received"] = 9'998;
  EXPECT_TRUE(diagnose(report).empty());
}

TEST(Doctor, low_multicast_loss_is_found_and_a_full_socket_is_no_loss) {
  json report = healthy(3);
  for (json& each : report["multicast"]) each["heard"] = each["sent"] = 4000;
  for (json& each : report["multicast"])
    if (each["to"] == "h2") each["heard"] = 3990;
  EXPECT_EQ(only(report).id, "multicast_loss");
  EXPECT_EQ(only(report).hosts, Names{"h2"});
  for (json& each : report["multicast"])
    if (each["to"] == "h2") each["overflow"] = 20;
  EXPECT_TRUE(diagnose(report).empty());
}

TEST(Doctor, addresses_duplex_speeds_and_damage) {
  json report = healthy(3);
  report["hosts"][2]["interfaces"][0]["addresses"][0] = "10.0.0.1/24";
  EXPECT_EQ(only(report).id, "duplicate_address");
  EXPECT_EQ(only(report).hosts, (Names{"h1", "h3"}));

  report = healthy(3);
  report["hosts"][1]["interfaces"][0]["duplex"] = "half";
  EXPECT_EQ(only(report).id, "half_duplex");

  report = healthy(3);
  for (json& host : report["hosts"]) host["interfaces"][0]["mbit"] = 10'000;
  EXPECT_TRUE(diagnose(report).empty());
  report["hosts"][1]["interfaces"][0]["mbit"] = 1000;
  EXPECT_EQ(only(report).id, "slow_link");
  EXPECT_EQ(only(report).hosts, Names{"h2"});

  report = healthy(3);
  report["hosts"][0]["damaged"] = 3;
  EXPECT_EQ(only(report).id, "corruption");
}

// A meter at each of two hosts, and a network that loses datagrams of one direction.
TEST(LossMeter, counts_each_direction_and_does_not_stall_on_lost_probes) {
  LossMeter a({1}), b({0});
  std::mt19937 random(7);
  const auto passes = [&] { return random() % 100 != 0; };
  std::int64_t now = 0;
  int rounds = 0;
  for (; !a.is_complete() && rounds < 1'000'000; ++rounds, now += 10'000) {
    const auto number = a.next_probe(1, now);
    if (!number || !passes()) continue;  // from a to b 1 % is lost
    b.on_probe(0);
    a.on_reply(1, *number);
  }
  EXPECT_TRUE(a.is_complete());
  const json from_a = a.results()[0], from_b = b.results()[0];
  EXPECT_EQ(from_b["sent"], from_a["received"]);
  const auto lost = from_a["sent"].get<int>() - from_b["received"].get<int>();
  EXPECT_GT(lost, 20);
  EXPECT_LT(lost, 100);
}

TEST(LossMeter, few_probes_are_outstanding) {
  LossMeter meter({1});
  int sent = 0;
  while (meter.next_probe(1, 0)) ++sent;
  EXPECT_LE(sent, 16);
  EXPECT_GE(sent, 2);
  EXPECT_TRUE(meter.next_probe(1, 1'000'000'000)) << "probes without a reply block the meter";
}

TEST(Doctor, large_datagrams_dead_links_clocks_and_versions) {
  json report = healthy(2);
  entry(report, "reach", "h1", "h2")["full"] = false;
  EXPECT_EQ(only(report).id, "mtu_blocked");

  report = healthy(2);
  json dead = entry(report, "reach", "h1", "h2");
  dead["link"] = "eth1 10.1.0.1 -> 10.1.0.2";
  dead["small"] = false;
  report["reach"].push_back(dead);
  EXPECT_EQ(only(report).id, "dead_link");
  EXPECT_NE(only(report).what.find("eth1 10.1.0.1"), std::string::npos);

  report = healthy(2);
  entry(report, "reach", "h2", "h1")["offset_us"] = -2e6;
  EXPECT_EQ(only(report).id, "clock_offset");
  EXPECT_NE(only(report).what.find("2000 ms"), std::string::npos);

  report = healthy(2);
  report["hosts"][1]["herald"] = "0.9";
  EXPECT_EQ(only(report).id, "versions");

  report = healthy(2);
  report["hosts"][1]["own_name"] = "h1";
  EXPECT_EQ(only(report).id, "host_names");
}

TEST(Doctor, malformed_reports_are_refused) {
  EXPECT_THROW(diagnose(json::object()), json::exception);
  EXPECT_THROW(diagnose(json::array()), json::exception);
  json report = healthy(1);
  report["hosts"][0].erase("sockets");
  EXPECT_THROW(diagnose(report), json::exception);
}
