// SPDX-License-Identifier: BSD-3-Clause
// Functions of size and their fits: a wrong knot, an inverted interval or a buffer that is not there would
// make every prediction wrong without notice.
#include <gtest/gtest.h>

#include <cmath>

#include "base/prng.hpp"
#include "model/fit.hpp"
#include "model/parameters.hpp"

namespace herald::model {
namespace {

TEST(Function, interpolates_and_continues_its_last_slope) {
  const Function function = {{0, 100, 10}, {1000, 300, 20}, {2000, 1300, 130}};
  EXPECT_DOUBLE_EQ(function.at(0), 100);
  EXPECT_DOUBLE_EQ(function.at(500), 200);
  EXPECT_DOUBLE_EQ(function.at(1500), 800);
  EXPECT_DOUBLE_EQ(function.at(3000), 2300);
  EXPECT_DOUBLE_EQ(function.spread_at(500), 15);
  EXPECT_DOUBLE_EQ(function.slope_at(1500), 1);
  EXPECT_DOUBLE_EQ(function.shifted(1).at(1000), 320);
  EXPECT_DOUBLE_EQ(function.shifted(-1).at(0), 90);
  EXPECT_DOUBLE_EQ(Function{}.at(10), 0);
}

TEST(Function, refuses_knots_out_of_order_and_too_many) {
  Function function;
  EXPECT_TRUE(function.add({10, 1, 0}));
  EXPECT_FALSE(function.add({10, 2, 0}));
  EXPECT_FALSE(function.add({5, 2, 0}));
  for (std::size_t i = 1; i < Function::kMostKnots; ++i)
    EXPECT_TRUE(function.add({10.0 + static_cast<double>(i), 1, 0}));
  EXPECT_FALSE(function.add({1000, 1, 0}));
}

TEST(Fit, finds_the_two_lines_of_the_paper) {
  // Table 1: g_s is constant up to 40 bytes, then 0.0796 m + 3.027 us.
  const auto truth = [](double m) { return m <= 40 ? 6730 : 79.6 * m + 3027 + (6730 - 79.6 * 40 - 3027); };
  std::vector<Point> points;
  for (const double m : {1.0, 10.0, 20.0, 40.0, 100.0, 400.0, 1000.0, 1400.0})
    points.push_back({m, truth(m), 5});
  const Function found = fit(points);
  EXPECT_LE(found.knots().size(), 4u);
  for (double m = 1; m < 3000; m += 7) EXPECT_NEAR(found.at(m), truth(m), truth(m) * 0.03) << m;
}

TEST(Fit, covers_the_scatter_of_runs_by_its_interval) {
  Prng chance(5);
  std::vector<Point> points;
  for (double m = 64; m <= 65536; m *= 2) {
    std::vector<double> runs;
    for (int i = 0; i < 101; ++i)
      runs.push_back((1000 + m) * (0.9 + 0.2 * static_cast<double>(chance.below(1000)) / 1000));
    points.push_back(point_of(m, runs));
  }
  const Function found = fit(points);
  for (double m = 64; m <= 65536; m *= 1.3) {
    EXPECT_NEAR(found.at(m), 0.95 * (1000 + m), 0.04 * (1000 + m));  // the lower quartile
    EXPECT_GT(found.at(m) + found.spread_at(m), 0.97 * (1000 + m));  // the median, nearly
    EXPECT_LT(found.spread_at(m), 0.2 * (1000 + m));
  }
}

TEST(Fit, takes_the_latency_from_half_a_round_trip) {
  const Function send = Function::line(500, 0.1), kernel = Function::line(400, 0.2),
                 user = Function::line(300, 0);
  std::vector<Point> trips;
  for (const double m : {0.0, 512.0, 1024.0, 65536.0})
    trips.push_back({m, 2 * (send.at(m) + kernel.at(m) + user.at(m) + 7000 + 8 * m), 10});
  const Function latency = fit_latency(trips, send, kernel, user);
  EXPECT_NEAR(latency.at(0), 7000, 70);
  EXPECT_NEAR(latency.at(2000), 23000, 230);
}

TEST(Fit, finds_the_buffer_by_equation_4) {
  std::vector<Flood> floods;
  const double buffer = 90, rate = 0.25;  // four senders to one port
  for (const double k : {50.0, 200.0, 400.0, 800.0, 1600.0})
    floods.push_back({k, std::min(1.0, rate + buffer / k)});
  const Buffer found = fit_buffer(floods);
  ASSERT_TRUE(found.found);
  EXPECT_NEAR(found.items, buffer, 0.01);
  EXPECT_NEAR(found.rate, rate, 1e-6);
  floods.push_back({3200, 0.9});  // the senders were not together
  EXPECT_NEAR(fit_buffer(floods, rate).items, buffer, 0.01);
  const Flood none[] = {{10, 1}, {100, 1}};
  EXPECT_FALSE(fit_buffer(none, rate).found);
  EXPECT_FALSE(fit_buffer(none).found);
}

TEST(GatherWindow, lies_between_its_bounds) {
  // Equal gaps: one sender fills the link; a buffer of 3 blocks takes 3 more.
  const Window window = gather_window(100, 100, 300, 100, 15);
  EXPECT_EQ(window.lower, 1);
  EXPECT_EQ(window.upper, 4);
  EXPECT_EQ(window.chosen, 4);
  // Slow senders: three are needed, and the last group must have as many.
  const Window slow = gather_window(300, 100, 300, 100, 10);
  EXPECT_EQ(slow.lower, 3);
  EXPECT_EQ(slow.upper, 6);
  EXPECT_EQ(slow.chosen, 6);                                    // 10 = 6 + 4
  EXPECT_EQ(gather_window(100, 100, 1e9, 100, 15).chosen, 15);  // all fit into the buffer
  EXPECT_EQ(gather_window(100, 100, 0, 100, 15).chosen, 1);
}

}  // namespace
}  // namespace herald::model
