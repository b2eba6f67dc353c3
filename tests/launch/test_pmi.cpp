// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: a line that arrives in parts is misread, a reply is missing and a rank waits forever,
// a barrier completes early or waits for a rank that exited, malformed input stops the server.
#include <gtest/gtest.h>

#include <utility>

#include "launch/pmi.hpp"

namespace herald::launch {
namespace {

struct Server : testing::Test {
  PmiServer pmi{"kvs", {0, 0, 1}, 8};
  std::string ask(int rank, const std::string& line) {
    pmi.on_bytes(rank, line + "\n");
    return std::exchange(pmi.output(rank), {});
  }
};

TEST_F(Server, replies_to_all_startup_commands) {
  EXPECT_EQ(ask(0, "cmd=init pmi_version=1 pmi_subversion=1"),
            "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n");
  EXPECT_NE(ask(0, "cmd=get_maxes").find("keylen_max=64 vallen_max=1024"), std::string::npos);
  EXPECT_NE(ask(2, "cmd=get_appnum").find("appnum=1"), std::string::npos);
  EXPECT_NE(ask(1, "cmd=get_my_kvsname").find("kvsname=kvs"), std::string::npos);
  EXPECT_NE(ask(1, "cmd=get_universe_size").find("size=8"), std::string::npos);
  EXPECT_NE(ask(1, "cmd=get kvsname=kvs key=PMI_process_mapping").find("value=(vector,(0,1,3))\n"),
            std::string::npos);
  EXPECT_TRUE(pmi.initialized(0));
  EXPECT_FALSE(pmi.initialized(1));
  EXPECT_EQ(ask(0, "cmd=finalize"), "cmd=finalize_ack rc=0\n");
  EXPECT_TRUE(pmi.finalized(0));
}

TEST_F(Server, later_protocol_version_is_rejected) {
  EXPECT_NE(ask(0, "cmd=init pmi_version=2 pmi_subversion=0").find("rc=-1"), std::string::npos);
  EXPECT_FALSE(pmi.initialized(0));
}

TEST_F(Server, put_then_get_by_another_rank) {
  EXPECT_NE(ask(0, "cmd=put kvsname=kvs key=k value=a=b,c").find("put_result rc=0"), std::string::npos);
  EXPECT_NE(ask(1, "cmd=get kvsname=kvs key=k").find("value=a=b,c\n"), std::string::npos);
  EXPECT_NE(ask(1, "cmd=get kvsname=kvs key=other").find("rc=-1"), std::string::npos);
  EXPECT_NE(ask(1, "cmd=get kvsname=foreign key=k").find("rc=-1"), std::string::npos);
}

TEST_F(Server, lengths_above_get_maxes_are_rejected) {
  const std::string put = "cmd=put kvsname=kvs key=";
  EXPECT_NE(ask(0, put + std::string(64, 'k') + " value=" + std::string(1024, 'v')).find("rc=0"),
            std::string::npos);
  EXPECT_NE(ask(0, put + std::string(65, 'k') + " value=v").find("rc=-1"), std::string::npos);
  EXPECT_NE(ask(0, put + "k value=" + std::string(1025, 'v')).find("rc=-1"), std::string::npos);
  EXPECT_NE(ask(0, "cmd=put kvsname=kvs key=k").find("rc=-1"), std::string::npos);
}

TEST_F(Server, lines_may_be_split_anywhere_and_merged) {
  const std::string text = "cmd=put kvsname=kvs key=k value=1\ncmd=get kvsname=kvs key=k\n";
  for (char c : text) pmi.on_bytes(0, std::string_view(&c, 1));
  const std::string slow = std::exchange(pmi.output(0), {});
  pmi.on_bytes(1, text);
  EXPECT_EQ(slow, pmi.output(1));
  EXPECT_NE(slow.find("value=1\n"), std::string::npos);
}

TEST_F(Server, barrier_completes_when_all_ranks_entered_and_is_reusable) {
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(ask(0, "cmd=barrier_in"), "");
    EXPECT_EQ(ask(2, "cmd=barrier_in"), "");
    EXPECT_EQ(ask(2, "cmd=barrier_in"), "");  // a repeated entry does not count
    pmi.take_dirty();
    EXPECT_EQ(ask(1, "cmd=barrier_in"), "cmd=barrier_out rc=0\n");
    EXPECT_EQ(std::exchange(pmi.output(0), {}), "cmd=barrier_out rc=0\n");
    EXPECT_EQ(std::exchange(pmi.output(2), {}), "cmd=barrier_out rc=0\n");
    EXPECT_EQ(pmi.take_dirty().size(), 3U);
  }
}

TEST_F(Server, exited_rank_stalls_the_barrier) {
  pmi.on_exit(1);
  EXPECT_FALSE(pmi.stalled_barrier());
  ask(0, "cmd=barrier_in");
  ASSERT_TRUE(pmi.stalled_barrier());
  EXPECT_EQ(pmi.stalled_barrier()->missing, 1);
  EXPECT_EQ(pmi.stalled_barrier()->waiting, 0);
}

TEST_F(Server, rank_that_exits_inside_the_barrier_does_not_stall_it) {
  ask(1, "cmd=barrier_in");
  pmi.on_exit(1);
  ask(0, "cmd=barrier_in");
  EXPECT_FALSE(pmi.stalled_barrier());
  EXPECT_EQ(ask(2, "cmd=barrier_in"), "cmd=barrier_out rc=0\n");
}

TEST_F(Server, the_first_abort_counts) {
  EXPECT_FALSE(pmi.aborted());
  ask(1, "cmd=abort exitcode=7 message=out of luck");
  ask(0, "cmd=abort exitcode=9");
  ASSERT_TRUE(pmi.aborted());
  EXPECT_EQ(pmi.aborted()->rank, 1);
  EXPECT_EQ(pmi.aborted()->code, 7);
  EXPECT_EQ(pmi.aborted()->message, "out of luck");
}

TEST_F(Server, ranks_that_left_are_not_waited_for) {
  ask(0, "cmd=barrier_in");
  ask(1, "cmd=barrier_in");
  pmi.leave(1);
  pmi.leave(1);
  pmi.on_exit(1);
  EXPECT_FALSE(pmi.stalled_barrier());
  EXPECT_EQ(std::exchange(pmi.output(0), {}), "");
  pmi.leave(2);  // the last that was missing
  EXPECT_EQ(std::exchange(pmi.output(0), {}), "cmd=barrier_out rc=0\n");
  ask(1, "cmd=abort exitcode=3");
  EXPECT_FALSE(pmi.aborted()) << "by a rank that ends";
}

TEST_F(Server, an_abort_may_name_ranks) {
  ask(1, "cmd=abort exitcode=44 given=300 by=1 ranks=0,4-10:3");
  EXPECT_FALSE(pmi.aborted());
  const std::vector<RankAbort> aborts = pmi.take_rank_aborts();
  ASSERT_EQ(aborts.size(), 1U);
  EXPECT_EQ(aborts[0].by, 1);
  EXPECT_EQ(aborts[0].status, 44);
  EXPECT_EQ(aborts[0].code, 300);
  EXPECT_EQ(aborts[0].ranks, (std::vector<int>{0, 4, 7, 10}));
  EXPECT_TRUE(pmi.take_rank_aborts().empty());
  for (const char* wrong : {"", "x", "3-1", "-1", "1-4:0", "1-99999999999", "1,,x"}) {
    EXPECT_FALSE(parse_rank_abort(std::string("cmd=abort ranks=") + wrong)) << wrong;
  }
}

TEST_F(Server, an_abort_of_ranks_goes_by_the_server_of_the_whole_job_to_all_hosts) {
  PmiServer top{"kvs", {0, 0}, 8};
  top.serve_hosts();
  pmi.use_upstream("");
  pmi.take_upward();
  ask(2, "cmd=abort exitcode=5 by=9 ranks=9,11");
  EXPECT_TRUE(pmi.take_rank_aborts().empty()) << "before the whole job knows";
  top.on_bytes(1, pmi.take_upward());
  EXPECT_EQ(top.take_rank_aborts().size(), 1U);
  EXPECT_EQ(top.output(0), top.output(1));
  pmi.on_upstream(top.output(1));
  const std::vector<RankAbort> aborts = pmi.take_rank_aborts();
  ASSERT_EQ(aborts.size(), 1U);
  EXPECT_EQ(aborts[0].by, 9);
  EXPECT_EQ(aborts[0].ranks, (std::vector<int>{9, 11}));
  for (int rank = 0; rank < 3; ++rank) pmi.leave(rank);
  top.on_bytes(0, "cmd=barrier_in\n");
  top.output(0).clear();
  top.on_bytes(1, pmi.take_upward());  // none of its ranks is left
  EXPECT_EQ(top.output(0), "cmd=barrier_out rc=0\n");
}

TEST_F(Server, unknown_commands_get_a_reply) {
  EXPECT_NE(ask(0, "cmd=dance").find("cmd=dance_result rc=-1"), std::string::npos);
  EXPECT_NE(ask(0, "nonsense").find("rc=-1"), std::string::npos);
  EXPECT_NE(ask(0, std::string(100000, 'x')).find("line_too_long"), std::string::npos);
  EXPECT_NE(ask(0, "cmd=get_appnum").find("appnum=0"), std::string::npos);
}

TEST_F(Server, names_are_published_once_and_found) {
  EXPECT_NE(ask(1, "cmd=lookup_name service=s").find("cmd=lookup_result rc=-1"), std::string::npos);
  EXPECT_NE(ask(0, "cmd=publish_name service=s port=p").find("cmd=publish_result rc=0"), std::string::npos);
  EXPECT_NE(ask(0, "cmd=publish_name service=s port=q").find("cmd=publish_result rc=-1"), std::string::npos);
  EXPECT_NE(ask(0, "cmd=publish_name service=t").find("cmd=publish_result rc=-1"), std::string::npos);
  EXPECT_EQ(ask(1, "cmd=lookup_name service=s"), "cmd=lookup_result rc=0 port=p\n");
  EXPECT_NE(ask(1, "cmd=unpublish_name service=s").find("cmd=unpublish_result rc=0"), std::string::npos);
  EXPECT_NE(ask(1, "cmd=unpublish_name service=s").find("cmd=unpublish_result rc=-1"), std::string::npos);
}

TEST_F(Server, a_request_to_spawn_has_all_its_commands) {
  const std::string first =
      "mcmd=spawn\nnprocs=2\nexecname=x\ntotspawns=2\nspawnssofar=1\nargcnt=1\narg1=a b\n"
      "preput_num=1\npreput_key_0=PARENT_ROOT_PORT_NAME\npreput_val_0=port\ninfo_num=2\n"
      "info_key_0=wdir\ninfo_val_0=/tmp\ninfo_key_1=env\ninfo_val_1=A=1\x1f"
      "B=2\nendcmd";
  EXPECT_EQ(ask(1, first), "");
  EXPECT_FALSE(pmi.jobs().take_request());
  EXPECT_EQ(ask(1, "mcmd=spawn\nnprocs=1\nexecname=y\ntotspawns=2\nspawnssofar=2\nargcnt=0\nendcmd"), "");
  const auto request = pmi.jobs().take_request();
  ASSERT_TRUE(request);
  EXPECT_EQ(request->asker.client, 1);
  const SpawnWords words = spawn_words(request->text);
  EXPECT_EQ(words.port, "port");
  EXPECT_EQ(words.words, (std::vector<std::string>{"-n", "2", "-wdir", "/tmp", "-env", "A", "1", "-env", "B",
                                                   "2", "x", "a b", ":", "-n", "1", "y"}));
  // What mpiexec adds: the new job starts on the same hosts, by the same remote shell.
  const SpawnWords placed = spawn_words(request->text + "default_hosts=a,b\ndefault_agent=ssh -F file\n");
  EXPECT_EQ(std::vector<std::string>(placed.words.begin(), placed.words.begin() + 5),
            (std::vector<std::string>{"-host", "a,b", "--rsh-agent", "ssh -F file", "-n"}));
  pmi.answer(request->asker, PmiJobs::started(request->id));
  EXPECT_EQ(pmi.output(1), "cmd=spawn_result rc=0 herald_id=1\n");
  pmi.jobs().on_ended(request->id, 7);
  pmi.output(1).clear();
  EXPECT_EQ(ask(1, "cmd=spawn_state herald_id=1"), "cmd=spawn_state rc=0 ended=1 code=7\n");
  EXPECT_EQ(ask(1, "cmd=spawn_state herald_id=2"), "cmd=spawn_state rc=0 ended=0\n");
}

// The server of a host passes these commands on, and the answers back.
TEST(HostServer, names_belong_to_the_whole_job) {
  PmiServer host("kvs", {0, 0}, 2), whole("kvs", {0}, 2);
  host.use_upstream("");
  whole.serve_hosts();
  (void)host.take_upward();
  host.on_bytes(1, "cmd=publish_name service=s port=p\n");
  whole.on_bytes(0, host.take_upward());
  host.on_upstream(whole.output(0));
  EXPECT_EQ(host.output(1), "cmd=publish_result rc=0 msg=success\n");
  host.on_bytes(0, "mcmd=spawn\nnprocs=1\nexecname=x\ntotspawns=1\nendcmd\n");
  whole.on_bytes(0, host.take_upward());
  const auto request = whole.jobs().take_request();
  ASSERT_TRUE(request);
  EXPECT_EQ(request->asker.from, 0);
  whole.output(0).clear();
  whole.answer(request->asker, PmiJobs::not_started("x is missing"));
  host.on_upstream(whole.output(0));
  EXPECT_EQ(host.output(0), "cmd=spawn_result rc=-1 msg=x_is_missing\n");
}

TEST(HostServer, a_server_between_passes_names_on) {
  PmiServer host("kvs", {0, 0, 0}, 2), middle("kvs", {0, 0}, 2), whole("kvs", {0, 0}, 2);
  host.use_upstream("");
  middle.use_upstream("");
  middle.serve_hosts();
  whole.serve_hosts();
  (void)host.take_upward();
  (void)middle.take_upward();
  for (const int rank : {2, 0}) {
    host.on_bytes(rank, "cmd=publish_name service=s" + std::to_string(rank) + " port=p\n");
    middle.on_bytes(1, host.take_upward());
    whole.on_bytes(0, middle.take_upward());
    middle.on_upstream(std::exchange(whole.output(0), {}));
    host.on_upstream(std::exchange(middle.output(1), {}));
    EXPECT_EQ(host.output(rank), "cmd=publish_result rc=0 msg=success\n");
  }
  EXPECT_EQ(middle.output(0), "");
  whole.on_bytes(1, "cmd=lookup_name service=s2\n");
  EXPECT_NE(whole.output(1).find("port=p"), std::string::npos);
}

}  // namespace
}  // namespace herald::launch
