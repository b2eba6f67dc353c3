// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: bytes end up in the wrong place when the runs of the two sides differ, or are more
// than one system call takes; a dead process or unmapped memory counts as a success; another process that has
// got the pid of the peer passes the probe.
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

// A child with a copy of our memory, which waits until it is killed.
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

Cma cma() { return *Cma::open(true); }

}  // namespace

TEST(Cma, runs_of_different_lengths_on_the_two_sides_are_copied) {
  std::vector<unsigned char> there(4 * kBytes), here(4 * kBytes), back(4 * kBytes);
  for (std::size_t i = 0; i < there.size(); ++i) there[i] = static_cast<unsigned char>(i * 7 + i / 256);
  (void)cma();  // before the fork: the child inherits the permission
  Child child;
  const auto far = cut(there.data(), kBytes, 333, 21), near = cut(here.data(), kBytes, 700, 5);
  const Status status = cma().read(child.pid(), near, far);
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
  ASSERT_EQ(cma().write(child.pid(), near, other), Status::ok);
  std::vector<unsigned char> again(4 * kBytes);
  ASSERT_EQ(cma().read(child.pid(), cut(again.data(), kBytes, 50'000, 64), other), Status::ok);
  EXPECT_EQ(again[0], here[0]);
  EXPECT_EQ(again[50'000 + 64], static_cast<unsigned char*>(near[50'000 / 700].iov_base)[50'000 % 700]);
}

TEST(Cma, unmapped_memory_and_dead_processes_are_reported) {
  std::vector<unsigned char> here(8192);
  Child child;
  void* page = ::mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const iovec near{here.data(), 4096}, nowhere{page, 4096};
  EXPECT_EQ(cma().read(child.pid(), {&near, 1}, {&nowhere, 1}), Status::unsupported);
  ::munmap(page, 4096);
  const iovec there{here.data(), 4096};
  child.end();
  EXPECT_EQ(cma().read(child.pid(), {&near, 1}, {&there, 1}), Status::peer_lost);
  EXPECT_EQ(cma().write(child.pid(), {&near, 1}, {&there, 1}), Status::peer_lost);
}

TEST(Cma, the_probe_detects_another_process) {
  static std::uint64_t nonce = 0x1234567890;
  Child child;
  const auto address = reinterpret_cast<std::uintptr_t>(&nonce);
  if (!cma().probe(child.pid(), address, nonce)) GTEST_SKIP() << "the kernel does not allow it here";
  EXPECT_FALSE(cma().probe(child.pid(), address, nonce + 1));
  EXPECT_FALSE(cma().probe(child.pid(), 8, nonce));
  child.end();
  EXPECT_FALSE(cma().probe(child.pid(), address, nonce));
}

TEST(Cma, does_not_exist_where_it_is_not_allowed) {
  EXPECT_FALSE(Cma::open(false));
  EXPECT_TRUE(Cma::open(true));
}

TEST(Cma, more_runs_than_one_system_call_takes) {
  std::vector<char> from(200), to(300, 'x');
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<char>(i);
  std::vector<iovec> runs;
  for (std::size_t i = 0; i < 100; ++i) runs.push_back({&to[3 * i], 2});
  const iovec there{from.data(), from.size()}, nowhere{reinterpret_cast<void*>(8), 2};
  if (cma().read(::getpid(), runs, {&there, 1}) != Status::ok)
    GTEST_SKIP() << "the kernel does not allow it here";
  for (std::size_t i = 0; i < 100; ++i) {
    EXPECT_EQ(to[3 * i], from[2 * i]);
    EXPECT_EQ(to[3 * i + 1], from[2 * i + 1]);
    EXPECT_EQ(to[3 * i + 2], 'x');
  }
  EXPECT_NE(cma().read(::getpid(), {runs.data(), 1}, {&nowhere, 1}), Status::ok);
}
