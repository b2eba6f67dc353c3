// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: in a program that closed descriptors 0 to 2, a socket or a file of the library gets
// one of them and receives what the program prints; a program that this one starts inherits a descriptor.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "path/mcast/mcast.hpp"
#include "path/shm/coll_segment.hpp"
#include "path/shm/region.hpp"
#include "path/shm/shm.hpp"
#include "path/udp/udp.hpp"
#include "path/watch.hpp"

namespace herald::path {
namespace {

bool is_open(int fd) { return fcntl(fd, F_GETFD) >= 0; }

// 0, or which of the checks failed.
int check_descriptors(const std::vector<bool>& before) {
  for (int fd = 0; fd < 3; ++fd)
    if (is_open(fd)) return 10 + fd;
  int ours = 0;
  for (int fd = 3; fd < static_cast<int>(before.size()); ++fd) {
    if (before[static_cast<std::size_t>(fd)] || !is_open(fd)) continue;
    ++ours;
    if ((fcntl(fd, F_GETFD) & FD_CLOEXEC) == 0) return 20;
  }
  return ours >= 9 ? 0 : 30;
}

int open_everything() {
  std::vector<bool> before;
  for (int fd = 0; fd < 256; ++fd) before.push_back(is_open(fd));
  for (int fd = 0; fd < 3; ++fd) close(fd);
  std::string why;
  ShmConfig config;
  config.size = 2;
  config.nonce = static_cast<std::uint64_t>(getpid());
  auto shm = ShmPath::open(config, why);
  if (!shm) return 1;
  RegionTable table{};
  Regions regions;
  regions.open(&table);
  void* memory = regions.take(4096);
  CollSegment segment;
  if (memory == nullptr || !segment.create(shm->own_path() + "-0", CollSegmentShape::make(2, 1 << 18), 7))
    return 2;
  LocalDoorbell bell;
  BellEvent event;
  Watch watch;
  if (!event.open(bell)) return 3;
  watch.add(bell.descriptor(), 1);
  UdpConfig udp_config;
  udp_config.interfaces = "lo";
  auto udp = UdpPath::open(udp_config, why);
  if (!udp) return 4;
  std::FILE* file = open_file("/proc/self/cmdline", O_RDONLY);
  if (file == nullptr) return 5;
  const int result = check_descriptors(before);
  std::fclose(file);
  segment.close();
  shm->close();
  return result;
}

}  // namespace

TEST(Descriptors, are_above_2_and_closed_on_exec) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) _exit(open_everything());
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(Descriptors, an_error_stays_an_error) {
  errno = EMFILE;
  EXPECT_EQ(safe_fd(-1), -1);
  EXPECT_EQ(errno, EMFILE);
  EXPECT_EQ(open_file("/nowhere/herald", O_RDONLY), nullptr);
  EXPECT_EQ(errno, ENOENT);
}

}  // namespace herald::path
