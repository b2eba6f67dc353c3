// SPDX-License-Identifier: BSD-3-Clause
// tools/measure/main.cpp: herald-measure, the MPI program of `herald model measure` (docs/model.md): the
// network between one rank of each host, shared memory between two ranks of a host, and the hosts themselves.
#include <fmt/format.h>
#include <mpi.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>

#include "boot/model_file.hpp"
#include "measure.hpp"
#include "model/sizes.hpp"

namespace herald::measure {

void Progress::begin(const char* what) {
  ++stage_;
  if (!shown_) return;
  constexpr int kWidth = 24;
  const int done = stage_ - 1, full = done * kWidth / kStages;
  std::string text = what;
  if (done > 0) {
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
    text += fmt::format(", about {:.0f} s left", seconds / done * (kStages - done));
  }
  if (bar_)
    fmt::print(stderr, "\r[{:<{}}] {:<60}", std::string(static_cast<std::size_t>(full), '='), kWidth, text);
  else
    fmt::print(stderr, "herald model measure: {} of {}: {}\n", stage_, kStages, text);
  std::fflush(stderr);
}

void Progress::finish() {
  if (shown_ && bar_) fmt::print(stderr, "\r{:<88}\r", "");
}

namespace {

struct Options {
  std::string folder;
  std::string check, file;  // OP=ALGORITHM, and the measured parameters
  bool bar = false, quiet = false;
};

const std::vector<int> kSizes = {0, 64, 512, 1400, 4096, 16384};
const std::vector<int> kLong = {0, 64, 512, 1400, 4096, 16384, 65536, 131072, 524288, 1 << 20};
const std::vector<int> kStreams = {0, 512, 1400, 4096, 16384, 65536, 262144, 1 << 20};

// The parts of a path that all paths have.
void measure_path(Bench& bench, model::PathParameters& path) {
  path.send_overhead = model::fit(bench.send_times(kSizes), 0.05);
  path.user_recv = model::fit(bench.receive_times(kSizes), 0.05);
  path.latency =
      model::fit_latency(bench.round_trips(kLong, 1), path.send_overhead, path.recv_overhead, path.user_recv);
}

void measure_network(Bench& bench, model::Parameters& out, Progress& progress) {
  model::PathParameters& udp = out.of(model::Path::udp);
  const int size = bench.size();
  progress.begin("O_r: a computation while messages arrive");
  udp.recv_overhead = model::fit(bench.slowdowns({64, 1400, 16384}), 0.2);
  progress.begin("O_s, U_r and L of one pair");
  measure_path(bench, udp);
  progress.begin("L of several pairs");
  const int pairs = size / 2;
  const std::vector<int> few = {64, 16384, 262144};
  const std::vector<model::Point> one = bench.round_trips(few, 1), all = bench.round_trips(few, pairs);
  std::vector<model::Point> more;
  for (std::size_t i = 0; i < few.size(); ++i)
    more.push_back({one[i].bytes, pairs < 2 ? 0 : std::max(0.0, all[i].ns - one[i].ns) / 2 / (pairs - 1),
                    one[i].spread_ns});
  udp.latency_per_pair = model::fit(more, 0.2);
  progress.begin("g_s: one stream");
  const std::vector<model::Point> streams = bench.gaps(kStreams, 1);
  udp.send_gap = model::fit(streams);
  progress.begin("g_r: streams from all hosts");
  udp.recv_gap = size > 2 ? model::fit(bench.gaps(kStreams, std::min(size - 1, 4))) : udp.send_gap;
  progress.begin("streams in both directions");
  const std::vector<model::Point> both = bench.gaps({65536}, 1, true);
  out.interference = std::clamp(both[0].ns / std::max(1.0, udp.send_gap.at(65536)) - 1, 0.0, 1.0);
  progress.begin("the time to wake a receiver");
  const double asleep = bench.round_trips({64}, 1, 2e6)[0].ns, awake = bench.round_trips({64}, 1)[0].ns;
  out.wake_ns = std::clamp(asleep - awake, 0.0, 1e6);
  udp.eager_bytes = model::push_bytes(udp);
  out.of(model::Path::tcp) = udp;
}

// Over a lane a rank sends once for all; without one (two hosts) messages stand for it.
void measure_multicast(Bench& bench, model::Parameters& out) {
  model::PathParameters& mcast = out.of(model::Path::mcast);
  const model::PathParameters& udp = out.of(model::Path::udp);
  mcast = udp;
  if (bench.size() < 3) return;
  mcast.send_gap = mcast.recv_gap = model::fit(bench.cast_gaps({64, 1400, 4096, 16384, 65536, 262144}));
  const double answer =
      udp.send_overhead.at(0) + udp.latency.at(0) + udp.recv_overhead.at(0) + udp.user_recv.at(0);
  std::vector<model::Point> times = bench.cast_times({64, 1400, 4096, 16384, 65536, 262144, 1 << 20});
  for (model::Point& time : times) time.ns = 2 * std::max(1.0, time.ns - answer);
  mcast.latency = model::fit_latency(times, udp.send_overhead, udp.recv_overhead, udp.user_recv);
}

void measure_memory(Bench& bench, model::Parameters& out) {
  if (bench.size() < 2) return;
  model::PathParameters& shm = out.of(model::Path::shm);
  const double eager = shm.eager_bytes, packet = shm.packet_bytes;
  shm.recv_overhead = {};
  measure_path(bench, shm);
  shm.eager_bytes = eager;
  shm.packet_bytes = packet;
  // Both sides copy a part of a long message: the time between them is not latency but copying.
  const std::vector<model::Point> trips = bench.round_trips({65536, 262144, 1 << 20, 4 << 20}, 1);
  std::vector<model::Point> halves;
  for (const model::Point& trip : trips) halves.push_back({trip.bytes, trip.ns / 2, trip.spread_ns / 2});
  model::PathParameters& direct = out.of(model::Path::direct);
  direct.user_recv = model::fit(halves);
  direct.send_overhead = model::Function::line(100, 0);
  direct.latency = model::Function::line(shm.latency.at(0), 0);
}

int fail(int rank, const std::string& why) {
  if (rank == 0) fmt::print(stderr, "herald model measure: {}\n", why);
  return 2;
}

// `host`: the ranks of this host; `leaders`: the lowest rank of each, null at the others.
int run(MPI_Comm host, MPI_Comm leaders, const Options& options) {
  int rank = 0, hosts = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (leaders != MPI_COMM_NULL) MPI_Comm_size(leaders, &hosts);
  MPI_Allreduce(MPI_IN_PLACE, &hosts, 1, MPI_INT, MPI_MAX, host);
  if (hosts < 2)
    return fail(rank, "it needs at least two hosts, such as herald model measure --host node1,node2");
  Progress progress(rank == 0 && !options.quiet, options.bar);
  model::Measured measured;
  measured.parameters = model::default_parameters(1e9, 1);
  progress.begin("copies, reductions, checksums");
  if (rank == 0) measure_host(measured.parameters);
  progress.begin("shared memory");
  int first = rank;  // of this host: only that of rank 0 is measured
  MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, host);
  if (first == 0) {
    Bench bench(host);
    measure_memory(bench, measured.parameters);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  int failed = 0;
  if (leaders != MPI_COMM_NULL) {
    Bench bench(leaders);
    measure_network(bench, measured.parameters, progress);
    progress.begin("multicast");
    measure_multicast(bench, measured.parameters);
    progress.begin("B_L: the buffer of a switch port");
    const model::PathParameters& udp = measured.parameters.of(model::Path::udp);
    measured.parameters.switch_bytes =
        measure_switch_buffer(leaders, udp.send_gap.at(65536) / std::max(1.0, udp.recv_gap.at(65536)));
    const Facts facts = gather_facts(leaders);
    progress.finish();
    if (rank == 0) {
      measured.cluster = facts.cluster;
      measured.hosts = facts.hosts;
      measured.kernel = facts.kernel;
      measured.link_mbit = facts.link_mbit;
      std::string path, why;
      model::Measured again;
      if (!from_text(to_text(measured), again, why))
        failed = fail(rank, "the measured values make no sense: " + why + "; is the cluster busy?");
      else if (!write_files(measured, options.folder.empty() ? boot::model_folder(environ) : options.folder,
                            path, why))
        failed = fail(rank, why);
      else if (!options.quiet)
        fmt::print("{}\n", path);
    }
  }
  MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  return failed;
}

}  // namespace
}  // namespace herald::measure

int main(int argc, char** argv) {
  using namespace herald::measure;
  CLI::App app{"herald-measure: measures the cluster that this job runs on", "herald-measure"};
  Options options;
  app.add_option("--to", options.folder, "folder of the files; default: ~/.cache/herald");
  app.add_option("--check", options.check, "time a collective, OP=ALGORITHM, beside its prediction");
  app.add_option("--from", options.file, "with --check: the .model file to predict from");
  app.add_flag("--bar", options.bar, "a progress bar");
  app.add_flag("-q,--quiet", options.quiet, "print errors only");
  CLI11_PARSE(app, argc, argv);
  // Measured is one multicast, not the cheapest broadcast.
  ::setenv("HERALD_COLL", options.check.empty() ? "bcast=cast" : options.check.c_str(), 1);
  MPI_Init(&argc, &argv);
  int rank = 0, local = 0;
  MPI_Comm host = MPI_COMM_NULL, leaders = MPI_COMM_NULL;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &host);
  MPI_Comm_rank(host, &local);
  MPI_Comm_split(MPI_COMM_WORLD, local == 0 ? 0 : MPI_UNDEFINED, rank, &leaders);
  const int code =
      options.check.empty() ? run(host, leaders, options) : check_collective(options.check, options.file);
  if (leaders != MPI_COMM_NULL) MPI_Comm_free(&leaders);
  MPI_Comm_free(&host);
  MPI_Finalize();
  return code;
}
