// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: sizes that do not suit the network (a push that leaves a fast link idle until the pull
// comes, segments of a slow link on a fast one), or absurd ones from absurd measurements.
#include "model/sizes.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <limits>

namespace herald::model {
namespace {

PathParameters path_of(double overhead_ns, double latency_ns, double byte_ns) {
  PathParameters path;
  path.send_overhead = path.recv_overhead = Function::line(overhead_ns, 0);
  path.send_gap = path.recv_gap = Function::line(0, byte_ns);
  path.latency = Function::line(latency_ns, 0);
  path.packet_bytes = 1472;
  return path;
}

TEST(Sizes, the_pushed_bytes_fill_the_time_until_the_pull) {
  // O_s, L, O_r of the first packet, then of the pull: 2 * (10 + 30 + 10) us, at 1 ns a byte.
  EXPECT_EQ(push_bytes(path_of(10'000, 30'000, 1)), 32768u + 17 * 4096u);  // the next 4096 after 100,000
  EXPECT_EQ(push_bytes(path_of(10'000, 30'000, 80)), 32768u) << "a slow link: the least";
  EXPECT_EQ(push_bytes(path_of(10'000, 500'000, 0.1)), 262144u) << "a far one: the most";
}

TEST(Sizes, the_window_is_what_the_switch_holds) {
  Parameters parameters = default_parameters(1e9, 4);
  parameters.switch_bytes = 800'000;
  EXPECT_EQ(sizes_between_hosts(parameters).window_bytes, 700'000u);
  parameters.switch_bytes = 0;
  EXPECT_EQ(sizes_between_hosts(parameters).window_bytes, 0u) << "not known";
}

TEST(Sizes, segments_are_longer_where_a_byte_takes_less_time) {
  std::uint64_t before = 0;
  for (const double rate : {1e8, 1e9, 1e10, 1e11}) {
    const std::uint64_t bytes = sizes_between_hosts(default_parameters(rate, 4)).segment_bytes;
    EXPECT_GE(bytes, before) << rate;
    before = bytes;
  }
  EXPECT_EQ(sizes_between_hosts(default_parameters(1e8, 4)).segment_bytes, 8192u);
  EXPECT_EQ(sizes_between_hosts(default_parameters(1e10, 4)).segment_bytes, 65536u);
}

TEST(Sizes, absurd_measurements_give_usable_sizes) {
  for (const double absurd : {0.0, 1e-300, 1e300, std::numeric_limits<double>::infinity()}) {
    Parameters parameters = default_parameters(1e9, 4);
    PathParameters& udp = parameters.of(Path::udp);
    udp = path_of(absurd, absurd, absurd);
    udp.eager_bytes = parameters.switch_bytes = absurd;
    const Sizes sizes = sizes_between_hosts(parameters);
    for (const std::uint32_t push : {push_bytes(udp), sizes.push_bytes}) {
      EXPECT_GE(push, 32768u) << absurd;
      EXPECT_LE(push, 262144u) << absurd;
    }
    EXPECT_LE(sizes.window_bytes, 16u << 20) << absurd;
    EXPECT_TRUE(std::has_single_bit(sizes.segment_bytes)) << absurd;
    EXPECT_GE(sizes.segment_bytes, 8192u) << absurd;
    EXPECT_LE(sizes.segment_bytes, 262144u) << absurd;
  }
}

}  // namespace
}  // namespace herald::model
