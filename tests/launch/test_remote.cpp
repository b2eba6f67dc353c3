// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: bytes of a login shell are taken for frames; a plan is cut or taken from another
// version; ranks are lost between hosts; a host's ranks wait forever in a barrier, or do not see what other
// hosts put; an error that all ranks report floods the terminal.
#include <gtest/gtest.h>

#include "launch/alike.hpp"
#include "launch/foreign.hpp"
#include "launch/frames.hpp"
#include "launch/host_plan.hpp"
#include "launch/pmi.hpp"
#include "launch/tree.hpp"

namespace herald::launch {
namespace {

TEST(Frames, pass_in_any_pieces_after_the_words_of_a_shell) {
  std::string text = "Welcome!\n" + std::string(kMarker);
  append_frame(text, Channel::output, "hello");
  append_frame(text, Channel::output, "");
  append_frame(text, Channel::error, std::string(kMostPayload + 3, 'x'));
  FrameReader reader(true);
  std::vector<Frame> got;
  for (const char c : text) {
    reader.add({&c, 1});
    if (c == '!') {
      EXPECT_EQ(reader.noise(), "Welcome!");  // also while the proxy says nothing
    }
    while (auto frame = reader.next()) got.push_back(*frame);
  }
  EXPECT_EQ(reader.noise(), "Welcome!\n");
  ASSERT_EQ(got.size(), 4u);
  EXPECT_EQ(got[0].payload, "hello");
  EXPECT_EQ(got[1].payload, "");
  EXPECT_EQ(got[2].payload.size() + got[3].payload.size(), kMostPayload + 3);
  EXPECT_EQ(got[3].channel, Channel::error);
}

TEST(Frames, a_length_that_no_peer_sends_breaks_the_stream) {
  FrameReader reader(false);
  reader.add(std::string("O\xff\xff\xff\x7f", 5));
  EXPECT_FALSE(reader.next());
  EXPECT_TRUE(reader.is_broken());
}

HostPlan some_plan() {
  HostPlan plan;
  plan.host = "b";
  plan.size = 5;
  plan.universe = -1;
  plan.job_id = "id";
  plan.job_key = "key";
  plan.bind_by = {"socket", "core", "numa"};
  plan.label = true;
  plan.stdin_to = StdinTo::rank;
  plan.stdin_rank = 1;
  plan.ranks = {1, 3};
  plan.apps = {{{"./a", "b c", ""}, "/tmp", {"A=1:2", "B="}, 2}};
  return plan;
}

TEST(HostPlan, survives_the_way_to_the_proxy) {
  HostPlan plan;
  ASSERT_TRUE(decode(encode(some_plan()), plan));
  EXPECT_EQ(plan.ranks, (std::vector<int>{1, 3}));
  EXPECT_EQ(plan.apps[0].argv, (std::vector<std::string>{"./a", "b c", ""}));
  EXPECT_EQ(plan.apps[0].env, (Environment{"A=1:2", "B="}));
  EXPECT_EQ(plan.bind_by.map_by + plan.bind_by.rank_by + plan.bind_by.bind_to, "socketcorenuma");
  EXPECT_TRUE(plan.label && !plan.verbose && plan.universe == -1 && plan.stdin_rank == 1);
}

TEST(HostPlan, a_damaged_one_is_refused) {
  const std::string text = encode(some_plan());
  HostPlan plan;
  for (std::size_t length = 0; length < text.size(); ++length) {
    plan = {};
    EXPECT_FALSE(decode(text.substr(0, length), plan)) << length;
  }
  EXPECT_FALSE(decode("18:herald-host-plan-0" + text.substr(21), plan));
}

TEST(HostPlan, ranks_fill_slots_then_start_again) {
  const HostList list = parse_host_list("a:2,b");
  EXPECT_EQ(spread(list, 5, 0, false), (std::vector<std::vector<int>>{{0, 1, 3, 4}, {2}}));
  EXPECT_EQ(spread(list, 4, 0, true), (std::vector<std::vector<int>>{{0, 2}, {1, 3}}));
  EXPECT_EQ(spread(list, 4, 2, false), (std::vector<std::vector<int>>{{0, 1}, {2, 3}}));
  EXPECT_EQ(spread(parse_host_list("a:3,b"), 4, 0, true), (std::vector<std::vector<int>>{{0, 2, 3}, {1}}));
  EXPECT_EQ(process_mapping({{0, 1, 3, 4}, {2}}), "(vector,(0,1,2),(1,1,1),(0,1,2))");
}

std::string ask(PmiServer& server, int rank, const std::string& line) {
  server.on_bytes(rank, line + "\n");
  return std::exchange(server.output(rank), {});
}

TEST(PmiHosts, a_barrier_joins_the_hosts_and_spreads_what_was_put) {
  PmiServer all("kvs", {0, 0}, 2);
  all.serve_hosts();
  PmiServer a("kvs", {0, 0}, 3), b("kvs", {0}, 3);
  a.use_upstream("(vector,(0,1,2),(1,1,1))");
  b.use_upstream("(vector,(0,1,2),(1,1,1))");
  ask(a, 0, "cmd=put kvsname=kvs key=k0 value=zero");
  ask(b, 0, "cmd=put kvsname=kvs key=k2 value=two words");
  EXPECT_EQ(ask(a, 0, "cmd=barrier_in"), "");
  EXPECT_EQ(ask(b, 0, "cmd=barrier_in"), "");
  EXPECT_EQ(ask(a, 1, "cmd=barrier_in"), "");
  all.on_bytes(0, a.take_upward());
  all.on_bytes(1, b.take_upward());
  EXPECT_TRUE(all.initialized(0) && all.initialized(1));
  a.on_upstream(std::exchange(all.output(0), {}));
  b.on_upstream(std::exchange(all.output(1), {}));
  for (const int rank : {0, 1}) EXPECT_EQ(std::exchange(a.output(rank), {}), "cmd=barrier_out rc=0\n");
  EXPECT_NE(ask(a, 1, "cmd=get kvsname=kvs key=k2").find("value=two words\n"), std::string::npos);
  EXPECT_NE(ask(b, 0, "cmd=get kvsname=kvs key=PMI_process_mapping").find("(1,1,1)"), std::string::npos);
}

TEST(AlikeLines, an_error_of_many_ranks_is_one_line) {
  AlikeLines lines;
  EXPECT_EQ(lines.take("herald: rank 2 on n1: MPI_Send: bad: aborting the job\nother\n", 0), "other\n");
  EXPECT_EQ(lines.take("herald: rank 0 on n1: MPI_Send: bad: aborting the job\n"
                       "herald: rank 1 on n1: MPI_Send: bad: aborting the job\n"
                       "herald: rank 5 on n2: MPI_Recv: worse: aborting the job\n",
                       10),
            "");
  EXPECT_EQ(lines.release(AlikeLines::kHold - 1, false), "");
  EXPECT_EQ(lines.release(AlikeLines::kHold, false),
            "herald: ranks 0-2 on n1: MPI_Send: bad: aborting the job\n");
  EXPECT_EQ(lines.release(0, true), "herald: rank 5 on n2: MPI_Recv: worse: aborting the job\n");
  EXPECT_EQ(lines.take("herald: rank 1 on n1: no end", 0), "herald: rank 1 on n1: no end");
  EXPECT_FALSE(lines.next_deadline());
}

TEST(ForeignMpi, an_ordinary_program_uses_none) {
  ForeignMpi foreign;
  foreign.look_at("/bin/sh");
  foreign.look_at("/etc/passwd");
  foreign.look_at("/nowhere");
  EXPECT_EQ(foreign.name(), "");
}

TEST(Tree, groups_are_equal_and_a_plan_travels_whole) {
  EXPECT_EQ(group_bounds(3), (std::vector<std::size_t>{0, 1, 2, 3}));
  const auto bounds = group_bounds(100);
  ASSERT_EQ(bounds.size(), kMostLinks + 1);
  EXPECT_EQ(bounds.back(), 100u);
  for (std::size_t i = 0; i + 1 < bounds.size(); ++i) EXPECT_LE(bounds[i + 1] - bounds[i], 4u);
  TreePlan plan;
  plan.job_id = "ab";
  plan.ranks = 100;
  plan.stdin_to = StdinTo::rank;
  plan.stdin_link = 1;
  plan.links = {{"h1", {"mpiexec", "--herald-link", "h1"}, "plan 1\nx"},
                {"h2", {"x y", ""}, std::string(3, '\0')}};
  const std::string text = encode(plan);
  TreePlan got;
  ASSERT_TRUE(decode(text, got));
  EXPECT_EQ(encode(got), text);
  EXPECT_EQ(got.links[1].command, plan.links[1].command);
  for (std::size_t cut = 0; cut < text.size(); ++cut) {
    TreePlan part;
    EXPECT_FALSE(decode(std::string_view(text).substr(0, cut), part)) << cut;
  }
}

TEST(Tree, a_host_between_passes_on_what_was_put_and_started) {
  PmiServer top("kvs", {0, 0}, 2), middle("kvs", {0, 0}, 2);
  top.serve_hosts();
  middle.serve_hosts();
  middle.use_upstream("");
  middle.on_bytes(0, "cmd=put kvsname=kvs key=a value=1\ncmd=barrier_in\n");
  middle.on_bytes(1, "cmd=started rank=5 pid=77 host=h9 path=/a b\ncmd=barrier_in\n");
  top.on_bytes(0, middle.take_upward());
  top.on_bytes(1, "cmd=put kvsname=kvs key=b value=2\ncmd=barrier_in\n");
  const std::vector<StartedRank> seen = top.reports().take_started();
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].host + seen[0].path + std::to_string(seen[0].pid), "h9/a b77");
  middle.on_upstream(top.output(0));
  for (int client = 0; client < 2; ++client) {
    EXPECT_NE(middle.output(client).find("cmd=kv key=a value=1\n"), std::string::npos) << client;
    EXPECT_NE(middle.output(client).find("cmd=kv key=b value=2\n"), std::string::npos) << client;
    EXPECT_NE(middle.output(client).find("cmd=barrier_out"), std::string::npos) << client;
  }
}

TEST(Tree, a_question_reaches_the_hosts_and_their_answers_come_back_together) {
  PmiServer top("kvs", {0}, 1), middle("kvs", {0, 0}, 2), leaf("kvs", {0}, 1);
  top.serve_hosts();
  middle.serve_hosts();
  middle.use_upstream("");
  leaf.use_upstream("");
  top.reports().begin(1);
  middle.on_upstream(HostReports::question(true));
  EXPECT_EQ(middle.reports().take_question(), true);
  EXPECT_FALSE(middle.reports().take_question());
  middle.reports().begin(2);
  leaf.on_upstream(HostReports::question(false));
  EXPECT_EQ(leaf.reports().take_question(), false);
  leaf.reports().tell(ToldRank{R"([{"a b":"c=d"}])", {}});
  leaf.reports().tell(ToldRank{{}, "rank 4 on h3"});
  leaf.reports().tell_end();
  middle.on_bytes(0, leaf.take_upward());
  top.on_bytes(0, middle.take_upward());
  EXPECT_FALSE(top.reports().is_complete());  // the other host has not answered
  middle.on_bytes(1, "cmd=waits_end\n");
  top.on_bytes(0, middle.take_upward());
  EXPECT_TRUE(top.reports().is_complete());
  const std::vector<ToldRank> told = top.reports().take_told();
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[0].view, R"([{"a b":"c=d"}])");
  EXPECT_EQ(told[1].without_init, "rank 4 on h3");
  // A rank is no host: it cannot answer for one.
  PmiServer job("kvs", {0}, 1);
  job.on_bytes(0, "cmd=waits line=x\n");
  EXPECT_TRUE(job.reports().take_told().empty());
}

}  // namespace
}  // namespace herald::launch
