// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: a cycle of waiting ranks is not named, or ranks are accused that can still go on: a
// member that computes, a message that was sent a moment ago, one of several requests that can complete.
// Collectives in different order hang without a hint.
#include <gtest/gtest.h>

#include <cstdio>

#include "watch/deadlock.hpp"
#include "watch/rank_view.hpp"

namespace herald::watch {
namespace {

constexpr std::int64_t kNow = 1'000'000'000'000;

ShownWait wait_in(const char* call, double seconds) {
  ShownWait wait{};
  wait.since_ns = kNow - static_cast<std::int64_t>(seconds * 1e9);
  std::snprintf(wait.call.data(), wait.call.size(), "%s", call);
  std::snprintf(wait.comm.data(), wait.comm.size(), "MPI_COMM_WORLD");
  wait.context = 1;
  wait.comm_size = 3;
  wait.member_count = 3;
  wait.members = {0, 1, 2};
  return wait;
}

void add(ShownWait& wait, WaitedKind kind, int peer, int tag = 7) {
  wait.ops[wait.shown++] = {kind, true, peer, peer, tag};
  wait.total = wait.shown;
}

RankView rank(int number, RankPhase phase = RankPhase::running) {
  RankView view;
  view.rank = number;
  view.size = 3;
  view.host = "n1";
  view.phase = phase;
  view.read_ns = kNow;
  return view;
}

RankView waiting(int number, const char* call, WaitedKind kind, int peer, double seconds = 2.9) {
  RankView view = rank(number);
  view.waits.push_back(wait_in(call, seconds));
  add(view.waits[0], kind, peer);
  return view;
}

TEST(Watch, a_line_names_call_peer_tag_communicator_and_time) {
  RankView view = waiting(0, "MPI_Recv", WaitedKind::receive, 1);
  view.waits[0].unexpected_count = 1;
  view.waits[0].unexpected[0] = {2, 3};
  EXPECT_EQ(rank_text(view),
            "rank 0 on n1: MPI_Recv from 1, tag 7, MPI_COMM_WORLD, for 2.9 s; 3 unexpected messages from 2");
  EXPECT_EQ(rank_text(waiting(1, "MPI_Barrier", WaitedKind::collective, -1)),
            "rank 1 on n1: MPI_Barrier, MPI_COMM_WORLD, for 2.9 s");
  view = rank(2);
  view.waits.push_back(wait_in("MPI_Waitall", 70));
  add(view.waits[0], WaitedKind::receive, -1);
  add(view.waits[0], WaitedKind::send, 0, 4);
  EXPECT_EQ(rank_text(view),
            "rank 2 on n1: MPI_Waitall for 2 operations: receive from any rank, tag 7; send to 0, tag 4, "
            "MPI_COMM_WORLD, for 1 min 10 s");
  EXPECT_EQ(rank_text(rank(1, RankPhase::finalizing)), "rank 1 on n1: in MPI_Finalize");
}

TEST(Watch, two_ranks_that_wait_for_each_other_are_a_deadlock) {
  const auto found = find_deadlocks({waiting(0, "MPI_Recv", WaitedKind::receive, 1),
                                     waiting(1, "MPI_Ssend", WaitedKind::send, 0), rank(2)});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0], "deadlock: rank 0 waits for rank 1, rank 1 waits for rank 0");
}

TEST(Watch, a_collective_and_a_receive_are_a_deadlock) {
  const auto found = find_deadlocks({waiting(0, "MPI_Recv", WaitedKind::receive, 2),
                                     waiting(1, "MPI_Barrier", WaitedKind::collective, -1),
                                     waiting(2, "MPI_Barrier", WaitedKind::collective, -1)});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0], "deadlock: rank 0 waits for rank 2, rank 2 waits for rank 0");
}

TEST(Watch, a_rank_that_waits_for_one_in_finalize_never_ends) {
  const auto found = find_deadlocks(
      {waiting(0, "MPI_Recv", WaitedKind::receive, 1), rank(1, RankPhase::finalizing), rank(2)});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0], "deadlock: rank 0 waits for rank 1, which has called MPI_Finalize");
}

TEST(Watch, ranks_that_can_go_on_are_not_accused) {
  // The other one computes.
  EXPECT_TRUE(find_deadlocks({waiting(0, "MPI_Recv", WaitedKind::receive, 1), rank(1), rank(2)}).empty());
  // All wait in the same collective, for a message on its way.
  EXPECT_TRUE(find_deadlocks({waiting(0, "MPI_Barrier", WaitedKind::collective, -1),
                              waiting(1, "MPI_Barrier", WaitedKind::collective, -1),
                              waiting(2, "MPI_Barrier", WaitedKind::collective, -1)})
                  .empty());
  // A short wait.
  EXPECT_TRUE(find_deadlocks({waiting(0, "MPI_Recv", WaitedKind::receive, 1),
                              waiting(1, "MPI_Recv", WaitedKind::receive, 0, 0.1), rank(2)})
                  .empty());
  // Any source: rank 2 may send.
  EXPECT_TRUE(find_deadlocks({waiting(0, "MPI_Recv", WaitedKind::receive, -1),
                              waiting(1, "MPI_Recv", WaitedKind::receive, 0), rank(2)})
                  .empty());
  // One of two requests can complete.
  RankView any = waiting(0, "MPI_Waitany", WaitedKind::receive, 1);
  add(any.waits[0], WaitedKind::receive, 2);
  any.waits[0].any = true;
  EXPECT_TRUE(find_deadlocks({any, waiting(1, "MPI_Recv", WaitedKind::receive, 0), rank(2)}).empty());
  any.waits[0].any = false;  // MPI_Waitall needs both
  EXPECT_EQ(find_deadlocks({any, waiting(1, "MPI_Recv", WaitedKind::receive, 0), rank(2)}).size(), 1u);
}

TEST(Watch, any_source_without_a_sender_is_a_deadlock) {
  const auto found = find_deadlocks({waiting(0, "MPI_Recv", WaitedKind::receive, -1),
                                     rank(1, RankPhase::finalizing), rank(2, RankPhase::ended)});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0], "deadlock: rank 0 waits for any rank, and no rank can send to it");
}

TEST(Watch, ranks_that_all_wait_in_collectives_are_told_how_to_compare_them) {
  std::vector<RankView> views{waiting(0, "MPI_Barrier", WaitedKind::collective, -1),
                              waiting(1, "MPI_Bcast", WaitedKind::collective, -1),
                              waiting(2, "MPI_Barrier", WaitedKind::collective, -1)};
  auto found = find_mismatches(views);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NE(found[0].find("all ranks of MPI_COMM_WORLD wait in collectives"), std::string::npos);
  EXPECT_NE(found[0].find("HERALD_CHECK=collectives"), std::string::npos);
  EXPECT_EQ(job_text(views).back(), found[0]);
  views[1] = waiting(1, "MPI_Bcast", WaitedKind::collective, -1, 1.5);  // long data may be on its way
  EXPECT_TRUE(find_mismatches(views).empty());
  views[1] = waiting(1, "MPI_Recv", WaitedKind::receive, 0);
  EXPECT_TRUE(find_mismatches(views).empty());
  views[1] = rank(1);
  EXPECT_TRUE(find_mismatches(views).empty());
  views.pop_back();  // rank 2 is not seen, as on another host
  EXPECT_TRUE(find_mismatches(views).empty());
}

TEST(Watch, many_equal_ranks_share_a_line) {
  std::vector<RankView> views;
  for (int i = 0; i < 40; ++i) {
    views.push_back(waiting(i, "MPI_Barrier", WaitedKind::collective, -1));
    views.back().waits[0].comm_size = 40;
    views.back().waits[0].member_count = 40;
    for (int member = 0; member < 40; ++member)
      views.back().waits[0].members[static_cast<std::size_t>(member)] = member;
  }
  views[7] = rank(7);
  const auto lines = job_text(views);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0], "ranks 0-6, 8-39 on n1: MPI_Barrier, MPI_COMM_WORLD, for up to 2.9 s");
}

}  // namespace
}  // namespace herald::watch
