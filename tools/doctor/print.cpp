// SPDX-License-Identifier: BSD-3-Clause
// tools/doctor/print.cpp: formats a report as text.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "colour.hpp"
#include "doctor/doctor.hpp"

namespace herald::tools::doctor {
namespace {

constexpr std::size_t kWidestTable = 16;  // hosts; for more there is only the summary

std::string size_text(std::int64_t bytes) {
  if (bytes < 0) return "unlimited";
  if (bytes >= std::int64_t{1} << 30)
    return fmt::format("{:.1f} GiB", static_cast<double>(bytes) / (1 << 30));
  if (bytes >= 1 << 20) return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1 << 20));
  return fmt::format("{} KiB", bytes >> 10);
}

template <class List>
std::string joined(const List& list, const char* between) {
  std::string text;
  for (const auto& each : list) text += (text.empty() ? "" : between) + std::string(each);
  return text;
}

std::string interface_text(const json& interface) {
  std::string text = fmt::format("  {:<10} {}; MTU {}", interface.at("name").get<std::string>(),
                                 joined(interface.at("addresses").get<std::vector<std::string>>(), " "),
                                 interface.at("mtu").get<int>());
  if (const int mbit = interface.at("mbit"); mbit > 0) text += fmt::format(", {} Mbit/s", mbit);
  if (interface.at("kind") == "secondary") text += " (used only for peers without another link)";
  return text + "\n";
}

std::string host_text(const json& host) {
  std::string text = fmt::format("{}: {}, {} cores, clock {}\n", host.at("name").get<std::string>(),
                                 host.at("kernel").get<std::string>(), host.at("cores").get<int>(),
                                 host.at("clock").get<std::string>());
  for (const json& interface : host.at("interfaces"))
    if (interface.at("up").get<bool>() && interface.at("kind") != "loopback" &&
        !interface.at("addresses").empty())
      text += interface_text(interface);
  const json& shm = host.at("shm");
  const json& sockets = host.at("sockets");
  text += fmt::format("  buffers    {} to receive, {} to send for each socket\n",
                      size_text(sockets.value("receive", 0)), size_text(sockets.value("send", 0)));
  text += fmt::format("  memory     /dev/shm {} free; CMA {}; locked {}; open files {}\n",
                      size_text(shm.value("free", std::int64_t{0})),
                      host.at("cma").get<bool>() ? "allowed" : "not allowed", size_text(host.at("memlock")),
                      host.at("files").get<std::int64_t>());
  const auto launchers = host.at("launchers").get<std::vector<std::string>>();
  text += fmt::format("  launchers  {}\n", launchers.empty() ? "none in PATH" : joined(launchers, ", "));
  return text;
}

using Pair = std::pair<std::string, std::string>;

// Rows are senders, columns receivers; empty above kWidestTable hosts.
std::string table(const json& hosts, const std::map<Pair, std::string>& cells) {
  if (hosts.size() > kWidestTable) return {};
  std::size_t width = 8;
  for (const json& host : hosts) width = std::max(width, host.at("name").get<std::string>().size() + 2);
  std::string text = fmt::format("{:>{}}", "from\\to", width);
  for (const json& to : hosts) text += fmt::format("{:>{}}", to.at("name").get<std::string>(), width);
  text += "\n";
  for (const json& from : hosts) {
    text += fmt::format("{:>{}}", from.at("name").get<std::string>(), width);
    for (const json& to : hosts) {
      const auto cell = cells.find({from.at("name"), to.at("name")});
      text += fmt::format("{:>{}}", cell == cells.end() ? "-" : cell->second, width);
    }
    text += "\n";
  }
  return text;
}

std::string reach_text(const json& report) {
  std::map<Pair, std::string> cells;
  std::size_t links = 0, answered = 0;
  for (const json& entry : report.at("reach")) {
    ++links;
    std::string& cell = cells[{entry.at("from"), entry.at("to")}];
    if (!entry.at("small").get<bool>()) {
      if (cell.empty()) cell = "none";
      continue;
    }
    ++answered;
    // The first link that replies; a star: also to the largest datagrams.
    if (cell.empty() || cell == "none")
      cell = fmt::format("{:.0f}{}", entry.value("rtt_us", 0.0), entry.at("full").get<bool>() ? "*" : "");
  }
  std::string text = fmt::format(
      "\nUDP: {} of {} links reply; first link, round trip in us (*: also datagrams of {} bytes)\n", answered,
      links, report.at("reach").at(0).value("full_bytes", 0));
  return text + table(report.at("hosts"), cells);
}

// The share of multicast probes that arrived, in percent.
std::string multicast_text(const json& report) {
  std::map<Pair, std::string> cells;
  std::size_t heard = 0;
  bool all = true;
  for (const json& entry : report.at("multicast")) {
    const int came = entry.at("heard"), sent = std::max(came, entry.value("sent", came));
    heard += came > 0;
    const int percent = sent == 0 ? 0 : came * 100 / sent;
    all = all && percent == 100;
    cells[{entry.at("from"), entry.at("to")}] = percent == 0 ? "none" : fmt::format("{}%", percent);
  }
  std::string text =
      fmt::format("multicast: received by {} of {} pairs of hosts\n", heard, report.at("multicast").size());
  return all ? text : text + table(report.at("hosts"), cells);
}

std::string network_text(const json& report) {
  double offset = 0;
  for (const json& entry : report.at("reach"))
    offset = std::max(offset, std::abs(entry.value("offset_us", 0.0)));
  return reach_text(report) + multicast_text(report) +
         fmt::format("clocks: within {:.1f} ms\n", offset / 1000);
}

}  // namespace

std::string format_report(const json& report, const std::vector<Finding>& findings, bool colours) {
  const json& hosts = report.at("hosts");
  std::string text = fmt::format("herald {}: {} rank{} on {} host{}, started by {}\n\n",
                                 report.at("herald").get<std::string>(), report.at("ranks").get<int>(),
                                 report.at("ranks") == 1 ? "" : "s", hosts.size(),
                                 hosts.size() == 1 ? "" : "s", report.at("started_by").get<std::string>());
  for (const json& host : hosts) text += host_text(host);
  if (!report.at("reach").empty()) text += network_text(report);
  if (hosts.size() == 1)
    text +=
        "\nOnly this host was checked. To check the network, run it under a launcher, one rank on each "
        "host.\n";
  if (findings.empty()) return text + "\n" + in_green("No problems found.", colours) + "\n";
  text += "\n" +
          in_red(fmt::format("{} finding{}:", findings.size(), findings.size() == 1 ? "" : "s"), colours) +
          "\n";
  for (const Finding& each : findings) {
    const std::string where =
        each.hosts.size() == hosts.size() && hosts.size() > 2 ? "all hosts" : joined(each.hosts, ", ");
    text += fmt::format("- {}: {}\n  remedy: {}\n", in_red(where, colours), each.what, each.remedy);
  }
  return text;
}

}  // namespace herald::tools::doctor
