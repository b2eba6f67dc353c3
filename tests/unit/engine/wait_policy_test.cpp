// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: a rank with its own processor blocks at once, or spins for ever; ranks that share a
// processor spin; a thread goes on spinning although other processes need the processor, or stops because a
// kernel thread ran for a moment; a long wait wakes up again and again; yields go on that cost a time slice.
#include <gtest/gtest.h>

#include "engine/wait_policy.hpp"

using namespace herald;
using namespace herald::engine;

namespace {

std::int64_t switches = 0;
std::int64_t read_switches() noexcept { return switches; }

constexpr WaitConfig kAlone{milliseconds(1), false, read_switches};
constexpr WaitConfig kForced{milliseconds(1), true, read_switches};
constexpr WaitConfig kShared{{}, false, read_switches};

// A virtual clock around a policy.
class Wait {
 public:
  explicit Wait(const WaitConfig& config) : policy(config) { policy.begin(now); }
  WaitAction next(Duration passed = microseconds(1)) {
    now = now + passed;
    return policy.next(now, facts).action;
  }
  // How often the policy says `action` before it says something else.
  int count(WaitAction action, Duration each = microseconds(1)) {
    int times = 0;
    while (next(each) == action) ++times;
    return times;
  }
  void begin() { policy.begin(now); }
  // A new wait, so much later.
  bool spins_after(Duration passed) {
    now = now + passed;
    begin();
    return next() == WaitAction::spin;
  }

  Instant now{milliseconds(10'000).ns};
  WaitFacts facts;
  WaitPolicy policy;
};

}  // namespace

TEST(WaitPolicy, a_rank_with_a_processor_spins_for_its_time_and_blocks) {
  Wait wait(kAlone);
  const Instant begin = wait.now;
  EXPECT_GT(wait.count(WaitAction::spin), 100);
  EXPECT_EQ(wait.now - begin, milliseconds(1));
  EXPECT_EQ(wait.next(), WaitAction::block);
}

TEST(WaitPolicy, turns_between_two_questions_are_fewer_where_sockets_are_polled) {
  Wait wait(kAlone);
  const int shared_memory = wait.policy.next(wait.now, wait.facts).turns;
  wait.facts.polls_sockets = true;
  EXPECT_LT(wait.policy.next(wait.now, wait.facts).turns, shared_memory);
}

TEST(WaitPolicy, ranks_that_share_a_processor_yield_a_few_times_and_block) {
  Wait wait(kShared);
  const int yields = wait.count(WaitAction::yield);
  EXPECT_GT(yields, 0);
  EXPECT_LT(yields, 10);
  wait.begin();
  wait.facts.in_collective = true;
  EXPECT_GT(wait.count(WaitAction::yield), yields) << "all ranks of a host wait for each other";
}

TEST(WaitPolicy, a_second_thread_of_the_process_does_not_spin) {
  Wait wait(kAlone);
  wait.facts.may_spin = false;
  EXPECT_NE(wait.next(), WaitAction::spin);
}

TEST(WaitPolicy, after_a_block_without_news_it_blocks_until_something_moves) {
  Wait wait(kAlone);
  wait.policy.on_blocked(wait.now, wait.now + milliseconds(100), false);
  wait.begin();
  EXPECT_EQ(wait.next(), WaitAction::block);
  wait.policy.on_progress();
  wait.begin();
  EXPECT_EQ(wait.next(), WaitAction::spin);
}

TEST(WaitPolicy, preemption_stops_spinning_for_longer_each_time_and_is_forgotten) {
  Wait wait(kAlone);
  Duration pause[2];
  for (Duration& each : pause) {
    ASSERT_EQ(wait.next(), WaitAction::spin);
    ++switches;
    EXPECT_NE(wait.next(microseconds(500)), WaitAction::spin);
    const Instant since = wait.now;
    while (!wait.spins_after(milliseconds(1))) {
    }
    each = wait.now - since;
  }
  EXPECT_GT(pause[0], milliseconds(10));
  EXPECT_GT(pause[1].ns, 2 * pause[0].ns);
  wait.now = wait.now + milliseconds(60'000);
  wait.begin();
  ASSERT_EQ(wait.next(), WaitAction::spin);
  ++switches;
  ASSERT_NE(wait.next(microseconds(500)), WaitAction::spin);
  const Instant since = wait.now;
  while (!wait.spins_after(milliseconds(1))) {
  }
  EXPECT_LE((wait.now - since).ns, pause[0].ns + milliseconds(2).ns);
}

TEST(WaitPolicy, a_machine_that_stands_still_is_not_preemption) {
  Wait wait(kAlone);
  ASSERT_EQ(wait.next(), WaitAction::spin);
  EXPECT_EQ(wait.next(microseconds(500)), WaitAction::spin) << "no involuntary switch was counted";
}

TEST(WaitPolicy, a_time_that_the_user_set_is_kept) {
  Wait wait(kForced);
  ASSERT_EQ(wait.next(), WaitAction::spin);
  ++switches;
  EXPECT_EQ(wait.next(microseconds(500)), WaitAction::spin);
}

TEST(WaitPolicy, news_right_after_a_spin_in_vain_shows_that_the_sender_needed_the_processor) {
  Wait wait(kAlone);
  while (wait.next() == WaitAction::spin) {
  }
  wait.policy.on_blocked(wait.now, wait.now + microseconds(20), true);
  wait.begin();
  EXPECT_NE(wait.next(), WaitAction::spin);
  wait.now = wait.now + milliseconds(3);
  wait.begin();
  EXPECT_EQ(wait.next(), WaitAction::spin);
}

TEST(WaitPolicy, yields_that_cost_a_time_slice_become_few) {
  Wait wait(kShared);
  wait.facts.in_collective = true;
  ASSERT_EQ(wait.next(), WaitAction::yield);
  wait.policy.on_yielded(wait.now, wait.now + milliseconds(3));
  wait.now = wait.now + milliseconds(3);
  EXPECT_EQ(wait.next(), WaitAction::block);
  EXPECT_TRUE(wait.policy.yields_are_long());
  wait.begin();
  EXPECT_LE(wait.count(WaitAction::yield), 2);
  wait.now = wait.now + milliseconds(500);
  wait.begin();
  EXPECT_GT(wait.count(WaitAction::yield), 10);
}

TEST(PreemptionMeter, kernel_threads_that_run_now_and_then_do_not_count) {
  PreemptionMeter meter;
  Instant now{milliseconds(5000).ns};
  for (int i = 0; i < 1000; ++i) {  // a quarter of a percent
    now = now + milliseconds(40);
    EXPECT_FALSE(meter.add(now, microseconds(100))) << i;
  }
}

TEST(PreemptionMeter, a_program_that_computes_on_the_same_processor_counts) {
  PreemptionMeter meter;
  Instant now{milliseconds(5000).ns};
  EXPECT_TRUE(meter.add(now, milliseconds(3))) << "a whole time slice";
  int turns = 0;
  do {
    now = now + microseconds(200);
    ++turns;
  } while (!meter.add(now, microseconds(100)));
  EXPECT_LE(turns, 3);
}
