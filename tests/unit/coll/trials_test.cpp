// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: a wrong prediction is never corrected; a trial does not end, or ends with a slower
// algorithm than it has measured; ranks that have the same times decide differently.
#include "coll/trials.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace herald::coll {
namespace {

const Algorithm& bcast(std::string_view name) { return *find_algorithm(Op::bcast, name); }

// Runs the calls of a trial with these true times; returns how many calls it took.
int settle(Trial& trial, const std::map<std::string, double>& real_ns, double noise = 0) {
  int calls = 0;
  while (!trial.is_settled() && calls < 1000) {
    const double ns = real_ns.at(trial.current().name);
    const int run = calls % Trial::kRuns;
    const double off = run == 0 ? 50 * ns : run == 3 ? noise * ns : 0;
    if (trial.on_run(Duration{static_cast<std::int64_t>(ns + off)})) trial.compare(trial.own_ns());
    ++calls;
  }
  return calls;
}

Trial trial_of(double binomial, double cast, double chain, double binary) {
  return Trial({{&bcast("binomial"), binomial},
                {&bcast("cast"), cast},
                {&bcast("chain"), chain},
                {&bcast("binary"), binary}});
}

TEST(Trials, a_prediction_that_holds_costs_few_calls) {
  Trial trial = trial_of(1000, 2000, 3000, 9000);
  EXPECT_EQ(settle(trial, {{"binomial", 1100}, {"cast", 100}}), Trial::kRuns);
  EXPECT_STREQ(trial.current().name, "binomial");
  EXPECT_FALSE(trial.on_run(Duration{1}));
}

TEST(Trials, close_candidates_are_tried_and_the_fastest_stays) {
  Trial trial = trial_of(1000, 1100, 3000, 9000);
  EXPECT_EQ(settle(trial, {{"binomial", 1000}, {"cast", 700}}, 40), 2 * Trial::kRuns);
  EXPECT_STREQ(trial.current().name, "cast");
  Trial other = trial_of(1000, 1100, 3000, 9000);
  settle(other, {{"binomial", 1000}, {"cast", 950}}, 40);
  EXPECT_STREQ(other.current().name, "binomial");
}

TEST(Trials, a_wrong_prediction_is_corrected) {
  Trial trial = trial_of(1000, 2000, 3000, 9000);
  EXPECT_EQ(settle(trial, {{"binomial", 20000}, {"cast", 2500}, {"chain", 2000}}), 3 * Trial::kRuns);
  EXPECT_STREQ(trial.current().name, "chain");
  EXPECT_EQ(trial.candidates()[0].measured_ns, 20000);
  EXPECT_EQ(trial.candidates()[3].measured_ns, 0);
}

TEST(Trials, a_trial_ends_although_everything_is_slow) {
  std::vector<Trial::Candidate> many;
  for (const Algorithm* row : algorithms()) many.push_back({row, 1000});
  Trial trial(many);
  int calls = 0;
  while (!trial.is_settled() && ++calls < 1000)
    if (trial.on_run(Duration{1'000'000})) trial.compare(1e6);
  EXPECT_EQ(calls, static_cast<int>(Trial::kMost) * Trial::kRuns);
}

TEST(Trials, of_a_communicator_are_bounded_and_never_confused) {
  Trials all;
  Trials::Id id = 7;
  EXPECT_EQ(all.find({Op::bcast, true, 1024}, id), nullptr);
  EXPECT_EQ(id, 0u);
  const Trials::Id first = all.add({Op::bcast, true, 1024}, trial_of(1, 2, 3, 4));
  ASSERT_NE(first, 0u);
  EXPECT_EQ(all.find({Op::bcast, true, 2048}, id), nullptr);
  ASSERT_NE(all.find({Op::bcast, true, 1024}, id), nullptr);
  EXPECT_EQ(id, first);
  EXPECT_EQ(all.kind_of(first).bytes, 1024u);
  std::uint64_t made = 1;
  while (made < 1000 && all.add({Op::bcast, false, made}, trial_of(1, 2, 3, 4)) != 0) ++made;
  EXPECT_LT(made, 1000u);
  all.clear();
  EXPECT_EQ(all.find(first), nullptr);
  EXPECT_GT(all.add({Op::bcast, true, 1024}, trial_of(1, 2, 3, 4)), first);
}

}  // namespace
}  // namespace herald::coll
