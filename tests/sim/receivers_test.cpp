// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: at some size push-pull is slower than one of the two that it is made of, push-zero and
// push-all (paper 002, figure 7), for a receiver that waits already, or for one that comes when the message
// is long there. Here in virtual time, so that a machine's noise hides nothing: the same network and the same
// hosts for the three, means over seeds that change how late hosts are woken.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "rel/mesh.hpp"
#include "sim/job/job.hpp"

namespace herald::sim {
namespace {

enum class Late : std::uint8_t { sender, receiver };

struct Shape {
  std::uint64_t bytes = 1;
  std::uint32_t messages = 1;
  Late late = Late::sender;
  std::uint64_t bits_per_second = 100'000'000;
};

constexpr unsigned kSeeds = 20;

// The late side comes when the message has long had time to cross the line.
Duration delay_of(const Shape& shape) {
  const std::uint64_t bits = shape.bytes * shape.messages * 8;
  return {2'000'000 + static_cast<std::int64_t>(3 * bits * 1'000'000'000 / shape.bits_per_second)};
}

Setup setup_of(const Shape& shape, p2p::PushMode mode, std::uint64_t seed) {
  sim::Setup setup;
  setup.seed = setup.net.seed = seed;
  setup.net.hosts = 2;
  setup.net.shape.bits_per_second = shape.bits_per_second;
  setup.net.shape.port_bytes = 262'144;
  setup.process.core.mode = mode;
  rel::MeshConfig& mesh = setup.process.mesh;
  mesh.eager_packets = rel::eager_window(mesh.budget_bytes, mesh.datagram_bytes, 1);
  Script& script = setup.script;
  script.name = "receivers";
  script.steps.resize(2);
  script.steps[shape.late == Late::sender ? 1 : 0].push_back({Do::rest, 0, delay_of(shape)});
  for (std::uint32_t i = 0; i < shape.messages; ++i) {
    script.sends.push_back({1, 0, 1, 1, shape.bytes, p2p::SendMode::standard});
    script.receives.push_back({0, 1, 1, 1, shape.bytes, false});
    script.steps[1].push_back({Do::send, i});
    script.steps[0].push_back({Do::receive, i});
  }
  for (auto& steps : script.steps) steps.push_back({Do::wait_all});
  setup.limit = milliseconds(60'000);
  return setup;
}

// Microseconds from when the late side comes until all is received: a mean.
double time_of(const Shape& shape, p2p::PushMode mode) {
  double sum = 0;
  for (unsigned seed = 1; seed <= kSeeds; ++seed) {
    const Result result = run_job(setup_of(shape, mode, seed));
    EXPECT_TRUE(result.good()) << (result.wrong.empty() ? "" : result.wrong.front());
    sum += static_cast<double>((result.finished - Instant{}).ns - delay_of(shape).ns) / 1e3;
  }
  return sum / kSeeds;
}

void expect_near_the_better(const Shape& shape) {
  const double pull = time_of(shape, p2p::PushMode::pull);
  const double zero = time_of(shape, p2p::PushMode::zero), all = time_of(shape, p2p::PushMode::all);
  const std::string what = std::to_string(shape.messages) + " x " + std::to_string(shape.bytes) +
                           " B, late " + (shape.late == Late::sender ? "sender" : "receiver") +
                           ": push-pull " + std::to_string(pull) + " us, push-zero " + std::to_string(zero) +
                           ", push-all " + std::to_string(all);
  EXPECT_LE(pull, 1.05 * std::min(zero, all)) << what;
  ::testing::Test::RecordProperty("receivers", what);
}

TEST(Receivers, an_early_one_gets_each_size_as_soon_as_by_the_better_way) {
  for (std::uint64_t bytes = 1; bytes <= 65536; bytes *= 2) expect_near_the_better({bytes, 1, Late::sender});
}

TEST(Receivers, a_late_one_gets_each_size_as_soon_as_by_the_better_way) {
  for (std::uint64_t bytes = 1; bytes <= 65536; bytes *= 2)
    expect_near_the_better({bytes, 1, Late::receiver});
}

TEST(Receivers, the_same_on_a_fast_line) {
  for (std::uint64_t bytes = 1; bytes <= 65536; bytes *= 4)
    for (const Late late : {Late::sender, Late::receiver})
      expect_near_the_better({bytes, 1, late, 1'000'000'000});
}

}  // namespace
}  // namespace herald::sim
