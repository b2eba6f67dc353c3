// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: bytes end up in the wrong place when runs of the two sides are cut differently, or are
// more than one system call takes; a process that is gone, or memory that is not there, is taken for a
// success; another process that has got the number of the one we know is let through.
#include "path/shm/cma.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <vector>

using namespace herald;
using namespace herald::path;

namespace {

// A child that waits until it is killed, with a copy of our memory.
class Child {
 public:
  Child() : pid_(::fork()) {
    if (pid_ != 0) return;
    for (;;) ::pause();
  }
  ~Child() { end(); }
  void end() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    gone_ = pid_;
    pid_ = 0;
  }
  pid_t pid() const { return pid_ > 0 ? pid_ : gone_; }

 private:
  pid_t pid_, gone_ = 0;
};

std::vector<iovec> cut(unsigned char* data, std::size_t bytes, std::size_t piece, std::size_t gap) {
  std::vector<iovec> runs;
  for (std::size_t at = 0, left = bytes; left != 0; at += piece + gap) {
    const std::size_t part = std::min(piece, left);
    runs.push_back({data + at, part});
    left -= part;
  }
  return runs;
}

constexpr std::size_t kBytes = 100'000;

}  // namespace

TEST(Cma, runs_cut_differently_on_the_two_sides_arrive) {
  std::vector<unsigned char> there(4 * kBytes), here(4 * kBytes), back(4 * kBytes);
  for (std::size_t i = 0; i < there.size(); ++i) there[i] = static_cast<unsigned char>(i * 7 + i / 256);
  allow_cma();
  Child child;
  const auto far = cut(there.data(), kBytes, 333, 21), near = cut(here.data(), kBytes, 700, 5);
  const Status status = read_cma(child.pid(), near, far);
  if (status == Status::unsupported) GTEST_SKIP() << "the kernel does not allow it here";
  ASSERT_EQ(status, Status::ok);
  std::size_t at = 0, inside = 0;
  for (const iovec& run : near)
    for (std::size_t i = 0; i < run.iov_len; ++i) {
      ASSERT_EQ(static_cast<unsigned char*>(run.iov_base)[i],
                static_cast<unsigned char*>(far[at].iov_base)[inside]);
      if (++inside == far[at].iov_len) ++at, inside = 0;
    }
  const auto other = cut(back.data(), kBytes, 50'000, 64);
  ASSERT_EQ(write_cma(child.pid(), near, other), Status::ok);
  std::vector<unsigned char> again(4 * kBytes);
  ASSERT_EQ(read_cma(child.pid(), cut(again.data(), kBytes, 50'000, 64), other), Status::ok);
  EXPECT_EQ(again[0], here[0]);
  EXPECT_EQ(again[50'000 + 64], static_cast<unsigned char*>(near[50'000 / 700].iov_base)[50'000 % 700]);
}

TEST(Cma, what_is_not_there_is_said) {
  std::vector<unsigned char> here(8192);
  Child child;
  void* page = ::mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const iovec near{here.data(), 4096}, nowhere{page, 4096};
  EXPECT_EQ(read_cma(child.pid(), {&near, 1}, {&nowhere, 1}), Status::unsupported);
  ::munmap(page, 4096);
  const iovec there{here.data(), 4096};
  child.end();
  EXPECT_EQ(read_cma(child.pid(), {&near, 1}, {&there, 1}), Status::peer_lost);
  EXPECT_EQ(write_cma(child.pid(), {&near, 1}, {&there, 1}), Status::peer_lost);
}

TEST(Cma, the_probe_knows_who_it_is) {
  static std::uint64_t nonce = 0x1234567890;
  Child child;
  const auto address = reinterpret_cast<std::uintptr_t>(&nonce);
  if (!probe_cma(child.pid(), address, nonce)) GTEST_SKIP() << "the kernel does not allow it here";
  EXPECT_FALSE(probe_cma(child.pid(), address, nonce + 1));
  EXPECT_FALSE(probe_cma(child.pid(), 8, nonce));
  child.end();
  EXPECT_FALSE(probe_cma(child.pid(), address, nonce));
}
