// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: jobs overtake each other, run twice or not at all; a thread outlives its owner.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "path/file/file_thread.hpp"

namespace herald::path {
namespace {

std::atomic<int> notices{0};

class Number final : public FileJob {
 public:
  Number(int number, std::vector<int>& out) : number_(number), out_(out) {}
  void run() noexcept override { out_.push_back(number_); }

 private:
  const int number_;
  std::vector<int>& out_;
};

TEST(FileThread, jobs_run_once_in_order_and_the_owner_is_told) {
  notices = 0;
  std::vector<int> out;
  std::vector<std::unique_ptr<Number>> jobs;
  {
    FileThread thread;
    thread.set_notice([]() noexcept { ++notices; });
    for (int i = 0; i < 100; ++i) {
      jobs.push_back(std::make_unique<Number>(i, out));
      EXPECT_TRUE(jobs.back()->is_done());  // nobody waits for one that was not started
      thread.start(*jobs.back());
    }
    thread.wait(*jobs[49]);
    EXPECT_TRUE(jobs[49]->is_done());
  }
  ASSERT_EQ(out.size(), 100u);  // the destructor waits for all
  for (int i = 0; i < 100; ++i) EXPECT_EQ(out[static_cast<std::size_t>(i)], i);
  EXPECT_EQ(notices, 100);
}

TEST(FileThread, a_job_can_be_started_again) {
  std::vector<int> out;
  FileThread thread;
  Number job(7, out);
  for (int i = 0; i < 3; ++i) {
    thread.start(job);
    thread.wait(job);
  }
  EXPECT_EQ(out, (std::vector<int>{7, 7, 7}));
}

TEST(FileThread, one_that_was_never_used_ends) { const FileThread thread; }

}  // namespace
}  // namespace herald::path
