// SPDX-License-Identifier: BSD-3-Clause
// sim/job/job.cpp: runs a job until all is done and quiet, or until it is clear that it never will be.
#include "sim/job/job.hpp"

#include <algorithm>
#include <cstdio>

namespace herald::sim {
namespace {

// Turns in which a process neither heard nor said anything, for each time that a datagram or a TCP frame is
// sent or delivered, and for each virtual second: more is a timer that fires for nothing.
constexpr double kIdlePerTransfer = 0.5;
constexpr double kIdlePerSecond = 200;
// Datagrams that a pair of processes without work may exchange in a second.
constexpr double kChatPerSecond = 20;
// ... and to find the size that a link carries: four rounds of three sizes, then three tries of eight sizes.
constexpr double kSearch = 36;

void add(rel::MeshCounters& sum, const rel::MeshCounters& each) {
  sum.sent += each.sent;
  sum.received += each.received;
  sum.sent_bytes += each.sent_bytes;
  sum.received_bytes += each.received_bytes;
  sum.resent += each.resent;
  sum.duplicates += each.duplicates;
  sum.out_of_order += each.out_of_order;
  sum.acks_sent += each.acks_sent;
  sum.acks_received += each.acks_received;
  sum.malformed += each.malformed;
  sum.stale += each.stale;
  sum.forged += each.forged;
  sum.links_lost += each.links_lost;
  sum.links_found += each.links_found;
  sum.peers_lost += each.peers_lost;
}

void add(rel::LaneCounters& sum, const rel::LaneCounters& each) {
  sum.cast += each.cast;
  sum.received += each.received;
  sum.repaired_unicast += each.repaired_unicast;
  sum.repaired_multicast += each.repaired_multicast;
  sum.naks_sent += each.naks_sent;
  sum.acks_sent += each.acks_sent;
  sum.acks_received += each.acks_received;
  sum.duplicates += each.duplicates;
  sum.forged += each.forged;
  sum.malformed += each.malformed;
  sum.late_contributions += each.late_contributions;
  sum.multicast_lost += each.multicast_lost;
  sum.multicast_regained += each.multicast_regained;
  sum.foreign += each.foreign;
  sum.address_changes += each.address_changes;
  sum.go_backs += each.go_backs;
  sum.suspended += each.suspended;
}

std::string words(const char* format, double a, double b) {
  char text[200];
  std::snprintf(text, sizeof text, format, a, b);
  return text;
}

bool all_of(const Net& net, const Processes& processes, bool (Process::*question)() const noexcept) {
  for (std::size_t i = 0; i < processes.size(); ++i)
    if (net.is_alive(static_cast<HostId>(i)) && !((*processes[i]).*question)()) return false;
  return true;
}

void summarize(const Net& net, const Processes& processes, Result& result) {
  result.net = net.counters();
  result.history = net.history();
  for (const auto& each : processes) {
    add(result.mesh, each->mesh().counters());
    add(result.lanes, each->lanes().counters());
    result.most_buffered = std::max(result.most_buffered, each->most_buffered());
    result.idle_turns += each->idle_turns();
    result.parts += each->runs().sub_lane_calls();
    if (each->finished_at() != kNever) result.finished = std::max(result.finished, each->finished_at());
  }
}

void check_memory(const Setup& setup, const Result& result, std::vector<std::string>& wrong) {
  const rel::MeshConfig& mesh = setup.process.mesh;
  const std::uint64_t peers = setup.script.steps.size();
  const std::uint64_t window = std::uint64_t{mesh.eager_packets} * 2 * (mesh.datagram_bytes + 128);
  // The log of what was sent, and as much for what came and cannot be delivered yet.
  const std::uint64_t most = 2 * std::uint64_t{mesh.log_bytes} + peers * window;
  if (result.most_buffered > most)
    wrong.push_back(words("a process held %.0f bytes, more than %.0f",
                          static_cast<double>(result.most_buffered), static_cast<double>(most)));
}

// Every corrupted or foreign datagram is dropped and counted. Compact contributions to lanes that are closed
// are counted too: a receiver cannot tell whether they are intact.
void check_strangers(const Net& net, const Processes& processes, std::vector<std::string>& wrong) {
  rel::MeshCounters sum;
  rel::LaneCounters lanes;
  std::uint64_t refused = 0;
  for (const auto& each : processes) {
    add(sum, each->mesh().counters());
    add(lanes, each->lanes().counters());
    refused += each->refused();
  }
  const std::uint64_t dropped =
      sum.malformed + sum.stale + sum.forged + lanes.malformed + lanes.forged + refused;
  if (net.counters().bad > dropped || net.counters().bad + lanes.late_contributions < dropped)
    wrong.push_back(words("%.0f datagrams were not as sent, %.0f were dropped as such",
                          static_cast<double>(net.counters().bad), static_cast<double>(dropped)));
}

// For how long each process completes nothing because of what the program does, on a network without fault.
Waits waits_without_trouble(const Setup& setup) {
  Setup calm = setup;
  calm.plan.clear();
  calm.tcp = setup.process.bulk;
  calm.tcp_plan.clear();
  calm.trouble_ends = {};
  calm.resume_within = {};
  Waits waits;
  (void)run_job(calm, nullptr, &waits);
  return waits;
}

// Each process completes something soon after the last fault, unless it has nothing left to do.
void watch_resumption(const Setup& setup, Net& net, const Processes& processes,
                      std::vector<std::uint64_t>& completed, std::vector<std::string>& wrong) {
  net.at(setup.trouble_ends, "the last fault has ended", [&](Net&) {
    for (std::size_t i = 0; i < processes.size(); ++i)
      completed[i] = processes[i]->core().counters().finished;
  });
  const Waits waits = waits_without_trouble(setup);
  for (std::size_t i = 0; i < processes.size(); ++i) {
    const Duration within{setup.resume_within.ns + waits.longest(i).ns};
    net.at(setup.trouble_ends + within, "host " + std::to_string(i) + " has gone on",
           [&, i, within](Net& which) {
             if (which.is_alive(static_cast<HostId>(i)) && !processes[i]->is_finished() &&
                 processes[i]->core().counters().finished == completed[i])
               wrong.push_back(words("stall: host %.0f completed nothing in %.3f s after the last fault",
                                     static_cast<double>(i), static_cast<double>(within.ns) / 1e9));
           });
  }
}

void plan_troubles(const Setup& setup, Net& net, TcpNet& tcp, const Processes& processes) {
  for (const auto& [at, run] : setup.tcp_plan) net.at(at, "TCP", [&tcp, run = run](Net&) { run(tcp); });
  for (const Planned& each : setup.plan) net.at(each.at, each.what, each.run);
  if (setup.dies < 0) return;
  const HostId dies = setup.dies;
  net.at(setup.death, "host " + std::to_string(dies) + " dies", [dies](Net& which) { which.kill(dies); });
  net.at(setup.told, "the launcher says that host " + std::to_string(dies) + " is dead",
         [&, dies](Net& which) {
           for (HostId i = 0; i < setup.net.hosts; ++i)
             if (which.is_alive(i)) processes[static_cast<std::size_t>(i)]->on_death(dies);
         });
}

// Datagrams that may leave after the end: late copies are answered, and while TCP is used, UDP is probed ten
// times a second by each link. A search for the size that a link carries goes on.
double most_chat(const Setup& setup, double again) {
  const double pairs = static_cast<double>(setup.net.hosts) * (setup.net.hosts - 1);
  const double probes = setup.tcp ? 10.0 * setup.net.links : 0;
  // Packets that are lost four times look like packets that are too long.
  const bool searches_size = setup.narrow || setup.net.faults.loss >= 0.2;
  const double searches = searches_size ? kSearch * setup.net.links : 0;
  return again +
         pairs * (8 + searches + (kChatPerSecond + probes) * static_cast<double>(setup.after.ns) / 1e9);
}

}  // namespace

void Waits::look(Instant now, const Processes& processes) {
  all_.resize(processes.size());
  for (std::size_t i = 0; i < processes.size(); ++i) {
    Wait& wait = all_[i];
    const std::uint64_t completed = processes[i]->core().counters().finished;
    if (completed == wait.completed) continue;
    wait.longest = std::max(wait.longest, now - wait.since);
    wait.completed = completed;
    wait.since = now;
  }
}

Result run_job(const Setup& setup, Watcher* watcher, Waits* waits) {
  Result result;
  Net net(setup.net);
  net.watch(watcher);
  TcpNet tcp(net);
  ProcessConfig config = setup.process;
  if (setup.tcp) config.tcp = &tcp;
  Processes processes;
  for (HostId i = 0; i < setup.net.hosts; ++i)
    processes.push_back(std::make_unique<Process>(net, setup.script, i, setup.seed, config));
  plan_troubles(setup, net, tcp, processes);
  std::vector<std::uint64_t> completed(processes.size());
  if (setup.resume_within.ns != 0) watch_resumption(setup, net, processes, completed, result.wrong);
  const Instant end = setup.trouble_ends + setup.limit;
  std::uint64_t seen = 0;
  const auto done = [&] {
    if (net.counters().turns == seen) return false;
    seen = net.counters().turns;
    if (waits != nullptr) waits->look(net.now(), processes);
    return net.now() >= setup.trouble_ends && all_of(net, processes, &Process::is_flushed);
  };
  bool finished = net.run(end, done);
  result.tcp_datagrams = tcp.datagrams();
  result.bulk_bytes = tcp.bulk_bytes();
  result.bulk_resumed = tcp.bulk_resumed();
  finished = finished || all_of(net, processes, &Process::is_flushed);
  const double seconds = static_cast<double>(net.now().ns) / 1e9;
  if (!finished) {
    result.wrong.push_back(words("stall: not done after %.3f s (trouble ended at %.3f s)", seconds,
                                 static_cast<double>(setup.trouble_ends.ns) / 1e9));
    for (HostId i = 0; i < setup.net.hosts && result.wrong.size() < 20; ++i)
      if (net.is_alive(i) && !processes[static_cast<std::size_t>(i)]->is_flushed())
        result.wrong.push_back(processes[static_cast<std::size_t>(i)]->state());
    summarize(net, processes, result);
    return result;
  }
  const std::uint64_t sent = net.counters().sent, under_way = net.under_way();
  summarize(net, processes, result);
  const auto transfers = static_cast<double>(result.net.sent + result.net.delivered + 2 * tcp.frames());
  const double allowed =
      kIdlePerTransfer * transfers + kIdlePerSecond * seconds * setup.net.hosts + 4.0 * setup.net.hosts;
  if (static_cast<double>(result.idle_turns) > allowed)
    result.wrong.push_back(words("busy timers: %.0f turns for nothing, at most %.0f are right",
                                 static_cast<double>(result.idle_turns), allowed));
  net.run(net.now() + setup.after);  // late copies may still come
  const auto chat = static_cast<double>(net.counters().sent - sent);
  const double quiet = most_chat(setup, static_cast<double>(under_way + net.counters().duplicated));
  if (chat > quiet)
    result.wrong.push_back(
        words("chatter: %.0f datagrams after the end, at most %.0f are right", chat, quiet));
  check_strangers(net, processes, result.wrong);
  check_contents(setup, net, processes, result.wrong);
  check_sends(setup, net, processes, result.wrong);
  check_leaks(setup, net, processes, result.wrong);
  check_one_sided(setup, net, processes, result.wrong);
  check_collectives(setup, net, processes, result.wrong);
  check_lanes(setup, net, processes, result.wrong);
  check_memory(setup, result, result.wrong);
  result.history = net.history();
  return result;
}

}  // namespace herald::sim
