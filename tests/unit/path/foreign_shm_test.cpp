// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong with memory that processes of two jobs share: a process attaches other memory than the
// card names, or memory of another user; a ring is given to two writers, or again while one of its ends is
// still used; the rings of jobs that ended are lost; a damaged file is used; a name is left.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <vector>

#include "path/shm/shm.hpp"

using namespace herald;
using namespace herald::path;

namespace {

std::string path_of(const ForeignRings& rings) {
  return "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(rings.descriptor());
}

constexpr std::uint64_t kNonce = 0x1234;

struct Owner {
  ForeignRings rings;
  Owner() { EXPECT_TRUE(rings.create(RingShape::make(16384, 512), kNonce)); }
};

void write(RingWriter& writer, char text) {
  writer.claim()[0] = static_cast<std::byte>(text);
  writer.publish(1);
}

}  // namespace

TEST(ForeignRings, each_writer_gets_a_ring_of_its_own) {
  Owner owner;
  std::vector<ForeignRings> peers(ForeignRings::kRings + 1);
  for (std::uint32_t i = 0; i <= ForeignRings::kRings; ++i) {
    ASSERT_TRUE(peers[i].attach(path_of(owner.rings), kNonce));
    RingWriter writer;
    std::uint32_t index = 99;
    ASSERT_EQ(peers[i].take(writer, index), i < ForeignRings::kRings);
    if (i == ForeignRings::kRings) break;
    EXPECT_EQ(index, i);
    write(writer, 'x');
    EXPECT_EQ(owner.rings.reader(index).front().size(), 1u);
  }
}

TEST(ForeignRings, a_ring_is_used_again_when_both_ends_have_left) {
  Owner owner;
  std::vector<ForeignRings> peers(ForeignRings::kRings);
  std::uint32_t index = 0;
  for (ForeignRings& peer : peers) {
    RingWriter writer;
    ASSERT_TRUE(peer.attach(path_of(owner.rings), kNonce) && peer.take(writer, index));
    write(writer, 'o');
  }
  ForeignRings late;
  RingWriter writer;
  ASSERT_TRUE(late.attach(path_of(owner.rings), kNonce));
  EXPECT_FALSE(late.take(writer, index));
  peers[3].close();
  EXPECT_FALSE(late.take(writer, index)) << "its reader is there";
  owner.rings.on_reader_left(5, false);
  EXPECT_FALSE(late.take(writer, index)) << "its writer is there";
  owner.rings.on_reader_left(3, false);
  ASSERT_TRUE(late.take(writer, index));
  EXPECT_EQ(index, 3u);
  EXPECT_EQ(owner.rings.reader(3).front().data(), nullptr) << "an old packet";
  write(writer, 'n');
  EXPECT_EQ(owner.rings.reader(3).front()[0], static_cast<std::byte>('n'));
}

TEST(ForeignRings, a_dead_writer_does_not_keep_its_ring) {
  Owner owner;
  for (int i = 0; i < 40; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      ForeignRings peer;
      RingWriter writer;
      std::uint32_t index = 0;
      const std::string path =
          "/proc/" + std::to_string(::getppid()) + "/fd/" + std::to_string(owner.rings.descriptor());
      ::_exit(peer.attach(path, kNonce) && peer.take(writer, index) ? static_cast<int>(index) : 99);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_LT(WEXITSTATUS(status), 16);
    owner.rings.on_reader_left(static_cast<std::uint32_t>(WEXITSTATUS(status)), true);
  }
}

TEST(ForeignRings, other_files_are_not_attached) {
  Owner owner;
  ForeignRings peer;
  EXPECT_FALSE(peer.attach(path_of(owner.rings), kNonce + 1));
  EXPECT_FALSE(peer.attach("/proc/self/fd/999", kNonce));
  EXPECT_FALSE(peer.attach("/dev/null", kNonce));
  EXPECT_FALSE(peer.attach("/", kNonce));
  // The same bytes in a file that may shrink, which would be a SIGBUS.
  const int copy = ::memfd_create("copy", MFD_ALLOW_SEALING);
  ASSERT_GE(copy, 0);
  const off_t bytes = ::lseek(owner.rings.descriptor(), 0, SEEK_END);
  ASSERT_EQ(::ftruncate(copy, bytes), 0);
  std::vector<char> head(4096);
  ASSERT_EQ(::pread(owner.rings.descriptor(), head.data(), head.size(), 0), 4096);
  ASSERT_EQ(::pwrite(copy, head.data(), head.size(), 0), 4096);
  const std::string path = "/proc/self/fd/" + std::to_string(copy);
  EXPECT_FALSE(peer.attach(path, kNonce));
  ASSERT_EQ(::fcntl(copy, F_ADD_SEALS, F_SEAL_SHRINK), 0);
  EXPECT_TRUE(peer.attach(path, kNonce));
  peer.close();
  // Magic, nonce, size, lines.
  for (std::size_t at = 0; at < 28; ++at) {
    std::vector<char> damaged = head;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x40);
    ASSERT_EQ(::pwrite(copy, damaged.data(), damaged.size(), 0), 4096);
    EXPECT_FALSE(peer.attach(path, kNonce)) << at;
  }
  ::close(copy);
}

// Two jobs of one process each.
class ForeignShm : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/dev/shm/herald-test-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    folder = name;
    for (int i = 0; i < 2; ++i) {
      ShmConfig config;
      config.directory = folder;
      config.job = "job" + std::to_string(i);
      config.cells = 8;
      config.nonce = 0x1111000000000000u + static_cast<unsigned>(i);
      std::string why;
      jobs[i] = ShmPath::open(config, why);
      ASSERT_NE(jobs[i], nullptr) << why;
      const std::string card = jobs[i]->card();
      ASSERT_TRUE(jobs[i]->attach_all({&card, 1}, why)) << why;
      cards[i] = jobs[i]->foreign_card();
      ASSERT_FALSE(cards[i].empty());
    }
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
  // The card with word `number` (from 0) replaced.
  static std::string changed(const std::string& card, int number, const std::string& word) {
    std::size_t at = 0;
    for (int i = 0; i < number; ++i) at = card.find(',', at) + 1;
    std::string out = card;
    return out.replace(at, std::min(card.find(',', at), card.size()) - at, word);
  }
  std::string folder;
  std::unique_ptr<ShmPath> jobs[2];
  std::string cards[2];
};

TEST_F(ForeignShm, processes_of_two_jobs_write_to_each_other) {
  EXPECT_TRUE(std::filesystem::is_empty(folder)) << "a name is left";
  ASSERT_TRUE(jobs[0]->attach_foreign(4, cards[1]));
  EXPECT_TRUE(jobs[0]->is_attached(4));
  EXPECT_FALSE(jobs[0]->is_attached(3));
  EXPECT_TRUE(jobs[0]->is_alive(4));
  Inbox& inbox = *jobs[0]->peer(4);
  std::uint64_t position = 0;
  Cell* cell = inbox.claim(position);
  ASSERT_NE(cell, nullptr);
  inbox.publish(*cell, position, 7, 5);  // as number 7 of the other one
  ASSERT_NE(jobs[1]->own().front(), nullptr);
  EXPECT_EQ(jobs[1]->own().front()->from, 7);
  RingWriter writer;
  std::uint32_t index = 0;
  ASSERT_TRUE(jobs[0]->take_ring(4, writer, index));
  ASSERT_TRUE(jobs[1]->has_ring(index));
  write(writer, 'r');
  EXPECT_EQ(jobs[1]->ring(index).front().size(), 1u);
  // A process that sleeps on its FIFO is woken by it.
  Doorbell& own = jobs[1]->own().bell();
  (void)own.before_sleep(Doorbell::kOnDescriptor);
  inbox.bell().ring_if_asleep();
  char bytes[16];
  EXPECT_EQ(::read(own.descriptor(), bytes, sizeof bytes), 8);
  jobs[0]->detach_foreign(4, -1);
  EXPECT_FALSE(jobs[0]->is_attached(4));
}

TEST_F(ForeignShm, addresses_of_inboxes_stay_when_others_come) {
  ASSERT_TRUE(jobs[0]->attach_foreign(1, cards[1]));
  Inbox* const first = jobs[0]->peer(1);
  for (int id = 2; id < 300; id += 40) ASSERT_TRUE(jobs[0]->attach_foreign(id, cards[1]));
  EXPECT_EQ(jobs[0]->peer(1), first);
}

TEST_F(ForeignShm, cards_that_do_not_fit_are_refused) {
  const std::string& card = cards[1];
  EXPECT_FALSE(jobs[0]->attach_foreign(1, ""));
  EXPECT_FALSE(jobs[0]->attach_foreign(1, "-"));
  EXPECT_FALSE(jobs[0]->attach_foreign(1, changed(card, 0, "other/host")));
  EXPECT_FALSE(jobs[0]->attach_foreign(1, changed(card, 1, "../../etc")));
  EXPECT_FALSE(jobs[0]->attach_foreign(1, changed(card, 1, "")));
  EXPECT_FALSE(jobs[0]->attach_foreign(1, changed(card, 1, "999999999")));
  EXPECT_FALSE(jobs[0]->attach_foreign(1, changed(card, 2, "0")));
  EXPECT_FALSE(jobs[0]->attach_foreign(1, changed(card, 3, "0")));
  EXPECT_FALSE(jobs[0]->attach_foreign(1, changed(card, 4, "0")));
  EXPECT_FALSE(jobs[0]->attach_foreign(1, changed(card, 5, "1")));
  EXPECT_FALSE(jobs[0]->attach_foreign(1, changed(card, 6, "1111000000000009")));
  EXPECT_FALSE(jobs[0]->attach_foreign(1 << 20, card));
  EXPECT_FALSE(jobs[0]->is_attached(1));
  EXPECT_TRUE(jobs[0]->attach_foreign(1, card));
}

// The kernel refuses the descriptors of other users; the caller then uses the network.
TEST_F(ForeignShm, memory_of_another_user_is_not_attached) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setgid(65534) != 0 || ::setuid(65534) != 0) ::_exit(2);
    ::_exit(jobs[0]->attach_foreign(1, cards[1]) ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}
