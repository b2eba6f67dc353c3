// SPDX-License-Identifier: BSD-3-Clause
// sim/tool/perf.cpp: see perf.hpp. The upper bound: the payload of full datagrams at line rate, less the
// share that is lost. The rest is the cost of headers, acknowledgements, retransmission and waiting.
#include "sim/tool/perf.hpp"

#include <cstdio>

#include "sim/job/job.hpp"

namespace herald::sim {
namespace {

struct Case {
  const char* what;
  std::uint64_t bits_per_second;
  double loss;
  std::int32_t senders;
  std::uint64_t bytes;
  std::uint32_t messages;  // of each sender, one after the other
  std::uint32_t port_bytes;
};

constexpr Case kCases[] = {
    {"one 1 MiB", 100'000'000, 0, 1, 1 << 20, 1, 512'000},
    {"8 x 1 MiB", 100'000'000, 0, 1, 1 << 20, 8, 512'000},
    {"8 x 1 MiB", 100'000'000, 0.01, 1, 1 << 20, 8, 512'000},
    {"8 x 1 MiB", 100'000'000, 0.10, 1, 1 << 20, 8, 512'000},
    {"one 16 MiB", 100'000'000, 0, 1, 16 << 20, 1, 512'000},
    {"one 1 MiB", 1'000'000'000, 0, 1, 1 << 20, 1, 512'000},
    {"8 x 1 MiB", 1'000'000'000, 0, 1, 1 << 20, 8, 512'000},
    {"8 x 1 MiB", 1'000'000'000, 0.01, 1, 1 << 20, 8, 512'000},
    {"8 x 1 MiB", 1'000'000'000, 0.10, 1, 1 << 20, 8, 512'000},
    {"one 16 MiB", 1'000'000'000, 0, 1, 16 << 20, 1, 512'000},
    {"one 16 MiB", 10'000'000'000, 0, 1, 16 << 20, 1, 512'000},
    {"7 x 1 MiB to one", 100'000'000, 0, 7, 1 << 20, 1, 262'144},
    {"7 x 1 MiB to one", 1'000'000'000, 0, 7, 1 << 20, 1, 262'144},
    {"7 x 64 KiB to one", 1'000'000'000, 0, 7, 1 << 16, 1, 262'144},
    {"31 x 1 MiB to one", 1'000'000'000, 0, 31, 1 << 20, 1, 262'144},
};

Setup setup_of(const Case& which, std::uint64_t seed) {
  Setup setup;
  setup.seed = seed;
  setup.net.seed = seed;
  setup.net.hosts = which.senders + 1;
  setup.net.shape.bits_per_second = which.bits_per_second;
  setup.net.shape.port_bytes = which.port_bytes;
  setup.net.faults.loss = which.loss;
  Script& script = setup.script;
  script.name = which.what;
  script.steps.resize(static_cast<std::size_t>(which.senders) + 1);
  for (std::uint32_t i = 0; i < which.messages; ++i)
    for (std::int32_t from = 1; from <= which.senders; ++from) {
      const auto index = static_cast<std::uint32_t>(script.sends.size());
      script.sends.push_back({from, 0, 1, 1, which.bytes, p2p::SendMode::standard});
      script.receives.push_back({0, 1, from, 1, which.bytes, false});
      auto& steps = script.steps[static_cast<std::size_t>(from)];
      steps.push_back({Do::send, index});
      steps.push_back({Do::wait_send, index});
      script.steps[0].push_back({Do::receive, index});
    }
  script.steps[0].push_back({Do::wait_all});
  setup.limit = milliseconds(60'000);
  return setup;
}

}  // namespace

void print_performance(unsigned repetitions) {
  std::printf("%-20s %10s %6s %10s %10s %9s %9s %8s\n", "case", "Mbit/s", "loss", "ms", "bound", "percent",
              "dropped", "resent");
  for (const Case& which : kCases) {
    double sum = 0;
    std::uint64_t sent = 0, dropped = 0, resent = 0;
    bool good = true;
    for (unsigned seed = 1; seed <= repetitions; ++seed) {
      const Result result = run_job(setup_of(which, seed));
      for (const std::string& each : result.wrong) std::printf("! %s\n", each.c_str());
      good = good && result.good();
      sum += static_cast<double>(result.finished.ns) / 1e6;
      sent += result.net.sent;
      dropped += result.net.port_full + result.net.socket_full + result.net.nic_full;
      resent += result.mesh.resent;
    }
    const double ms = sum / repetitions;
    const double rate = static_cast<double>(which.bits_per_second) * 1472 / 1538 * (1 - which.loss);
    const double bytes = static_cast<double>(which.bytes) * which.senders * which.messages;
    const double possible = bytes * 8 / rate * 1e3;
    std::printf("%-20s %10.0f %5.0f%% %10.3f %10.3f %8.1f%% %8.3f%% %8.0f%s\n", which.what,
                static_cast<double>(which.bits_per_second) / 1e6, which.loss * 100, ms, possible,
                100 * possible / ms, 100.0 * static_cast<double>(dropped) / static_cast<double>(sent),
                static_cast<double>(resent) / repetitions, good ? "" : "  WRONG");
  }
}

}  // namespace herald::sim
