// SPDX-License-Identifier: BSD-3-Clause
// sim/tool/scale.cpp: see scale.hpp. The hosts are in leaves of 32, joined by a spine. The time of a call is
// the difference between two jobs, one of which makes it more often.
#include "sim/tool/scale.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

#include "sim/job/job.hpp"

namespace herald::sim {
namespace {

constexpr std::int32_t kLeafHosts = 32;
constexpr std::int64_t kBytes = 1 << 20;
constexpr std::uint32_t kWindow =
    1024;  // casts that are outstanding and that sockets hold, as in the library
// Of a broadcast; of a barrier, beside the logarithm, because up to 16 hosts it is a fused exchange; of acks
// that the source receives for a cast.
constexpr double kMostGrowth = 1.10, kMostBarrier = 1.5, kMostAcks = 4;

// As the library does.
const coll::Algorithm* choose(coll::Op op, std::int32_t hosts, std::int64_t bytes) {
  coll::Shape shape = coll::shape_of(hosts, hosts, true);
  shape.lane = true;
  return &coll::choose(op, static_cast<std::uint64_t>(bytes), shape);
}

Setup setup_of(const ScaleOptions& options, std::int32_t hosts, int barriers, int broadcasts) {
  Setup setup;
  setup.seed = setup.net.seed = 1;
  NetConfig& net = setup.net;
  net.hosts = hosts;
  net.leaf_hosts = kLeafHosts;
  net.faults.loss = options.loss;
  net.pause_frames = options.pause_frames;
  net.links = options.failure ? 2 : 1;
  setup.process.interfaces = net.links;
  setup.process.mixed_sockets = false;
  setup.process.lanes.window_packets = kWindow;
  setup.process.lanes.held_packets = kWindow;
  rel::MeshConfig& mesh = setup.process.mesh;
  mesh.eager_packets =
      rel::eager_window(mesh.budget_bytes, mesh.datagram_bytes, static_cast<std::uint32_t>(hosts) - 1);
  Script& script = setup.script;
  script.name = "scale";
  script.steps.resize(static_cast<std::size_t>(hosts));
  LaneSpec lane;
  lane.name = 77;
  lane.context = 100;
  for (std::int32_t i = 0; i < hosts; ++i) lane.members.push_back(i);
  script.lanes.push_back(lane);
  for (int i = 0; i < barriers + broadcasts; ++i) {
    CollSpec spec;
    const bool barrier = i < barriers;
    spec.op = barrier ? coll::Op::barrier : coll::Op::bcast;
    spec.count = barrier ? 0 : kBytes / 4;
    spec.algorithm = choose(spec.op, hosts, 4 * spec.count);
    spec.number = static_cast<std::uint32_t>(i);
    script.collectives.push_back(spec);
  }
  for (auto& steps : script.steps) {
    steps.push_back({Do::open_lane, 0});
    for (std::uint32_t i = 0; i < script.collectives.size(); ++i) {
      steps.push_back({Do::collect, i});
      steps.push_back({Do::wait_collect, i});
    }
    steps.push_back({Do::wait_all});
  }
  const auto plan = [&](std::string what, std::function<void(Net&)> run) {
    setup.plan.push_back({Instant{}, std::move(what), std::move(run)});
  };
  if (options.slow_host)
    plan("host 3 has half the rate", [rate = net.shape.bits_per_second / 2](Net& which) {
      which.fabric().set_line(3, kNoLink, {.bits_per_second = rate});
    });
  if (options.failure)
    setup.plan.push_back({Instant{} + milliseconds(2), "an interface of host 5 fails",
                          [](Net& which) { which.fabric().set_link(5, 0, false); }});
  setup.limit = milliseconds(60'000);
  return setup;
}

struct Row {
  double barrier_us = 0, bcast_ms = 0, acks_per_cast = 0;
  std::uint64_t unicast = 0;  // times that a member was judged to receive no multicast
  std::vector<std::string> wrong;
};

Row measure(const ScaleOptions& options, std::int32_t hosts) {
  Row row;
  constexpr int kFew = 4, kMany = 12;
  const auto run = [&](int barriers, int broadcasts) {
    Result result = run_job(setup_of(options, hosts, barriers, broadcasts));
    row.wrong.insert(row.wrong.end(), result.wrong.begin(), result.wrong.end());
    return result;
  };
  const auto us = [](const Result& result) { return static_cast<double>(result.finished.ns) / 1e3; };
  const Result few = run(kFew, 0), many = run(kMany, 0), broadcast = run(kFew, 1);
  row.barrier_us = (us(many) - us(few)) / (kMany - kFew);
  row.bcast_ms = (us(broadcast) - us(few)) / 1e3;
  row.unicast = broadcast.lanes.multicast_lost;
  row.acks_per_cast =
      static_cast<double>(broadcast.lanes.acks_received) / static_cast<double>(broadcast.lanes.cast);
  return row;
}

}  // namespace

bool print_scale(const ScaleOptions& options) {
  const bool quiet = options.loss == 0 && !options.failure;
  std::printf("%6s %12s %10s %14s %16s %12s\n", "hosts", "barrier us", "per log2", "bcast 1 MiB ms",
              "acks per cast", "to unicast");
  bool good = true;
  double first_bcast = 0, first_barrier = 0;
  for (const std::int32_t hosts : options.hosts) {
    const Row row = measure(options, hosts);
    const double per_log = row.barrier_us / std::log2(hosts);
    if (first_bcast == 0) first_bcast = row.bcast_ms, first_barrier = per_log;
    const bool grows_slowly =
        row.bcast_ms <= kMostGrowth * first_bcast && per_log <= kMostBarrier * first_barrier;
    const bool fits = row.wrong.empty() && (grows_slowly || !quiet) && row.acks_per_cast <= kMostAcks &&
                      (row.unicast == 0 || options.failure);
    std::printf("%6d %12.1f %10.1f %14.3f %16.2f %12llu%s\n", hosts, row.barrier_us, per_log, row.bcast_ms,
                row.acks_per_cast, static_cast<unsigned long long>(row.unicast),
                fits ? "" : "  TOO SLOW OR WRONG");
    for (const std::string& each : row.wrong) std::printf("! %s\n", each.c_str());
    std::fflush(stdout);
    good = good && fits;
  }
  return good;
}

}  // namespace herald::sim
