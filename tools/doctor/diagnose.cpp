// SPDX-License-Identifier: BSD-3-Clause
// tools/doctor/diagnose.cpp: finds problems in a report, and their remedies. Pure.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>

#include "doctor/doctor.hpp"
#include "doctor/loss.hpp"
#include "path/udp/address.hpp"

namespace herald::tools::doctor {
namespace {

constexpr std::uint64_t kMinSharedMemory = 64 << 20;
constexpr std::int64_t kMinFiles = 1024;
constexpr double kMaxOffsetUs = 50000;

class Findings {
 public:
  // A problem that several hosts share is one finding.
  void add(const std::string& id, const std::string& host, const std::string& what,
           const std::string& remedy) {
    for (Finding& each : list)
      if (each.id == id && each.what == what && each.remedy == remedy) {
        if (std::find(each.hosts.begin(), each.hosts.end(), host) == each.hosts.end())
          each.hosts.push_back(host);
        return;
      }
    list.push_back({id, {host}, what, remedy});
  }
  std::vector<Finding> list;
};

std::string rounded_size(std::int64_t bytes) {
  if (bytes >= 1 << 20) return std::to_string(bytes >> 20) + " MiB";
  return std::to_string(bytes >> 10) + " KiB";
}

// The rate of a window of `bytes` at the usual round trip between these hosts; empty: not measured.
std::string speed_text(std::int64_t bytes, const json& report) {
  std::vector<double> round_trips;
  for (const json& link : report.value("reach", json::array()))
    if (link.value("rtt_us", 0.0) > 0) round_trips.push_back(link.at("rtt_us").get<double>());
  if (round_trips.empty()) return "";
  std::sort(round_trips.begin(), round_trips.end());
  const double us = round_trips[round_trips.size() / 2];
  char text[96];
  std::snprintf(text, sizeof text,
                "; one sender gets at most %.1f Gbit/s through them at a round trip of %.0f us",
                static_cast<double>(bytes) * 8e-3 / us, us);
  return text;
}

void check_limits(const json& report, const json& host, const std::string& name, Findings& findings) {
  const json& sockets = host.at("sockets");
  const std::int64_t wanted = sockets.at("wanted");
  const std::int64_t least =
      std::min(sockets.value("receive", std::int64_t{0}), sockets.value("send", std::int64_t{0}));
  if (least < wanted)
    findings.add("socket_buffers", name,
                 "sockets get " + rounded_size(least) + " of buffer instead of " + rounded_size(wanted) +
                     ": bursts between hosts are lost and retransmitted" + speed_text(least, report),
                 "sysctl -w net.core.rmem_max=" + std::to_string(wanted) +
                     " net.core.wmem_max=" + std::to_string(wanted) + " (to stay: a file in /etc/sysctl.d)");
  const json& shm = host.at("shm");
  if (!shm.at("there").get<bool>() || !shm.value("writable", false))
    findings.add("shm", name,
                 "/dev/shm is missing or cannot be written to: ranks of this host cannot share memory",
                 "mount -t tmpfs -o mode=1777 tmpfs /dev/shm");
  else if (shm.at("free").get<std::uint64_t>() < kMinSharedMemory)
    findings.add("shm", name, "/dev/shm has only " + rounded_size(shm.at("free")) + " free",
                 "mount -o remount,size=1G /dev/shm (in containers: docker run --shm-size=1g), or set "
                 "HERALD_SHM_INBOX_BYTES=200k");
  const std::int64_t files = host.at("files");
  if (files >= 0 && files < kMinFiles)
    findings.add("files", name, "a process may open only " + std::to_string(files) + " files",
                 "ulimit -n 4096 (to stay: nofile in /etc/security/limits.conf)");
}

void check_system(const json& host, const std::string& name, Findings& findings) {
  if (!host.at("cma").get<bool>()) {
    const std::string scope = host.value("ptrace_scope", "");
    findings.add(
        "cma", name,
        "processes may not read each other's memory (CMA): long messages inside the host are copied twice",
        !scope.empty() && scope != "0" && scope != "1"
            ? "sysctl -w kernel.yama.ptrace_scope=1"
            : "in containers: docker run --cap-add=SYS_PTRACE, or a seccomp profile that allows "
              "process_vm_readv");
  }
  const std::string clock = host.at("clock");
  if (clock == "hpet" || clock == "acpi_pm" || clock.find("jiffies") != std::string::npos)
    findings.add(
        "clock_source", name, "the clock source is " + clock + ": reading the clock is slow",
        "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource, if tsc is among "
        "available_clocksource there");
  if (const std::string problem = host.value("problem", ""); !problem.empty())
    findings.add("settings", name, problem, "correct or unset the variable");
}

// Prefixes and interfaces of the plain interfaces of a host.
std::vector<std::pair<path::udp::Prefix, json>> networks_of(const json& host) {
  std::vector<std::pair<path::udp::Prefix, json>> list;
  for (const json& interface : host.at("interfaces")) {
    if (!interface.at("up").get<bool>() || interface.at("kind") != "plain") continue;
    for (const json& address : interface.at("addresses")) {
      path::udp::Prefix prefix;
      if (!path::udp::parse_prefix(address.get<std::string>(), prefix) || prefix.address.is_link_local())
        continue;
      list.emplace_back(prefix, interface);
    }
  }
  return list;
}

void check_interfaces(const json& host, const std::string& name, Findings& findings) {
  for (const json& interface : host.at("interfaces")) {
    const std::int64_t mbit = interface.at("mbit");
    if (!interface.at("up").get<bool>() || interface.at("kind") != "plain") continue;
    const std::string own = interface.at("name");
    if (mbit != 0 && mbit < 1000)
      findings.add("slow_link", name, own + " runs at " + std::to_string(mbit) + " Mbit/s",
                   "check cable and switch port: ethtool " + own);
    if (interface.value("duplex", "") == "half")
      findings.add("half_duplex", name, own + " runs in half duplex: packets collide and are lost",
                   "let both ends negotiate, also the switch port: ethtool -s " + own + " autoneg on");
  }
  const auto networks = networks_of(host);
  for (std::size_t i = 0; i < networks.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (host.value("rp_filter", "") == "1" &&
          networks[i].second.at("name") != networks[j].second.at("name") &&
          networks[i].first.contains(networks[j].first.address))
        findings.add("rp_filter", name,
                     "two interfaces are in one network, and the kernel drops packets that arrive by another "
                     "interface "
                     "than it would reply by",
                     "sysctl -w net.ipv4.conf.all.rp_filter=2");
}

struct Member {
  std::string host, interface, address;
  std::uint32_t mtu;
  std::int64_t mbit;
};
using Networks = std::vector<std::pair<path::udp::Prefix, std::vector<Member>>>;

// The interfaces of all hosts, by network.
Networks all_networks(const json& hosts) {
  Networks networks;
  for (const json& host : hosts)
    for (const auto& [prefix, interface] : networks_of(host)) {
      auto found = networks.begin();
      while (found != networks.end() && !found->first.contains(prefix.address)) ++found;
      if (found == networks.end()) found = networks.insert(found, {prefix, {}});
      found->second.push_back({host.at("name"), interface.at("name"), path::udp::to_text(prefix.address),
                               interface.at("mtu"), interface.at("mbit")});
    }
  return networks;
}

// Two hosts with one address: packets go to one of them, as the switch has learnt last.
void check_addresses(const Networks& networks, Findings& findings) {
  for (const auto& [prefix, members] : networks)
    for (const Member& each : members)
      for (const Member& other : members)
        if (other.host != each.host && other.address == each.address)
          findings.add(
              "duplicate_address", each.host,
              "several hosts have the address " + each.address + " in one network",
              "give each host its own: ip addr del, ip addr add; check DHCP reservations and cloned images");
}

// From 1 Gbit/s on: an interface that is slower than the fastest of its network.
void check_speed(const Networks& networks, Findings& findings) {
  for (const auto& [prefix, members] : networks) {
    std::int64_t most = 0;
    for (const Member& each : members) most = std::max(most, each.mbit);
    for (const Member& each : members)
      if (each.mbit >= 1000 && each.mbit < most)
        findings.add("slow_link", each.host,
                     each.interface + " runs at " + std::to_string(each.mbit) +
                         " Mbit/s, others in its network at " + std::to_string(most),
                     "check cable, transceiver and switch port: ethtool " + each.interface);
  }
}

// In each network, the interfaces whose MTU is not the most frequent one.
void check_mtu(const Networks& networks, Findings& findings) {
  for (const auto& [prefix, members] : networks) {
    std::map<std::uint32_t, int> votes;
    for (const Member& each : members) ++votes[each.mtu];
    std::uint32_t most = members.front().mtu;
    for (const auto& [mtu, count] : votes)
      if (count >= votes[most]) most = mtu;
    for (const Member& each : members)
      if (each.mtu != most)
        findings.add("mtu", each.host,
                     each.interface + " has MTU " + std::to_string(each.mtu) + ", others in its network " +
                         std::to_string(most) + ": all hosts use the smaller one",
                     "set the same MTU on all hosts and the switch: ip link set dev " + each.interface +
                         " mtu " + std::to_string(most));
  }
}

void check_names(const json& hosts, Findings& findings) {
  std::set<std::string> versions;
  std::map<std::string, int> names;
  for (const json& host : hosts) {
    versions.insert(host.at("herald").get<std::string>());
    ++names[host.value("own_name", host.at("name").get<std::string>())];
  }
  if (versions.size() > 1)
    for (const json& host : hosts)
      findings.add("versions", host.at("name"), "not all hosts run the same version of Herald",
                   "install the same version on all hosts");
  for (const json& host : hosts) {
    const std::string own = host.value("own_name", host.at("name").get<std::string>());
    if (names[own] > 1)
      findings.add("host_names", host.at("name"), "several hosts have the name " + own,
                   "hostnamectl set-hostname with a different name on each");
  }
}

// Results of two hosts about the links between them, in both directions.
struct PairFacts {
  int links = 0, answered = 0;
  std::string why;
  std::vector<std::string> dead, narrow;
  std::int64_t full_bytes = 0;
  std::int64_t passes_bytes = 0;  // the largest that passes, if the full size does not; 0: not known
  double offset_us = 0;
};

constexpr std::int64_t kUdpIp = 28;  // bytes of headers, with IPv4

std::string port_mtu(std::int64_t passes_bytes) {
  if (passes_bytes == 0) return "";
  return ": a port or tunnel on the way has an MTU of " + std::to_string(passes_bytes + kUdpIp);
}

using Peers = std::map<std::string, std::set<std::string>>;  // by host: peers without connectivity

std::string joined(const std::set<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

void check_reach(const json& reach, Peers& unreached, Findings& findings) {
  std::map<std::pair<std::string, std::string>, PairFacts> pairs;
  for (const json& entry : reach) {
    std::string from = entry.at("from"), to = entry.at("to");
    PairFacts& pair = pairs[std::minmax(from, to)];
    const std::string link = from + ": " + entry.at("link").get<std::string>();
    ++pair.links;
    if (!entry.at("small").get<bool>()) {
      if (entry.contains("why")) pair.why = entry.at("why").get<std::string>();
      pair.dead.push_back(link);
      continue;
    }
    ++pair.answered;
    if (!entry.at("full").get<bool>()) pair.narrow.push_back(link);
    if (const auto passes = entry.value("passes_bytes", std::int64_t{0}); passes != 0)
      pair.passes_bytes = pair.passes_bytes == 0 ? passes : std::min(pair.passes_bytes, passes);
    pair.full_bytes = entry.value("full_bytes", std::int64_t{0});
    if (const double offset = entry.value("offset_us", 0.0); std::abs(offset) > std::abs(pair.offset_us))
      pair.offset_us = offset;
  }
  for (const auto& entry : pairs) {
    const auto& names = entry.first;  // a binding cannot be captured below
    const auto& pair = entry.second;
    const std::string both = names.first + " and " + names.second;
    const auto about = [&](const std::string& id, const std::string& what, const std::string& remedy) {
      findings.add(id, names.first, what, remedy);
      findings.add(id, names.second, what, remedy);
    };
    if (pair.answered == 0) {
      unreached[names.first].insert(names.second);
      unreached[names.second].insert(names.first);
      if (!pair.why.empty()) about("no_link", pair.why, "give both an address in one network, or a route");
      continue;
    }
    for (const std::string& link : pair.dead)
      about("dead_link", "no reply over one of the links between " + both + ": " + link,
            "check cable and firewall, or name the interfaces that work: HERALD_IF=eth0");
    if (!pair.narrow.empty())
      about("mtu_blocked",
            "datagrams of " + std::to_string(pair.full_bytes) + " bytes do not pass between " + both +
                ", though both have the MTU for them" + port_mtu(pair.passes_bytes),
            "allow that MTU on all switch ports and tunnels between them, or lower it on the hosts: ip link "
            "set "
            "dev INTERFACE mtu " +
                std::to_string(pair.passes_bytes > 0 ? pair.passes_bytes + kUdpIp : 1500));
    if (std::abs(pair.offset_us) > kMaxOffsetUs)
      about("clock_offset",
            "the clocks of " + both + " differ by " +
                std::to_string(std::llround(std::abs(pair.offset_us) / 1000)) +
                " ms: times of several hosts cannot be compared",
            "timedatectl set-ntp true, or chrony, on both");
  }
}

void check_unreached(const Peers& unreached, Findings& findings) {
  for (const auto& [host, peers] : unreached)
    findings.add(
        "unreachable", host, "UDP between here and " + joined(peers) + " does not pass: jobs use TCP, slower",
        "check routes and firewalls on both sides (ip route get ADDRESS; nft list ruleset): UDP must pass "
        "between the hosts, on all ports or on those of HERALD_PORTS (docs/firewalls.md)");
}

// "from h1, h2 to here"
std::string way_text(const LossPlace& place) {
  return place.receives ? "from " + joined(place.peers) + " to here" : "from here to " + joined(place.peers);
}

void check_multicast(const json& multicast, const Peers& unreached, Findings& findings) {
  Peers unheard;
  std::vector<PairLoss> pairs;
  bool any = false;
  for (const json& entry : multicast) {
    const std::string from = entry.at("from"), to = entry.at("to");
    const auto known = unreached.find(to);
    any = any || entry.at("heard").get<int>() > 0;
    // A pair without any connectivity is reported as unreachable.
    if (entry.at("heard").get<int>() == 0 && (known == unreached.end() || known->second.count(from) == 0))
      unheard[to].insert(from);
    const std::int64_t heard = entry.at("heard"), sent = entry.value("sent", 0);
    const std::int64_t lost = sent - heard - entry.value("overflow", std::int64_t{0});
    if (heard > 0) pairs.push_back({from, to, sent, std::max<std::int64_t>(0, lost)});
  }
  for (const auto& [host, peers] : unheard)
    findings.add(
        "multicast", host,
        (any ? "multicast from " + joined(peers) : "multicast from the other hosts") +
            " is not received: a broadcast then costs a send for each host",
        "let UDP to 239.192.0.0/14 pass the firewall; on the switch enable the IGMP querier, or disable "
        "IGMP snooping");
  for (const LossPlace& place : find_loss(std::move(pairs)))
    findings.add("multicast_loss", place.host,
                 percent_text(place.lost, place.sent) + " of the multicast " + way_text(place) +
                     " is lost and retransmitted",
                 "check storm control on the switch, and the counters of its ports: ethtool -S");
}

void check_unicast(const json& unicast, Findings& findings) {
  std::vector<PairLoss> pairs;
  for (const json& entry : unicast) {
    const std::int64_t sent = entry.at("sent"), received = entry.at("received");
    // Nothing at all between two hosts is another finding.
    if (received > 0)
      pairs.push_back({entry.at("from"), entry.at("to"), sent, std::max<std::int64_t>(0, sent - received)});
  }
  for (const LossPlace& place : find_loss(std::move(pairs)))
    findings.add(
        "loss", place.host,
        percent_text(place.lost, place.sent) + " of the datagrams " + way_text(place) + " are lost (" +
            std::to_string(place.lost) + " of " + std::to_string(place.sent) + ")",
        "check cable, transceiver and duplex of this host and its switch port (ethtool INTERFACE; ethtool -S "
        "INTERFACE), and whether the switch drops (its port counters)");
}

void check_damage(const json& host, const std::string& name, Findings& findings) {
  const std::int64_t damaged = host.value("damaged", std::int64_t{0});
  if (damaged > 0)
    findings.add(
        "corruption", name, std::to_string(damaged) + " packets came damaged while the network was probed",
        "replace the cable or transceiver; if it stays, check the memory of the network card and switch "
        "(ethtool -S INTERFACE: crc errors)");
}

}  // namespace

std::vector<Finding> diagnose(const json& report) {
  Findings findings;
  const json& hosts = report.at("hosts");
  for (const json& host : hosts) {
    const std::string name = host.at("name");
    check_system(host, name, findings);
    check_interfaces(host, name, findings);
    check_limits(report, host, name, findings);
    check_damage(host, name, findings);
  }
  check_names(hosts, findings);
  const Networks networks = all_networks(hosts);
  check_addresses(networks, findings);
  check_speed(networks, findings);
  check_mtu(networks, findings);
  Peers unreached;
  check_reach(report.at("reach"), unreached, findings);
  check_unreached(unreached, findings);
  check_multicast(report.at("multicast"), unreached, findings);
  check_unicast(report.value("unicast", json::array()), findings);
  return findings.list;
}

}  // namespace herald::tools::doctor
