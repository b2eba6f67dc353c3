// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: a foreign or damaged segment, or one of another version, is used; a full file system
// ends in SIGBUS; files of killed jobs accumulate, or the file of a live job is removed; a name stays after
// all have attached.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <vector>

#include "path/shm/shm.hpp"
#include "tests/unit/effort.hpp"

using namespace herald;
using namespace herald::path;

namespace {

// A private folder in /dev/shm, removed at the end.
class ShmFolder : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/dev/shm/herald-test-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder = name;
  }
  void TearDown() override { ASSERT_EQ(std::system(("rm -rf " + folder).c_str()), 0); }
  ShmConfig config(int rank, int size) const {
    ShmConfig c;
    c.directory = folder;
    c.job = "te/st";
    c.rank = rank;
    c.size = size;
    c.cells = 8;
    c.nonce = 0x1234567800000000u + static_cast<unsigned>(rank);
    return c;
  }
  std::vector<std::unique_ptr<ShmPath>> open_all(int size) {
    std::vector<std::unique_ptr<ShmPath>> all;
    std::string why;
    for (int rank = 0; rank < size; ++rank) all.push_back(ShmPath::open(config(rank, size), why));
    return all;
  }
  static std::vector<std::string> cards_of(const std::vector<std::unique_ptr<ShmPath>>& all) {
    std::vector<std::string> cards;
    for (const auto& each : all) cards.push_back(each->card());
    return cards;
  }
  int files() const {
    FILE* list = popen(("ls " + folder + " | wc -l").c_str(), "r");
    int count = -1;
    if (fscanf(list, "%d", &count) != 1) count = -1;
    pclose(list);
    return count;
  }
  std::string file_of(int rank, const std::string& card) const {
    Card read;
    EXPECT_TRUE(read_card(card, read)) << rank;
    return folder + "/" + read.file;
  }
  std::string folder;
};

}  // namespace

TEST_F(ShmFolder, all_attach_and_the_names_are_gone) {
  auto all = open_all(3);
  const auto cards = cards_of(all);
  EXPECT_EQ(files(), 6);  // a segment and a FIFO each
  std::string why;
  for (auto& each : all) EXPECT_TRUE(each->attach_all(cards, why)) << why;
  EXPECT_EQ(files(), 0);
  Inbox& to = *all[0]->peer(2);
  std::uint64_t position = 0;
  Cell* cell = to.claim(position);
  ASSERT_NE(cell, nullptr);
  to.publish(*cell, position, 0, 5);
  ASSERT_NE(all[2]->own().front(), nullptr);
  EXPECT_EQ(all[2]->own().front()->size, 5u);
  EXPECT_EQ(all[0]->peer(0), nullptr);
}

TEST_F(ShmFolder, rings_go_to_the_first_peers_that_request_one) {
  std::vector<std::unique_ptr<ShmPath>> all;
  std::string why;
  for (int rank = 0; rank < 4; ++rank) {
    ShmConfig c = config(rank, 4);
    c.rings = 2;
    all.push_back(ShmPath::open(c, why));
  }
  const auto cards = cards_of(all);
  for (auto& each : all) ASSERT_TRUE(each->attach_all(cards, why)) << why;
  for (int rank = 1; rank < 4; ++rank) {
    RingWriter writer;
    std::uint32_t index = 0;
    ASSERT_EQ(all[static_cast<std::size_t>(rank)]->take_ring(0, writer, index), rank < 3);
    if (rank == 3) continue;
    EXPECT_EQ(index, static_cast<std::uint32_t>(rank - 1));
    EXPECT_TRUE(all[0]->has_ring(index));
    writer.claim()[0] = static_cast<std::byte>(rank);
    writer.publish(1);
    RingReader reader = all[0]->ring(index);
    ASSERT_EQ(reader.front().size(), 1u);
    EXPECT_EQ(reader.front()[0], static_cast<std::byte>(rank));
  }
  EXPECT_FALSE(all[0]->has_ring(2));
}

// Page faults would slow down the first messages.
TEST_F(ShmFolder, a_ring_is_filled_and_read_without_page_faults) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer's own memory has faults";
  alignas(4096) std::byte page[4096];
  if (madvise(page, sizeof page, MADV_POPULATE_WRITE) != 0) GTEST_SKIP() << "wants Linux 5.14";
  auto all = open_all(2);
  const auto cards = cards_of(all);
  std::string why;
  for (auto& each : all) ASSERT_TRUE(each->attach_all(cards, why)) << why;
  RingWriter writer;
  std::uint32_t index = 0;
  ASSERT_TRUE(all[1]->take_ring(0, writer, index));
  RingReader reader = all[0]->ring(index);
  rusage before{}, after{};
  getrusage(RUSAGE_THREAD, &before);
  constexpr std::uint32_t kPacket = 100;
  std::size_t bytes = 0;
  for (std::byte* room = writer.claim(); room != nullptr; room = writer.claim()) {
    std::memset(room, 1, kPacket);
    writer.publish(kPacket);
  }
  for (; !reader.is_empty(); (void)reader.pop()) bytes += reader.front().size();
  getrusage(RUSAGE_THREAD, &after);
  EXPECT_GE(bytes, 24u * 4096);
  EXPECT_LT(after.ru_minflt - before.ru_minflt, 8) << bytes / 4096 << " pages";
}

// 64 ranks of a host with the default settings.
TEST_F(ShmFolder, memory_for_64_ranks_stays_under_64_MiB) {
  ShmConfig c;
  c.directory = folder;
  c.size = 64;
  std::string why;
  const auto one = ShmPath::open(c, why);
  ASSERT_NE(one, nullptr) << why;
  struct stat info {};
  ASSERT_EQ(stat(one->own_path().c_str(), &info), 0);
  EXPECT_LT(info.st_size * 64, off_t{64} << 20);
}

TEST_F(ShmFolder, a_limit_on_the_segment_is_kept_down_to_eight_cells) {
  const auto bytes = [&](std::uint64_t most) {
    ShmConfig c = config(0, 4);
    c.cells = 128;
    c.packet_bytes = 4136;
    c.rings = 8;
    c.most_bytes = most;
    std::string why;
    const auto one = ShmPath::open(c, why);
    struct stat info {};
    if (one == nullptr || stat(one->own_path().c_str(), &info) != 0) return off_t{-1};
    return info.st_size;
  };
  const off_t usual = bytes(0);
  EXPECT_EQ(bytes(usual), usual);
  EXPECT_EQ(bytes(std::uint64_t{1} << 30), usual);
  for (const std::uint64_t most : {usual - 1, off_t{200000}, off_t{50000}}) {
    EXPECT_LE(bytes(most), static_cast<off_t>(most));
    EXPECT_GT(bytes(most), static_cast<off_t>(most / 4));
  }
  EXPECT_GT(bytes(1), 8 * 4136);
  EXPECT_LT(bytes(1), 50000);
}

TEST_F(ShmFolder, ranks_with_different_host_names_do_not_share_memory) {
  std::vector<std::unique_ptr<ShmPath>> all;
  std::vector<std::string> cards;
  for (const int rank : {0, 1, 2, 3}) {
    ShmConfig c = config(rank, 4);
    c.host = rank == 3 ? "" : rank == 1 ? "a host" : "another";
    std::string why;
    all.push_back(ShmPath::open(c, why));
    ASSERT_NE(all.back(), nullptr) << why;
    cards.push_back(all.back()->card());
  }
  for (int rank = 0; rank < 4; ++rank) {
    std::string why;
    ASSERT_TRUE(all[static_cast<std::size_t>(rank)]->attach_all(cards, why)) << why;
    for (int peer = 0; peer < 4; ++peer)
      EXPECT_EQ(all[static_cast<std::size_t>(rank)]->is_attached(peer), rank + peer == 2 && rank != peer)
          << rank << " " << peer;
    EXPECT_EQ(all[static_cast<std::size_t>(rank)]->first_on_host_of(2), 0);
  }
}

TEST_F(ShmFolder, close_and_emergency_cleanup_remove_the_names) {
  auto all = open_all(2);
  all[0]->unlink_own();
  EXPECT_EQ(files(), 2);
  all[1]->close();
  EXPECT_EQ(files(), 0);
}

TEST_F(ShmFolder, damaged_and_foreign_segments_are_refused) {
  struct Damage {
    std::size_t at;
    std::uint32_t value;
    const char* says;
  };
  const Damage damages[] = {{offsetof(SegmentHeader, magic), 0, "begin"},
                            {offsetof(SegmentHeader, version), 99, "version"},
                            {offsetof(SegmentHeader, header_bytes), 64, "version"},
                            {offsetof(SegmentHeader, nonce), 54321, "another process"},
                            {offsetof(SegmentHeader, rank), 7, "another process"},
                            {offsetof(SegmentHeader, cells), 1u << 31, "sizes"},
                            {offsetof(SegmentHeader, cells), 16, "sizes"},
                            {offsetof(SegmentHeader, cell_bytes), 63, "sizes"},
                            {offsetof(SegmentHeader, producers), 0, "sizes"},
                            {offsetof(SegmentHeader, producers), 100000, "sizes"},
                            {offsetof(SegmentHeader, rings), 7, "sizes"},
                            {offsetof(SegmentHeader, rings), 1u << 31, "sizes"},
                            {offsetof(SegmentHeader, ring_lines), 64, "sizes"},
                            {offsetof(SegmentHeader, ring_packet_bytes), 1u << 30, "sizes"},
                            {offsetof(SegmentHeader, total_bytes), 1, "sizes"}};
  for (const Damage& damage : damages) {
    auto all = open_all(2);
    const auto cards = cards_of(all);
    const int fd = open(file_of(1, cards[1]).c_str(), O_RDWR);
    ASSERT_GE(fd, 0);
    ASSERT_EQ(pwrite(fd, &damage.value, sizeof damage.value, static_cast<off_t>(damage.at)), 4);
    close(fd);
    std::string why;
    EXPECT_FALSE(all[0]->attach_all(cards, why)) << damage.at;
    EXPECT_NE(why.find(damage.says), std::string::npos) << why;
    EXPECT_NE(why.find("rank 1"), std::string::npos) << why;
  }
}

TEST_F(ShmFolder, a_truncated_or_missing_file_is_refused) {
  auto all = open_all(2);
  auto cards = cards_of(all);
  Card card;
  ASSERT_TRUE(read_card(cards[1], card));
  const std::string whole = folder + "/" + card.file;
  card.file = "herald-copy";
  const std::string copy = folder + "/" + card.file;
  cards[1] = write_card(card);
  ASSERT_EQ(std::system(("cp " + whole + " " + copy).c_str()), 0);
  std::string why;
  for (off_t bytes : {1000, 100, 0}) {
    ASSERT_EQ(truncate(copy.c_str(), bytes), 0);
    EXPECT_FALSE(all[0]->attach_all(cards, why)) << bytes;
  }
  ASSERT_EQ(unlink(copy.c_str()), 0);
  EXPECT_FALSE(all[0]->attach_all(cards, why));
  EXPECT_NE(why.find("No such file"), std::string::npos) << why;
}

TEST_F(ShmFolder, a_peer_on_another_host_is_left_to_other_paths) {
  auto all = open_all(3);
  auto cards = cards_of(all);
  Card card;
  ASSERT_TRUE(read_card(cards[1], card));
  card.hostname = "faraway";
  card.host_id = card.machine + "/999999";
  cards[1] = write_card(card);
  std::string why;
  ASSERT_TRUE(all[0]->attach_all(cards, why)) << why;
  EXPECT_FALSE(all[0]->is_attached(1));
  EXPECT_EQ(all[0]->peer(1), nullptr);
  EXPECT_TRUE(all[0]->is_attached(2));
  EXPECT_FALSE(all[0]->is_one_host());
  EXPECT_FALSE(all[0]->all_attached());
  ASSERT_TRUE(all[2]->attach_all(cards, why)) << why;
  EXPECT_TRUE(all[0]->all_attached());  // the remote rank does not count
}

// No peer removes its names, so a killed job would leave them.
TEST_F(ShmFolder, a_rank_alone_on_its_host_keeps_no_name) {
  auto all = open_all(2);
  auto cards = cards_of(all);
  Card card;
  ASSERT_TRUE(read_card(cards[1], card));
  card.host_id += "x";
  cards[1] = write_card(card);
  all[1].reset();
  std::string why;
  ASSERT_TRUE(all[0]->attach_all(cards, why)) << why;
  EXPECT_EQ(files(), 0);
}

TEST(ShmCard, malformed_text_is_not_a_card) {
  Card card;
  for (const char* text :
       {"", "shm1", "shm1 a b c", "shm2 h m herald-1 0123456789abcdef x",
        "shm1 h m ../etc/passwd 0123456789abcdef x", "shm1 h m herald-../x 0123456789abcdef x",
        "shm1 h m herald-1 0123456789abcdeg x", "shm1 h m herald-1 0123 x",
        "shm1 h m herald-1 0123456789abcdef", "shm1  h m herald-1 0123456789abcdef x"})
    EXPECT_FALSE(read_card(text, card)) << text;
  EXPECT_TRUE(read_card("shm1 h m herald-1 0123456789abcdef x", card));
  EXPECT_EQ(card.nonce, 0x0123456789abcdefu);
}

TEST_F(ShmFolder, too_little_space_is_an_error_with_sizes_and_a_remedy) {
  ShmConfig c = config(0, 2);
  c.cells = 65536;
  c.packet_bytes = 1 << 20;  // 64 GiB
  c.rings = 0;
  std::string why;
  EXPECT_EQ(ShmPath::open(c, why), nullptr);
  EXPECT_NE(why.find("wants 6872"), std::string::npos) << why;
  EXPECT_NE(why.find("are there"), std::string::npos) << why;
  EXPECT_NE(why.find("HERALD_SHM_INBOX_BYTES"), std::string::npos) << why;
  EXPECT_EQ(files(), 0);
}

// The same on a small tmpfs, where mounting is permitted.
TEST_F(ShmFolder, a_small_file_system_that_fills_up) {
  const pid_t pid = fork();
  ASSERT_GE(pid, 0);
  if (pid == 0) {
    if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) _exit(77);
    if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) _exit(77);
    if (mount("tmpfs", folder.c_str(), "tmpfs", 0, "size=1402k") != 0) _exit(77);
    std::string why;
    auto first = ShmPath::open(config(0, 4), why);
    auto second = ShmPath::open(config(1, 4), why);
    auto third = ShmPath::open(config(2, 4), why);
    auto fourth = ShmPath::open(config(3, 4), why);
    if (!first || !second || !third) _exit(1);
    if (fourth || why.find("are there") == std::string::npos) _exit(2);
    _exit(0);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77) GTEST_SKIP() << "no file system may be mounted here";
  EXPECT_EQ(status, 0);
}

TEST_F(ShmFolder, files_of_a_killed_job_are_removed_and_those_of_a_live_job_are_not) {
  const pid_t pid = fork();
  ASSERT_GE(pid, 0);
  if (pid == 0) {
    std::string why;
    auto left = ShmPath::open(config(0, 2), why);
    kill(getpid(), SIGKILL);
  }
  waitpid(pid, nullptr, 0);
  EXPECT_EQ(files(), 2);
  const std::string strange = folder + "/herald-" + std::to_string(geteuid() + 1) + "-x-0-1";
  const std::string other = folder + "/somebody-elses";
  for (const std::string& path : {strange, other}) close(open(path.c_str(), O_CREAT | O_RDWR, 0600));
  std::string why;
  auto living = ShmPath::open(config(1, 2), why);
  ASSERT_TRUE(living) << why;
  EXPECT_EQ(files(), 4);  // the foreign ones, and segment and FIFO of the living owner
  EXPECT_EQ(remove_stale_segments(folder, geteuid()), 0);
  EXPECT_EQ(files(), 4);
}

TEST_F(ShmFolder, a_dead_owner_is_detected) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t pid = fork();
  ASSERT_GE(pid, 0);
  if (pid == 0) {
    std::string why;
    auto owner = ShmPath::open(config(1, 2), why);
    const std::string card = owner->card();
    if (write(ready[1], card.data(), card.size()) < 0) _exit(1);
    pause();
  }
  char text[512] = {};
  ASSERT_GT(read(ready[0], text, sizeof text - 1), 0);
  std::string why;
  auto mine = ShmPath::open(config(0, 2), why);
  const std::vector<std::string> cards{mine->card(), text};
  ASSERT_TRUE(mine->attach_all(cards, why)) << why;
  EXPECT_TRUE(mine->is_alive(1));
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
  EXPECT_FALSE(mine->is_alive(1));
  close(ready[0]);
  close(ready[1]);
}
