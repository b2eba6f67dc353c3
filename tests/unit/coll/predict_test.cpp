// SPDX-License-Identifier: BSD-3-Clause
// Predictions from the steps of plans: a step kind that the evaluator does not know, or plans of sample calls
// that do not match each other, would leave an algorithm out of the choice.
#include "coll/predict.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <tuple>

#include "coll/sample.hpp"

namespace herald::coll {
namespace {

Shape shape_on(int hosts, int each) {
  Shape shape = shape_of(hosts * each, hosts, true);
  shape.largest_host = each;
  shape.leaders_lane = hosts > 2;
  shape.lane = shape.leaders_lane && each == 1;
  if (each > 1) {
    shape.shared_bytes = kUsualSharedBytes;
    shape.streams = hosts == 1;
    shape.reads_peers = true;
  }
  return shape;
}

// What could go wrong: on a slow network algorithms are chosen that save messages, where bytes count.
TEST(Choice, follows_the_rate_of_the_links) {
  for (const auto& [op, bytes, usual, slow] : {std::tuple{Op::allreduce, 16384u, "doubling", "scatter_cast"},
                                               {Op::reduce, 16384u, "binomial", "rabenseifner"},
                                               {Op::scatter, 4096u, "cast", "binomial"}}) {
    const Shape shape = shape_on(4, 1);
    EXPECT_STREQ(choose(op, bytes, shape).name, usual);
    EXPECT_STREQ(choose(op, bytes, with_link(shape, 0)).name, usual);
    EXPECT_STREQ(choose(op, bytes, with_link(shape, 0.1)).name, usual)
        << "the kernels cost more than this link";
    EXPECT_STREQ(choose(op, bytes, with_link(shape, 80)).name, slow);
  }
  // Among the leaders of hosts too.
  const Shape hosts = shape_on(4, 2);
  const Algorithm& together = *find_algorithm(Op::allreduce, "two_level");
  EXPECT_GT(together.estimate(16384, with_link(hosts, 80)), 10 * together.estimate(16384, hosts));
  EXPECT_EQ(with_link(shape_on(1, 4), 80).cost.byte_ns, Cost{}.byte_ns);
}

TEST(Predict, walks_the_plans_of_every_algorithm_that_fits) {
  const model::Parameters parameters = model::default_parameters(1e9, 4);
  Predictor predictor(parameters);
  for (const auto& [hosts, each] : {std::pair{1, 4}, {1, 16}, {4, 1}, {16, 1}, {2, 3}, {5, 4}, {13, 1}}) {
    const Shape shape = shape_on(hosts, each);
    const Cluster cluster = cluster_of(shape);
    for (const Algorithm* row : algorithms())
      for (const std::uint64_t bytes : {0u, 8u, 3000u, 300000u}) {
        if (!row->fits(shape) || row->estimate(bytes, shape) >= kNeverNs) continue;
        const model::Prediction p = predictor.predict(*row, bytes, shape, cluster);
        const std::string what = std::string(name_of(row->op)) + "/" + row->name + " " +
                                 std::to_string(bytes) + " bytes on " + std::to_string(hosts) + "x" +
                                 std::to_string(each);
        EXPECT_TRUE(p.complete) << what;
        EXPECT_NEAR(p.split.total(), p.ns, p.ns * 0.02 + 1) << what;
        EXPECT_TRUE(p.ns > 0 || bytes == 0) << what;
      }
  }
}

TEST(Predict, lets_one_rank_stand_for_all_where_all_do_the_same) {
  const model::Parameters parameters = model::default_parameters(1e9, 4);
  Predictor predictor(parameters);
  // A ring of 64: the ranks are alike. Twice as many rounds as with 32 ranks, of parts half as long.
  const Algorithm& ring = *find_algorithm(Op::allreduce, "ring");
  const Shape small = shape_on(32, 1), large = shape_on(64, 1);
  const double a = predictor.predict(ring, 8 << 20, small, cluster_of(small)).ns;
  const double b = predictor.predict(ring, 8 << 20, large, cluster_of(large)).ns;
  EXPECT_GT(b, a);
  EXPECT_LT(b, 1.3 * a);
}

TEST(Predict, continues_long_pipelines_along_a_line) {
  const model::Parameters parameters = model::default_parameters(1e9, 4);
  Predictor predictor(parameters);
  const Shape shape = shape_on(16, 1);
  const Algorithm& chain = *find_algorithm(Op::bcast, "chain");
  const double once = predictor.predict(chain, 1 << 20, shape, cluster_of(shape)).ns;
  const double twice = predictor.predict(chain, 2 << 20, shape, cluster_of(shape)).ns;
  EXPECT_GT(twice, 1.5 * once);
  EXPECT_LT(twice, 2.0 * once);  // the pipeline is filled once
}

TEST(Predict, departs_from_the_table_only_where_it_is_clearly_cheaper) {
  const model::Parameters slow = model::default_parameters(1e8, 4);
  Predictor predictor(slow);
  const Shape shape = shape_on(8, 1);
  const Cluster cluster = cluster_of(shape);
  const auto pick = [&](Op op, std::uint64_t bytes) {
    return std::string(predictor.choose_cheapest(op, bytes, shape, cluster).name);
  };
  EXPECT_EQ(pick(Op::bcast, 1 << 20), "cast");
  // At 100 Mbit/s bytes that pass several hosts cost more than messages.
  EXPECT_STREQ(choose(Op::alltoall, 1024, shape).name, "bruck");
  EXPECT_EQ(pick(Op::alltoall, 1024), "linear");
  EXPECT_STREQ(choose(Op::scatter, 65536, shape).name, "binomial");
  EXPECT_STREQ(predictor.candidates(Op::scatter, 65536, shape, cluster)[0].algorithm->name, "linear");
  EXPECT_EQ(pick(Op::scatter, 65536), "binomial");  // not by half
  EXPECT_EQ(pick(Op::allreduce, 8), choose(Op::allreduce, 8, shape).name);
  const Shape host = shape_on(1, 8);
  for (const std::uint64_t bytes : {8u, 4096u, 1u << 20})
    EXPECT_EQ(&predictor.choose_cheapest(Op::bcast, bytes, host, cluster_of(host)),
              &choose(Op::bcast, bytes, host));
}

// The port of the root overflows if all send at once; one after the other they keep its link full.
TEST(Predict, coordinated_gather_follows_the_link) {
  model::Parameters slow = model::default_parameters(1e8, 4);
  slow.switch_bytes = 128 << 10;
  Predictor predictor(slow);
  const Shape shape = shape_on(16, 1);
  const auto time = [&](const char* name, std::uint64_t bytes) {
    return predictor.predict(*find_algorithm(Op::gather, name), bytes, shape, cluster_of(shape)).ns;
  };
  for (const std::uint64_t bytes : {64u << 10, 1u << 20}) {
    const double link = 15 * slow.of(model::Path::udp).recv_gap.at(static_cast<double>(bytes));
    EXPECT_LT(time("coordinated", bytes), 1.03 * link);
    EXPECT_LT(time("coordinated", bytes), time("linear", bytes));
  }
  EXPECT_DOUBLE_EQ(time("coordinated", 4096), time("linear", 4096));  // the port holds everything
}

TEST(Predict, window_of_senders_is_that_of_equation_7) {
  const auto senders_at_once = [](std::uint64_t bytes, double buffer, double ratio) {
    Shape shape = shape_on(16, 1);
    shape.incast = {.buffer_bytes = buffer, .gap_ratio = ratio, .measured = true};
    const Cluster cluster = cluster_of(shape);
    const Sample sample(Op::gather, bytes, shape, &cluster);
    int without_signal = 0;
    for (int rank = 1; rank < 16; ++rank) {
      const Plan plan = make_plan(*find_algorithm(Op::gather, "coordinated"), sample.spec_of(rank));
      if (plan.steps[0].kind == StepKind::send) ++without_signal;
    }
    return without_signal;
  };
  EXPECT_EQ(senders_at_once(65536, 160 << 10, 1), 3);
  EXPECT_EQ(senders_at_once(1 << 20, 160 << 10, 1), 1);
  EXPECT_EQ(senders_at_once(1 << 20, 160 << 10, 2.5), 3);  // three hosts fill the link
  EXPECT_EQ(senders_at_once(1024, 160 << 10, 1), 15);
}

// A broadcast takes at least the time of its bytes on the slowest link, and of one message.
TEST(Predict, never_beats_the_link) {
  for (const double rate : {1e8, 1e9, 1e10}) {
    const model::Parameters parameters = model::default_parameters(rate, 4);
    Predictor predictor(parameters);
    const Shape shape = shape_on(8, 1);
    for (const std::uint64_t bytes : {1u << 10, 1u << 16, 1u << 20})
      for (const auto& [algorithm, prediction] :
           predictor.candidates(Op::bcast, bytes, shape, cluster_of(shape)))
        EXPECT_GE(prediction.ns, static_cast<double>(bytes) * 8e9 / rate) << algorithm->name;
  }
}

}  // namespace
}  // namespace herald::coll
