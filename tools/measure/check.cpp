// SPDX-License-Identifier: BSD-3-Clause
// tools/measure/check.cpp: predicted against measured times of one algorithm.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <sstream>

#include "coll/predict.hpp"
#include "measure.hpp"

namespace herald::measure {
namespace {

void call(coll::Op op, std::vector<char>& in, std::vector<char>& out, int bytes) {
  switch (op) {
    case coll::Op::bcast: MPI_Bcast(in.data(), bytes, MPI_CHAR, 0, MPI_COMM_WORLD); break;
    case coll::Op::gather:
      MPI_Gather(in.data(), bytes, MPI_CHAR, out.data(), bytes, MPI_CHAR, 0, MPI_COMM_WORLD);
      break;
    case coll::Op::scatter:
      MPI_Scatter(out.data(), bytes, MPI_CHAR, in.data(), bytes, MPI_CHAR, 0, MPI_COMM_WORLD);
      break;
    case coll::Op::allgather:
      MPI_Allgather(in.data(), bytes, MPI_CHAR, out.data(), bytes, MPI_CHAR, MPI_COMM_WORLD);
      break;
    case coll::Op::alltoall: {
      static std::vector<char> whole(out.size());
      MPI_Alltoall(whole.data(), bytes, MPI_CHAR, out.data(), bytes, MPI_CHAR, MPI_COMM_WORLD);
      break;
    }
    case coll::Op::reduce:
      MPI_Reduce(in.data(), out.data(), bytes / 8, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
      break;
    case coll::Op::allreduce:
      MPI_Allreduce(in.data(), out.data(), bytes / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
      break;
    default: break;
  }
}

// All ranks begin at the same time by their clocks, which must agree: hosts of the lab have the same one. A
// barrier would not do: ranks leave it at different times.
double start_together() {
  constexpr double kAheadNs = 2e6;
  double at = now_ns() + kAheadNs;
  MPI_Bcast(&at, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  timespec until{static_cast<time_t>(at / 1e9), static_cast<long>(std::fmod(at, 1e9))};
  (void)::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
  return at;
}

// Until the last rank is done: the lower quartile of runs.
double time_call(coll::Op op, std::vector<char>& in, std::vector<char>& out, int bytes) {
  std::vector<double> runs;
  const int count = bytes >= 262144 ? 7 : 21;
  for (int i = 0; i < count + 2; ++i) {
    const double begin = start_together();
    call(op, in, out, bytes);
    double mine = now_ns() - begin, slowest = 0;
    MPI_Reduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (i >= 2) runs.push_back(slowest);
  }
  return model::point_of(bytes, runs).ns;
}

}  // namespace

int check_collective(const std::string& which, const std::string& file) {
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const std::size_t equals = which.find('=');
  const coll::Algorithm* algorithm = nullptr;
  for (const coll::Algorithm* row : coll::algorithms())
    if (equals != std::string::npos && which.substr(0, equals) == name_of(row->op) &&
        which.substr(equals + 1) == row->name)
      algorithm = row;
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  model::Measured measured;
  std::string why;
  if (algorithm == nullptr || !from_text(text.str(), measured, why)) {
    if (rank == 0) fmt::print(stderr, "herald-measure: {}: {}\n", algorithm ? file : which, why);
    return 2;
  }
  coll::Shape shape = coll::shape_of(size, size, true);
  shape.leaders_lane = shape.lane = size > 2;
  coll::Predictor predictor(measured.parameters);
  std::vector<char> in(1 << 20, 1), out(static_cast<std::size_t>(size) << 20);
  for (int bytes = 8; bytes <= 1 << 20; bytes *= bytes == 8 ? 128 : 4) {
    const double ns = time_call(algorithm->op, in, out, bytes);
    if (rank != 0) continue;
    const auto size_of = static_cast<std::uint64_t>(bytes);
    const model::Prediction p = predictor.predict(*algorithm, size_of, shape, coll::cluster_of(shape));
    fmt::print(
        "{:<28} {:>4} hosts {:>8} B  measured {:>10.1f} us  predicted {:>10.1f} us  error {:>6.1f} %\n",
        which, size, bytes, ns / 1e3, p.ns / 1e3, 100 * (p.ns - ns) / ns);
  }
  return 0;
}

}  // namespace herald::measure
