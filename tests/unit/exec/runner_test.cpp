// SPDX-License-Identifier: BSD-3-Clause
// A run could start a step too early, mix its messages with those of another run, lose the error of a step,
// or keep values of the run before.
#include "pair.hpp"

namespace herald::exec {
namespace {

using ExecRunner = Pair;

TEST_F(ExecRunner, a_step_starts_when_the_steps_that_it_needs_are_complete) {
  coll::Builder b;
  const coll::Piece result = ints(coll::Buffer::recv, 1), area = b.scratch_items(*result.layout, 1);
  const coll::StepId got = b.recv(0, area);
  b.reduce(area, result, {b.copy(ints(coll::Buffer::send, 1), result, {got})});
  const int mine = 5, theirs = 37;
  int sum = 0;
  Runner* receiver = make(1, b.finish("test"), &mine, &sum);
  Runner* sender = make(0, sends(1, 1), &theirs, nullptr);
  receiver->start({});
  take_turns();
  EXPECT_FALSE(receiver->is_done());
  EXPECT_EQ(sum, 0) << "the copy needs the message";
  sender->start({});
  ASSERT_TRUE(until([&] { return receiver->is_done() && sender->is_done(); }));
  EXPECT_EQ(reductions, 1);
  EXPECT_EQ(sum, 42);
  Runner::recycle(receiver);
  Runner::recycle(sender);
}

TEST_F(ExecRunner, the_callback_comes_once_at_the_end) {
  int calls = 0, into = 0;
  const int value = 3;
  Runner* receiver = make(1, receives(0, 1), nullptr, &into);
  receiver->start({[](void* count) { ++*static_cast<int*>(count); }, &calls});
  take_turns();
  EXPECT_EQ(calls, 0);
  Runner* sender = make(0, sends(1, 1), &value, nullptr);
  sender->start({});
  ASSERT_TRUE(until([&] { return calls != 0; }));
  take_turns();
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(into, 3);
  Runner::recycle(receiver);
  Runner::recycle(sender);
}

TEST_F(ExecRunner, runs_are_matched_by_their_order) {
  const int values[2] = {10, 11};
  int into[2] = {0, 0};
  Runner* senders[2] = {make(0, sends(1, 1), &values[0], nullptr), make(0, sends(1, 1), &values[1], nullptr)};
  Runner* receivers[2] = {make(1, receives(0, 1), nullptr, &into[0]),
                          make(1, receives(0, 1), nullptr, &into[1])};
  for (Runner* runner : senders) runner->start({});
  for (Runner* runner : receivers) runner->start({});
  ASSERT_TRUE(until([&] { return receivers[0]->is_done() && receivers[1]->is_done(); }));
  EXPECT_EQ(into[0], 10);
  EXPECT_EQ(into[1], 11);
  for (Runner* runner : senders) Runner::recycle(runner);
  for (Runner* runner : receivers) Runner::recycle(runner);
}

TEST_F(ExecRunner, persistent_runs_start_again_and_in_any_order) {
  int values[2] = {0, 0}, into[2] = {0, 0};
  Runner *senders[2], *receivers[2];
  for (int i = 0; i < 2; ++i) {
    senders[i] = make(0, sends(1, 1), &values[i], nullptr, {.persistent = true});
    receivers[i] = make(1, receives(0, 1), nullptr, &into[i], {.persistent = true});
  }
  for (int round = 1; round <= 3; ++round) {
    values[0] = 10 * round;
    values[1] = 10 * round + 1;
    for (const int i : {0, 1}) senders[i]->start({});
    for (const int i : {1, 0}) receivers[i]->start({});
    ASSERT_TRUE(until([&] {
      return receivers[0]->is_done() && receivers[1]->is_done() && senders[0]->is_done() &&
             senders[1]->is_done();
    }));
    EXPECT_EQ(into[0], 10 * round);
    EXPECT_EQ(into[1], 10 * round + 1);
  }
  EXPECT_EQ(teams_[0]->run_count, 0u) << "persistent runs are not counted among the others";
  for (const int i : {0, 1}) {
    Runner::recycle(senders[i]);
    Runner::recycle(receivers[i]);
  }
}

TEST_F(ExecRunner, the_error_of_a_step_is_the_status_of_the_run) {
  const int values[4] = {1, 2, 3, 4};
  int into[4] = {0, 0, 0, 0};
  Runner* sender = make(0, sends(1, 4), values, nullptr);
  Runner* receiver = make(1, receives(0, 2), nullptr, into);
  sender->start({});
  receiver->start({});
  ASSERT_TRUE(until([&] { return receiver->is_done() && sender->is_done(); }));
  EXPECT_EQ(receiver->status(), Status::truncated);
  EXPECT_EQ(sender->status(), Status::ok);
  EXPECT_EQ(into[2], 0) << "written behind the buffer";
  Runner::recycle(sender);
  Runner::recycle(receiver);
  // The next run begins without the error.
  sender = make(0, sends(1, 1), values, nullptr);
  receiver = make(1, receives(0, 1), nullptr, into);
  sender->start({});
  receiver->start({});
  ASSERT_TRUE(until([&] { return receiver->is_done(); }));
  EXPECT_EQ(receiver->status(), Status::ok);
  Runner::recycle(sender);
  Runner::recycle(receiver);
}

// Others wait for what a failed run sends: they get it, and learn that it lacks the data of a lost rank.
TEST_F(ExecRunner, a_run_that_lacks_the_data_of_a_lost_rank_says_so_to_those_that_it_sends_to) {
  int value = 7, passed_on = 0, into = 0;
  coll::Builder b;
  const coll::StepId got = b.recv(1, ints(coll::Buffer::recv, 1));
  b.send(1, ints(coll::Buffer::recv, 1), {got});
  Runner* middle = make(0, b.finish("test"), nullptr, &passed_on);
  Runner* last = make(1, receives(0, 1), nullptr, &into);
  p2p::SendOp first;
  first.context = teams_[1]->context();
  first.source = 1;
  first.data = type::Cursor::bytes(&value, sizeof value);
  first.incomplete = true;
  engine_->messages().start(first);
  middle->start({});
  last->start({});
  ASSERT_TRUE(until([&] { return middle->is_done() && last->is_done(); }));
  EXPECT_EQ(middle->status(), Status::peer_lost);
  EXPECT_EQ(last->status(), Status::peer_lost);
  Runner::recycle(middle);
  Runner::recycle(last);
}

TEST_F(ExecRunner, a_check_that_fails_ends_the_run_before_its_other_steps) {
  const int values[2] = {1, 2};
  int into[2][2] = {};
  Runner* runners[2];
  for (int rank = 0; rank < 2; ++rank) {
    coll::CollSpec spec;
    spec.op = coll::Op::allreduce;
    spec.rank = rank;
    spec.size = 2;
    spec.bytes = sizeof(int) * static_cast<std::size_t>(rank + 1);  // the ranks do not agree
    spec.send = {coll::Buffer::send, &type::basic_layout(type::Basic::c_int), rank + 1};
    spec.recv = {coll::Buffer::recv, &type::basic_layout(type::Basic::c_int), rank + 1};
    const coll::Facts facts = coll::facts_of(spec);
    coll::Plan plan = coll::make_plan(*coll::find_algorithm(spec.op, "doubling"), spec, true);
    runners[rank] = make(rank, std::move(plan), values, into[rank], {}, &facts);
  }
  for (Runner* runner : runners) runner->start({});
  ASSERT_TRUE(until([&] { return runners[0]->is_done() && runners[1]->is_done(); }));
  for (Runner* runner : runners) {
    EXPECT_EQ(runner->status(), Status::bad_argument);
    EXPECT_NE(runner->mismatch().find("rank 1"), std::string::npos) << runner->mismatch();
    Runner::recycle(runner);
  }
  EXPECT_EQ(reductions, 0);
  EXPECT_EQ(into[0][0], 0);
}

TEST_F(ExecRunner, a_recycled_runner_serves_the_next_run_of_its_plan) {
  auto* cached = new coll::CachedPlan;
  coll::Builder b;
  b.copy(ints(coll::Buffer::send, 1), ints(coll::Buffer::recv, 1));
  cached->plan = b.finish("test");
  coll::retain(cached);
  const int first = 1, second = 2;
  int into = 0;
  Runner* runner = Runner::make(*teams_[0], cached, {.send = &first, .recv = &into});
  EXPECT_EQ(runner->run(), Status::ok);
  EXPECT_EQ(into, 1);
  Runner::recycle(runner);
  Runner* again = Runner::make(*teams_[0], cached, {.send = &second, .recv = &into});
  EXPECT_EQ(again, runner);
  EXPECT_EQ(again->run(), Status::ok);
  EXPECT_EQ(into, 2);
  Runner::recycle(again);
}

}  // namespace
}  // namespace herald::exec
