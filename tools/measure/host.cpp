// SPDX-License-Identifier: BSD-3-Clause
// tools/measure/host.cpp: copies, reductions and checksums of one host, and what the cluster is.
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/hash.hpp"
#include "boot/model_file.hpp"
#include "measure.hpp"
#include "wire/datagram.hpp"

namespace herald::measure {
namespace {

// The median of several runs of about 50 us each.
template <class Body>
model::Point time_of(int bytes, Body body) {
  std::vector<double> runs;
  const int times = std::clamp(50'000 / std::max(1, bytes / 10), 1, 2000);
  for (int run = 0; run < 15; ++run) {
    const double begin = now_ns();
    for (int i = 0; i < times; ++i) body(i);
    runs.push_back((now_ns() - begin) / times);
  }
  return model::point_of(bytes, runs);
}

template <class Body>
model::Function over_sizes(std::initializer_list<int> sizes, Body body) {
  std::vector<model::Point> points;
  for (const int bytes : sizes) points.push_back(time_of(bytes, [&](int i) { body(bytes, i); }));
  return model::fit(points, 0.05);
}

}  // namespace

void measure_host(model::Parameters& out) {
  constexpr std::size_t kArea = 64 << 20;
  std::vector<char> from(kArea, 1), to(kArea, 2);
  const auto stepping = [&](int bytes, int i) {  // never the same memory twice
    const std::size_t at = static_cast<std::size_t>(bytes) * static_cast<std::size_t>(i) %
                           (kArea - static_cast<std::size_t>(bytes));
    std::memcpy(to.data() + at, from.data() + at, static_cast<std::size_t>(bytes));
  };
  out.copy_in_cache = over_sizes({8, 256, 4096, 16384, 65536, 262144}, [&](int bytes, int) {
    std::memcpy(to.data(), from.data(), static_cast<std::size_t>(bytes));
  });
  out.copy_out_of_cache = over_sizes({8, 4096, 65536, 262144, 1 << 20, 4 << 20}, [&](int bytes, int i) {
    std::memcpy(to.data(), from.data() + static_cast<std::size_t>(i % 8) * (4u << 20),
                static_cast<std::size_t>(bytes));
  });
  out.copy_in_memory = over_sizes({8, 65536, 1 << 20, 8 << 20}, stepping);
  std::vector<double> in(1 << 17, 1.5), inout(1 << 17, 2.5);
  std::vector<int> whole_in(1 << 18, 1), whole_inout(1 << 18, 2);
  out.reduce[0] = over_sizes({8, 1024, 16384, 262144, 1 << 20}, [&](int bytes, int) {
    MPI_Reduce_local(whole_in.data(), whole_inout.data(), bytes / 4, MPI_INT, MPI_SUM);
  });
  out.reduce[1] = over_sizes({8, 1024, 16384, 262144, 1 << 20}, [&](int bytes, int) {
    MPI_Reduce_local(in.data(), inout.data(), bytes / 8, MPI_DOUBLE, MPI_SUM);
  });
  volatile std::uint32_t sum = 0;
  out.checksum = over_sizes({8, 1400, 16384, 65536}, [&](int bytes, int) {
    sum = wire::crc32c(std::as_bytes(std::span(from.data(), static_cast<std::size_t>(bytes))));
  });
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  out.cores = ::sched_getaffinity(0, sizeof cpus, &cpus) == 0 ? std::max(1, CPU_COUNT(&cpus)) : 1;
}

Facts gather_facts(MPI_Comm leaders) {
  Facts facts;
  int rank = 0, size = 0;
  MPI_Comm_rank(leaders, &rank);
  MPI_Comm_size(leaders, &size);
  utsname system{};
  ::uname(&system);
  std::vector<char> names(static_cast<std::size_t>(size) * sizeof system.nodename);
  MPI_Gather(system.nodename, sizeof system.nodename, MPI_CHAR, names.data(), sizeof system.nodename,
             MPI_CHAR, 0, leaders);
  if (rank != 0) return facts;
  for (int i = 0; i < size; ++i)
    facts.hosts.emplace_back(names.data() + static_cast<std::size_t>(i) * sizeof system.nodename);
  std::sort(facts.hosts.begin(), facts.hosts.end());
  facts.kernel = system.release;
  facts.link_mbit = boot::link_mbit();
  std::string key = facts.kernel + " " + std::to_string(facts.link_mbit);
  for (const std::string& host : facts.hosts) key += " " + host;
  std::string stem = facts.hosts.front();
  while (!stem.empty() && std::isdigit(static_cast<unsigned char>(stem.back())) != 0) stem.pop_back();
  char letters[17];
  std::snprintf(letters, sizeof letters, "%016llx", static_cast<unsigned long long>(hash_text(key)));
  facts.cluster = (stem.empty() ? "host" : stem) + "-" + std::string(letters, 6);
  return facts;
}

}  // namespace herald::measure
