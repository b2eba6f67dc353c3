// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: a launcher that answers wrongly, partly or not at all; values changed in transit;
// limits exceeded; an abort that is lost because another thread waits in the fence; commands sent after
// finalize.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "boot/boot.hpp"
#include "boot/pmi1_text.hpp"
#include "fake_launcher.hpp"

namespace herald::boot {
namespace {

using test::Environment;
using test::FakeLauncher;

std::unique_ptr<Boot> start(FakeLauncher& launcher, int rank, int size, std::string* why_out = nullptr) {
  std::string why;
  auto boot = open(launcher.environment(rank, size).get(), why);
  if (why_out != nullptr) *why_out = why;
  EXPECT_EQ(boot == nullptr, !why.empty());
  return boot;
}

std::vector<int> local(const Boot& boot) { return {boot.local_ranks().begin(), boot.local_ranks().end()}; }

FakeLauncher::Rule answer_to(std::string command, std::string reply) {
  return [=](const std::string& line) { return field(line, "cmd") == command ? reply : ""; };
}

TEST(Pmi1, gets_its_rank_and_size) {
  FakeLauncher launcher;
  launcher.set("PMI_process_mapping", "(vector,(0,2,2))");
  auto boot = start(launcher, 3, 4);
  ASSERT_NE(boot, nullptr);
  EXPECT_STREQ(boot->name(), "pmi1");
  EXPECT_EQ(boot->rank(), 3);
  EXPECT_EQ(boot->size(), 4);
  EXPECT_EQ(boot->app_number(), 2);
  EXPECT_EQ(boot->universe_size(), -1);
  EXPECT_EQ(local(*boot), std::vector<int>({2, 3}));
  EXPECT_EQ(launcher.heard().front(), "cmd=init pmi_version=1 pmi_subversion=1");
  EXPECT_EQ(boot->finalize(), Status::ok);
  EXPECT_EQ(launcher.heard().back(), "cmd=finalize");
}

TEST(Pmi1, values_of_any_bytes_and_length_survive_split_answers) {
  FakeLauncher launcher{{}, true};
  auto boot = start(launcher, 0, 1);
  ASSERT_NE(boot, nullptr);
  for (std::size_t length : {0, 1, 255, 511, 512, 3000}) {
    std::string key = "v" + std::to_string(length), value, back = "x";
    for (std::size_t i = 0; i < length; ++i) value += static_cast<char>(i * 7);
    ASSERT_EQ(boot->put(key, value), Status::ok);
    ASSERT_EQ(boot->fence(), Status::ok);
    ASSERT_EQ(boot->get(0, key, back), Status::ok) << boot->last_error();
    EXPECT_EQ(back, value);
  }
  for (const std::string& line : launcher.heard()) {
    EXPECT_LE(line.size(), 1023u);
    EXPECT_LT(field(line, "value").value_or("").size(), 1024u);
    EXPECT_LT(field(line, "key").value_or("").size(), 64u);
  }
}

TEST(Pmi1, ranks_do_not_share_keys) {
  FakeLauncher launcher;
  launcher.set("h.card.1.0", "2.6869");
  auto boot = start(launcher, 0, 2);
  ASSERT_NE(boot, nullptr);
  std::string value;
  ASSERT_EQ(boot->put("card", "mine"), Status::ok);
  ASSERT_EQ(boot->get(1, "card", value), Status::ok);
  EXPECT_EQ(value, "hi");
}

TEST(Pmi1, limits_smaller_than_usual_are_respected) {
  FakeLauncher launcher{answer_to("get_maxes", "cmd=maxes kvsname_max=64 keylen_max=32 vallen_max=40")};
  auto boot = start(launcher, 0, 1);
  ASSERT_NE(boot, nullptr);
  std::string value(200, 'z'), back;
  ASSERT_EQ(boot->put("card", value), Status::ok);
  ASSERT_EQ(boot->get(0, "card", back), Status::ok);
  EXPECT_EQ(back, value);
  for (const std::string& line : launcher.heard()) EXPECT_LT(field(line, "value").value_or("").size(), 40u);
  EXPECT_EQ(boot->put("a-key-that-is-longer-than-32-bytes", "x"), Status::bad_argument);
  EXPECT_NE(boot->last_error().find("31 bytes"), std::string::npos) << boot->last_error();
  EXPECT_EQ(boot->put("two words", "x"), Status::bad_argument);
}

TEST(Pmi1, missing_and_foreign_values_are_distinguished) {
  FakeLauncher launcher;
  launcher.set("h.card.1.0", "mpich-business-card");
  auto boot = start(launcher, 0, 2);
  ASSERT_NE(boot, nullptr);
  std::string value = "before";
  EXPECT_EQ(boot->get(0, "card", value), Status::not_found);
  EXPECT_NE(boot->last_error().find("h.card.0.0"), std::string::npos);
  EXPECT_EQ(boot->get(1, "card", value), Status::engine_broken);
  EXPECT_NE(boot->last_error().find("same MPI library"), std::string::npos);
  EXPECT_EQ(value, "before");
}

TEST(Pmi1, refused_put_is_an_error) {
  FakeLauncher launcher;
  auto boot = start(launcher, 0, 1);
  ASSERT_NE(boot, nullptr);
  ASSERT_EQ(boot->put("card", "x"), Status::ok);
  EXPECT_EQ(boot->put("card", "x"), Status::engine_broken);
  EXPECT_NE(boot->last_error().find("h.card.0.0"), std::string::npos);
}

TEST(Pmi1, without_a_host_map_the_environment_helps) {
  struct Case {
    std::vector<std::string> entries;
    std::vector<int> expected;
  };
  for (const Case& c : {Case{{"MPI_LOCALRANKID=1", "MPI_LOCALNRANKS=2"}, {4, 5}}, Case{{}, {5}},
                        Case{{"MPI_LOCALNRANKS=8"}, {0, 1, 2, 3, 4, 5, 6, 7}},
                        Case{{"MPI_LOCALRANKID=3", "MPI_LOCALNRANKS=2"}, {5}},
                        Case{{"MPI_LOCALRANKID=x", "MPI_LOCALNRANKS=-5"}, {5}},
                        Case{{"MPI_LOCALRANKID=0", "MPI_LOCALNRANKS=7"}, {5}},
                        Case{{"SLURM_STEP_NUM_NODES=1"}, {0, 1, 2, 3, 4, 5, 6, 7}}}) {
    FakeLauncher launcher;
    std::vector<std::string> entries = c.entries;
    entries.insert(entries.end(),
                   {"PMI_FD=" + std::to_string(launcher.client_fd()), "PMI_RANK=5", "PMI_SIZE=8"});
    std::string why;
    auto boot = open(Environment{entries}.get(), why);
    ASSERT_NE(boot, nullptr) << why;
    EXPECT_EQ(local(*boot), c.expected) << testing::PrintToString(c.entries);
  }
}

TEST(Pmi1, wrong_answers_at_the_start_are_refused_with_a_message) {
  struct Case {
    const char *command, *reply, *word;
  };
  for (const Case& c :
       {Case{"init", "HTTP/1.1 400 Bad Request", "HTTP"}, Case{"init", FakeLauncher::kHangUp, "closed"},
        Case{"init", "cmd=response_to_init rc=-1", "version 1"},
        Case{"get_maxes", "cmd=maxes keylen_max=8 vallen_max=8", "limits"},
        Case{"get_maxes", "cmd=maxes", "limits"}, Case{"get_my_kvsname", "cmd=my_kvsname kvsname=", "store"},
        Case{"get_appnum", "cmd=something_else", "something_else"},
        Case{"get", FakeLauncher::kHangUp, "closed"}}) {
    FakeLauncher launcher{answer_to(c.command, c.reply)};
    std::string why;
    EXPECT_EQ(start(launcher, 0, 2, &why), nullptr) << c.reply;
    EXPECT_NE(why.find(c.word), std::string::npos) << why;
    EXPECT_NE(why.find("unset PMI_FD"), std::string::npos) << why;
  }
}

TEST(Pmi1, a_launcher_that_dies_in_the_fence_is_reported) {
  FakeLauncher launcher{answer_to("barrier_in", FakeLauncher::kHangUp)};
  auto boot = start(launcher, 0, 2);
  ASSERT_NE(boot, nullptr);
  EXPECT_EQ(boot->fence(), Status::engine_broken);
  EXPECT_NE(boot->last_error().find("closed"), std::string::npos);
  boot->abort({1, "no one hears this"});
}

TEST(Pmi1, a_failed_fence_is_an_error) {
  FakeLauncher launcher{answer_to("barrier_in", "cmd=barrier_out rc=1")};
  auto boot = start(launcher, 0, 2);
  ASSERT_NE(boot, nullptr);
  EXPECT_EQ(boot->fence(), Status::engine_broken);
  EXPECT_NE(boot->last_error().find("barrier"), std::string::npos);
}

TEST(Pmi1, abort_works_while_another_thread_waits_in_the_fence) {
  FakeLauncher launcher{[](const std::string& line) -> std::string {
    if (line == "cmd=abort exitcode=42") return FakeLauncher::kHangUp;
    return line == "cmd=barrier_in" ? FakeLauncher::kSilence : "";
  }};
  auto boot = start(launcher, 0, 2);
  ASSERT_NE(boot, nullptr);
  std::thread waiter{[&] { EXPECT_EQ(boot->fence(), Status::engine_broken); }};
  EXPECT_TRUE(launcher.wait_for("cmd=barrier_in"));
  boot->abort({42, "test"});
  EXPECT_TRUE(launcher.wait_for("cmd=abort exitcode=42"));
  waiter.join();
  boot->abort({43, "a second abort is silent"});
  EXPECT_EQ(boot->finalize(), Status::ok);  // and sends nothing any more
  auto lines = launcher.heard();
  EXPECT_EQ(std::count_if(lines.begin(), lines.end(), [](auto& l) { return field(l, "cmd") == "abort"; }), 1);
}

TEST(Pmi1, nothing_is_sent_after_finalize) {
  FakeLauncher launcher;
  auto boot = start(launcher, 0, 1);
  ASSERT_NE(boot, nullptr);
  EXPECT_EQ(boot->finalize(), Status::ok);
  EXPECT_EQ(boot->finalize(), Status::ok);
  boot->abort({1, "late"});
  boot.reset();
  EXPECT_EQ(launcher.heard().back(), "cmd=finalize");
}

TEST(Pmi1, a_second_start_on_the_same_connection_is_refused) {
  FakeLauncher launcher;
  auto boot = start(launcher, 0, 1);
  ASSERT_NE(boot, nullptr);
  EXPECT_EQ(boot->finalize(), Status::ok);
  boot.reset();
  std::string why;
  EXPECT_EQ(start(launcher, 0, 1, &why), nullptr);
  EXPECT_NE(why.find("once per process"), std::string::npos) << why;
}

// A launcher at a TCP port, for one scripted connection.
class Listener {
 public:
  explicit Listener(std::vector<std::pair<std::string, std::string>> script) {
    fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    if (::bind(fd_, reinterpret_cast<sockaddr*>(&address), length) != 0 || ::listen(fd_, 1) != 0)
      std::abort();
    ::getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &length);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread{[this, script = std::move(script)] { converse(script); }};
  }
  ~Listener() {
    ::shutdown(fd_, SHUT_RDWR);
    thread_.join();
    ::close(fd_);
  }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

 private:
  void converse(const std::vector<std::pair<std::string, std::string>>& script) {
    int peer = ::accept(fd_, nullptr, nullptr);
    if (peer < 0) return;
    for (const auto& [expected, reply] : script) {
      std::string line;
      char c = 0;
      while (::recv(peer, &c, 1, 0) == 1 && c != '\n') line += c;
      if (line != expected) break;
      ::send(peer, reply.data(), reply.size(), MSG_NOSIGNAL);
    }
    ::close(peer);
  }

  int fd_;
  int port_;
  std::thread thread_;
};

TEST(Pmi1Port, rank_and_size_come_from_the_launcher) {
  Listener launcher{
      {{"cmd=initack pmiid=6", "cmd=initack\ncmd=set size=9\ncmd=set rank=8\ncmd=set debug=0\n"},
       {"cmd=init pmi_version=1 pmi_subversion=1", "cmd=response_to_init rc=0\n"},
       {"cmd=get_maxes", "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024\n"},
       {"cmd=get_my_kvsname", "cmd=my_kvsname kvsname=k\n"},
       {"cmd=get_appnum", "cmd=appnum appnum=0\n"},
       {"cmd=get_universe_size", "cmd=universe_size size=12\n"},
       {"cmd=get kvsname=k key=PMI_process_mapping", "cmd=get_result rc=0 value=(vector,(0,3,3))\n"},
       {"cmd=finalize", "cmd=finalize_ack\n"}}};
  std::string why;
  auto boot = open(Environment{{"PMI_PORT=" + launcher.address(), "PMI_ID=6"}}.get(), why);
  ASSERT_NE(boot, nullptr) << why;
  EXPECT_EQ(boot->rank(), 8);
  EXPECT_EQ(boot->size(), 9);
  EXPECT_EQ(boot->universe_size(), 12);
  EXPECT_EQ(local(*boot), std::vector<int>({6, 7, 8}));
  EXPECT_EQ(boot->finalize(), Status::ok);
}

TEST(Pmi1Port, a_rank_outside_the_job_is_refused) {
  Listener launcher{
      {{"cmd=initack pmiid=0", "cmd=initack\ncmd=set size=2\ncmd=set rank=2\ncmd=set debug=0\n"}}};
  std::string why;
  EXPECT_EQ(open(Environment{{"PMI_PORT=" + launcher.address(), "PMI_ID=0"}}.get(), why), nullptr);
  EXPECT_NE(why.find("rank"), std::string::npos) << why;
}

}  // namespace
}  // namespace herald::boot
