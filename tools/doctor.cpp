// SPDX-License-Identifier: BSD-3-Clause
// tools/doctor.cpp: `herald doctor`: checks this host and, under a launcher, the network between all hosts of
// the job. Every rank publishes the properties of its host in the launcher's key-value store; the lowest rank
// of each host probes the others; rank 0 diagnoses and prints.
#include "doctor/doctor.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <map>
#include <memory>

#include "boot/boot.hpp"
#include "build_facts.hpp"
#include "colour.hpp"
#include "commands.hpp"
#include "path/udp/card.hpp"

extern char** environ;

namespace herald::tools {
namespace {

using doctor::json;

// The values that all ranks publish, by rank.
std::vector<json> exchange(boot::Boot& boot, const std::string& key, const json& ours) {
  if (boot.put(key, ours.dump()) != Status::ok || boot.fence() != Status::ok)
    fail("doctor", boot.last_error());
  std::vector<json> all;
  for (int rank = 0; rank < boot.size(); ++rank) {
    std::string text;
    if (boot.get(rank, key, text) != Status::ok) fail("doctor", boot.last_error());
    all.push_back(json::parse(text, nullptr, false));
    if (!all.back().is_object()) fail("doctor", fmt::format("rank {} did not send a report", rank));
  }
  return all;
}

// A network namespace is a host; without a socket, the host name identifies it.
std::string host_key(const json& put) {
  path::udp::NetCard card;
  std::string why;
  if (path::udp::read_card(put.at("card").get<std::string>(), card, why)) return std::to_string(card.net);
  return put.at("facts").at("name").get<std::string>();
}

struct Job {
  json hosts = json::array();          // facts, each with its ranks
  std::map<int, std::string> name_of;  // host name by leader
  std::vector<doctor::HostLeader> leaders;
};

Job sort_out(const std::vector<json>& all) {
  Job job;
  std::map<std::string, std::size_t> place;
  std::map<std::string, int> names;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    const json& put = all[rank];
    const auto [found, fresh] = place.try_emplace(host_key(put), job.hosts.size());
    if (fresh) {
      json host = put.at("facts");
      const std::string own = host.at("name");
      // Names in the report must be unique, even if host names are not.
      if (names[own]++ > 0) host["own_name"] = own, host["name"] = fmt::format("{}({})", own, rank);
      host["problem"] = put.at("problem");
      host["ranks"] = json::array();
      job.name_of[static_cast<int>(rank)] = host.at("name");
      job.leaders.push_back({static_cast<int>(rank), put.at("card"), put.at("secret")});
      job.hosts.push_back(host);
    }
    job.hosts[found->second]["ranks"].push_back(rank);
  }
  return job;
}

// Datagrams of each ordered pair: the sender knows how many it sent, the receiver how many came.
json loss_of(const Job& job, const std::vector<json>& results) {
  std::map<std::pair<int, int>, std::int64_t> received;
  for (std::size_t rank = 0; rank < results.size(); ++rank)
    for (const json& entry : results[rank].value("datagrams", json::array()))
      received[{entry.at("to").get<int>(), static_cast<int>(rank)}] = entry.at("received");
  json list = json::array();
  for (std::size_t rank = 0; rank < results.size(); ++rank)
    for (const json& entry : results[rank].value("datagrams", json::array())) {
      const int from = static_cast<int>(rank), to = entry.at("to");
      list.push_back({{"from", job.name_of.at(from)},
                      {"to", job.name_of.at(to)},
                      {"sent", entry.at("sent")},
                      {"received", received[{from, to}]}});
    }
  return list;
}

json report_of(const boot::Boot& boot, const Job& job, const std::vector<json>& results) {
  json reach = json::array(), multicast = json::array();
  for (const json& result : results) {
    for (json entry : result.value("reach", json::array())) {
      entry["from"] = job.name_of.at(entry.at("from").get<int>());
      entry["to"] = job.name_of.at(entry.at("to").get<int>());
      reach.push_back(entry);
    }
    for (const json& entry : result.value("heard", json::array()))
      multicast.push_back({{"from", job.name_of.at(entry.at("from").get<int>())},
                           {"to", job.name_of.at(entry.at("to").get<int>())},
                           {"heard", entry.at("count")},
                           {"sent", entry.value("sent", 0)},
                           {"overflow", entry.value("overflow", 0)}});
  }
  const json unicast = loss_of(job, results);
  json hosts = job.hosts;
  for (std::size_t i = 0; i < job.leaders.size(); ++i)
    hosts[i]["damaged"] = results[static_cast<std::size_t>(job.leaders[i].rank)].value("damaged", 0);
  return {{"herald", kVersion}, {"started_by", boot.name()}, {"ranks", boot.size()}, {"hosts", hosts},
          {"reach", reach},     {"multicast", multicast},    {"unicast", unicast}};
}

// The exit code: 0 all is well, 1 there are findings.
int tell(json report, bool as_json) {
  const auto findings = doctor::diagnose(report);
  if (!as_json) {
    fmt::print("{}", doctor::format_report(report, findings, has_colours(STDOUT_FILENO)));
    return findings.empty() ? 0 : 1;
  }
  report["well"] = findings.empty();
  report["findings"] = json::array();
  for (const doctor::Finding& each : findings)
    report["findings"].push_back(
        {{"id", each.id}, {"hosts", each.hosts}, {"what", each.what}, {"cure", each.remedy}});
  fmt::print("{}\n", report.dump(2));
  return findings.empty() ? 0 : 1;
}

int look(bool as_json) {
  std::vector<std::string> warnings;
  const Knobs knobs = read_knobs(environ, warnings);
  std::string why;
  const auto boot = boot::open(environ, why);
  if (!boot) fail("doctor", why);
  if (boot->rank() == 0)
    for (const std::string& warning : warnings) fmt::print(stderr, "herald: {}\n", warning);
  doctor::Prober prober(knobs, boot->rank(), boot->size());
  const auto all = exchange(*boot, "doctor.facts",
                            {{"facts", doctor::facts_of_host(knobs)},
                             {"card", prober.card()},
                             {"problem", prober.problem()},
                             {"secret", prober.secret()}});
  const Job job = sort_out(all);
  json result = json::object();
  const auto all_have_stopped = [&] {
    if (boot->fence() != Status::ok) fail("doctor", boot->last_error());
  };
  const std::int64_t damaged = doctor::count_damaged();
  if (boot->rank() == 0 && job.leaders.size() > 1)
    fmt::print(stderr, "herald doctor: {} hosts probe each other, at most {} s\n", job.leaders.size(),
               doctor::kMostProbeSeconds);
  if (job.leaders.size() > 1 && job.name_of.count(boot->rank()) > 0)
    result = prober.run(job.leaders, all_have_stopped);
  else
    all_have_stopped();
  result["damaged"] = doctor::count_damaged() - damaged + result.value("damaged", std::int64_t{0});
  const auto results = exchange(*boot, "doctor.ways", result);
  const int code = boot->rank() == 0 ? tell(report_of(*boot, job, results), as_json) : 0;
  std::fflush(stdout);
  if (boot->finalize() != Status::ok) fail("doctor", boot->last_error());
  return code;
}

}  // namespace

void add_doctor(CLI::App& program) {
  CLI::App* command = program.add_subcommand(
      "doctor", "check this host, or the hosts of a job and the network between them, and print remedies");
  const auto as_json = std::make_shared<bool>(false);
  command->add_flag("--json", *as_json, "print the whole report as JSON");
  command->callback([as_json] {
    int code = 0;
    try {
      code = look(*as_json);
    } catch (const json::exception& error) {
      fail("doctor", std::string("malformed report: ") + error.what());
    }
    if (code != 0) throw CLI::RuntimeError(code);
  });
}

}  // namespace herald::tools
