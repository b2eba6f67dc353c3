// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: a line torn into pieces, several lines in one piece, a signal in the middle, a
// launcher that is dead or silent, a line without end, a full socket when the abort is sent.
#include "boot/line_channel.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <chrono>
#include <thread>

namespace herald::boot {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

class LineChannelTest : public testing::Test {
 protected:
  void SetUp() override {
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    channel_ = std::make_unique<LineChannel>(ends[0]);
    mine_ = ends[0];
    other_ = ends[1];
  }
  void TearDown() override { hang_up(); }

  void say(std::string_view text) {
    ASSERT_EQ(::send(other_, text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
  }
  void hang_up() {
    if (other_ >= 0) ::close(other_);
    other_ = -1;
  }
  std::string hear() {
    char bytes[256];
    ssize_t got = ::recv(other_, bytes, sizeof bytes, 0);
    return got > 0 ? std::string(bytes, static_cast<std::size_t>(got)) : "";
  }
  Status read(int timeout_ms = 5000) { return channel_->read_line(line_, timeout_ms, why_); }

  std::unique_ptr<LineChannel> channel_;
  int mine_ = -1, other_ = -1;
  std::string line_, why_;
};

TEST_F(LineChannelTest, several_lines_in_one_piece_are_read_one_by_one) {
  say("one\ntwo\n\nthr");
  EXPECT_EQ(read(), Status::ok);
  EXPECT_EQ(line_, "one");
  EXPECT_EQ(read(), Status::ok);
  EXPECT_EQ(line_, "two");
  EXPECT_EQ(read(), Status::ok);
  EXPECT_EQ(line_, "");
  say("ee\n");
  EXPECT_EQ(read(), Status::ok);
  EXPECT_EQ(line_, "three");
}

TEST_F(LineChannelTest, a_line_in_single_bytes_is_reassembled) {
  const std::string text = "cmd=get_result rc=0 value=abc";
  std::thread talker{[&] {
    for (char c : text + "\n") {
      say({&c, 1});
      std::this_thread::sleep_for(1ms);
    }
  }};
  EXPECT_EQ(read(), Status::ok);
  talker.join();
  EXPECT_EQ(line_, text);
}

TEST_F(LineChannelTest, a_socket_that_does_not_block_works_as_well) {
  ASSERT_EQ(::fcntl(mine_, F_SETFL, O_NONBLOCK), 0);
  std::thread talker{[&] {
    std::this_thread::sleep_for(20ms);
    say("late\n");
  }};
  EXPECT_EQ(read(), Status::ok);
  talker.join();
  EXPECT_EQ(line_, "late");
}

TEST_F(LineChannelTest, signals_do_not_disturb_reading) {
  struct sigaction quiet {
  }, before{};
  quiet.sa_handler = [](int) {};  // without SA_RESTART: system calls return EINTR
  ASSERT_EQ(::sigaction(SIGUSR1, &quiet, &before), 0);
  pthread_t reader = ::pthread_self();
  std::thread talker{[&] {
    for (int i = 0; i < 50; ++i) {
      ::pthread_kill(reader, SIGUSR1);
      std::this_thread::sleep_for(1ms);
    }
    say("done\n");
  }};
  EXPECT_EQ(read(), Status::ok);
  talker.join();
  ::sigaction(SIGUSR1, &before, nullptr);
  EXPECT_EQ(line_, "done");
}

TEST_F(LineChannelTest, the_end_of_the_connection_is_reported) {
  say("half a line");
  hang_up();
  line_ = "untouched";
  EXPECT_EQ(read(), Status::engine_broken);
  EXPECT_NE(why_.find("closed"), std::string::npos) << why_;
  EXPECT_EQ(line_, "untouched");
  why_.clear();
  EXPECT_EQ(channel_->write_line("hello", why_), Status::engine_broken);  // and no SIGPIPE
  EXPECT_NE(why_.find("closed"), std::string::npos) << why_;
}

TEST_F(LineChannelTest, a_silent_launcher_ends_in_a_timeout) {
  auto start = Clock::now();
  EXPECT_EQ(read(50), Status::engine_broken);
  EXPECT_GE(Clock::now() - start, 45ms);
  EXPECT_NE(why_.find("50 ms"), std::string::npos) << why_;
}

TEST_F(LineChannelTest, a_line_without_end_is_refused) {
  std::thread talker{[&] {
    const std::string junk(1 << 16, 'x');
    while (::send(other_, junk.data(), junk.size(), MSG_NOSIGNAL) > 0) continue;
  }};
  EXPECT_EQ(read(), Status::engine_broken);
  EXPECT_NE(why_.find("no PMI"), std::string::npos) << why_;
  EXPECT_LT(why_.size(), 300u);
  channel_.reset();  // the talker's send fails
  talker.join();
}

TEST_F(LineChannelTest, written_lines_get_their_newline) {
  EXPECT_EQ(channel_->write_line("cmd=init", why_), Status::ok);
  EXPECT_EQ(hear(), "cmd=init\n");
  channel_->write_last_words("cmd=abort exitcode=1\n");
  EXPECT_EQ(hear(), "cmd=abort exitcode=1\n");
}

TEST_F(LineChannelTest, a_line_larger_than_the_socket_buffer_is_sent_completely) {
  const std::string big(1 << 20, 'y');
  std::string got;
  std::thread listener{[&] {
    while (got.size() < big.size() + 1) got += hear();
  }};
  EXPECT_EQ(channel_->write_line(big, why_), Status::ok);
  listener.join();
  EXPECT_EQ(got, big + "\n");
}

TEST_F(LineChannelTest, an_abort_on_a_full_or_dead_socket_does_not_hang) {
  char junk[4096] = {};
  while (::send(mine_, junk, sizeof junk, MSG_DONTWAIT) > 0) continue;
  auto start = Clock::now();
  channel_->write_last_words("cmd=abort exitcode=1\n");
  EXPECT_LT(Clock::now() - start, 2s);
  hang_up();
  channel_->write_last_words("cmd=abort exitcode=1\n");
}

}  // namespace
}  // namespace herald::boot
