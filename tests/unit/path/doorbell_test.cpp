// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: a rank in another network namespace cannot wake a consumer that sleeps on sockets; a
// failed ring leaves the consumer asleep with the flag cleared; somebody else's file is written to; another
// user can ring; a writer gets SIGPIPE
// when the reader has died.
#include "path/doorbell.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <string>

#include "path/shm/shm.hpp"

namespace herald::path {
namespace {

bool is_readable(int fd, int timeout_ms) {
  pollfd wait{fd, POLLIN, 0};
  return poll(&wait, 1, timeout_ms) == 1;
}

// Two ranks of one host, in a job with a third rank elsewhere: they sleep on sockets.
class Bells : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/dev/shm/herald-test-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder = name;
  }
  void TearDown() override { ASSERT_EQ(std::system(("rm -rf " + folder).c_str()), 0); }
  std::unique_ptr<ShmPath> open(int rank, int size = 3) const {
    ShmConfig config;
    config.directory = folder;
    config.rank = rank;
    config.size = size;
    config.nonce = 0x7700000000000000u + static_cast<unsigned>(rank);
    std::string why;
    auto shm = ShmPath::open(config, why);
    EXPECT_TRUE(shm) << why;
    return shm;
  }
  static std::vector<std::string> cards(const ShmPath& first, const ShmPath& second) {
    Card remote;
    EXPECT_TRUE(read_card(first.card(), remote));
    remote.host_id += "x";
    return {first.card(), second.card(), write_card(remote)};
  }
  std::string folder;
};

}  // namespace

TEST_F(Bells, a_peer_in_another_network_namespace_wakes_a_consumer_that_polls) {
  auto consumer = open(0), producer = open(1);
  const auto all = cards(*consumer, *producer);
  std::string why;
  ASSERT_TRUE(consumer->attach_all(all, why)) << why;
  Doorbell& bell = consumer->own().bell();
  ASSERT_GE(bell.descriptor(), 0);
  (void)bell.before_sleep(Doorbell::kOnDescriptor);
  EXPECT_FALSE(is_readable(bell.descriptor(), 0));
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    if (unshare(CLONE_NEWNET) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) _exit(77);
    std::string reason;
    if (!producer->attach_all(all, reason)) _exit(1);
    producer->peer(0)->bell().ring_if_asleep();
    _exit(0);
  }
  EXPECT_TRUE(is_readable(bell.descriptor(), 10'000));
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77) GTEST_SKIP() << "no network namespace is allowed here";
  EXPECT_EQ(status, 0);
  bell.drain();
  EXPECT_FALSE(is_readable(bell.descriptor(), 0));
}

TEST_F(Bells, a_ring_for_a_dead_consumer_is_harmless) {
  auto consumer = open(0), producer = open(1);
  const auto all = cards(*consumer, *producer);
  std::string why;
  ASSERT_TRUE(producer->attach_all(all, why)) << why;
  Doorbell& bell = producer->peer(0)->bell();
  consumer.reset();
  for (int i = 0; i < 20'000; ++i) {  // more than a FIFO holds
    bell.mark_sleeping(Doorbell::kOnDescriptor);
    bell.ring();
  }
  SUCCEED();
}

TEST_F(Bells, only_this_user_can_open_the_fifo_and_it_has_no_name_when_all_have_attached) {
  auto first = open(0), second = open(1);
  const auto all = cards(*first, *second);
  struct stat info {};
  const std::string path = first->own_path() + "-bell";
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_TRUE(S_ISFIFO(info.st_mode));
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  std::string why;
  ASSERT_TRUE(first->attach_all(all, why) && second->attach_all(all, why)) << why;
  EXPECT_NE(stat(path.c_str(), &info), 0);
  EXPECT_EQ(rmdir(folder.c_str()), 0);
}

// A job on one host needs no descriptors at first; then one of its processes meets another job.
TEST_F(Bells, a_consumer_that_begins_to_sleep_on_sockets_is_found) {
  auto consumer = open(0, 2), producer = open(1, 2);
  const std::vector<std::string> all = {consumer->card(), producer->card()};
  std::string why;
  ASSERT_TRUE(consumer->attach_all(all, why) && producer->attach_all(all, why)) << why;
  Doorbell &own = consumer->own().bell(), &theirs = producer->peer(0)->bell();
  EXPECT_LT(theirs.descriptor(), 0);
  (void)own.before_sleep(Doorbell::kOnDescriptor);
  theirs.ring_if_asleep();
  EXPECT_TRUE(is_readable(own.descriptor(), 0));
  EXPECT_FALSE(own.is_missed());
}

// Such as in another pid namespace, where the number of the process names another one.
TEST(Doorbell, a_descriptor_of_another_file_is_not_rung) {
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  DoorbellWords words{};
  Doorbell consumer(words), producer(words);
  consumer.publish_descriptor(pipe_ends[1]);
  words.inode += 1;
  (void)consumer.before_sleep(Doorbell::kOnDescriptor);
  producer.ring_if_asleep();
  EXPECT_FALSE(is_readable(pipe_ends[0], 0));
  EXPECT_TRUE(consumer.is_missed());
  close(pipe_ends[0]);
  close(pipe_ends[1]);
}

// The next producer rings again, instead of taking the consumer for awake.
TEST(Doorbell, a_failed_ring_leaves_the_flag_to_the_next_producer) {
  LocalDoorbell bell;
  (void)bell.before_sleep(Doorbell::kOnDescriptor);
  bell.ring_if_asleep();  // there is no descriptor
  BellEvent event;
  ASSERT_TRUE(event.open(bell));
  bell.ring_if_asleep();
  EXPECT_TRUE(is_readable(bell.descriptor(), 0));
  bell.drain();
  EXPECT_FALSE(is_readable(bell.descriptor(), 0));
  bell.ring_if_asleep();
  EXPECT_FALSE(is_readable(bell.descriptor(), 0));  // no sleeper
}

}  // namespace herald::path
