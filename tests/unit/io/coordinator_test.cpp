// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: two ranks get the same range of the shared pointer; a lock has two exclusive holders,
// or is never granted; a call of a stranger is followed.
#include "io/coordinator.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <numeric>

#include "tests/unit/p2p/world.hpp"

using namespace herald;
using namespace herald::io;
using herald::test::World;

namespace {

struct Job {
  World world;
  std::vector<std::unique_ptr<Coordinators>> all;
  std::vector<std::unique_ptr<Coordinator>> files;

  explicit Job(bool far, int peers = 3) : world(p2p::CoreConfig{.peers = peers}, far, 300, 1) {
    std::vector<p2p::PeerId> members(static_cast<std::size_t>(peers));
    std::iota(members.begin(), members.end(), 0);
    for (int i = 0; i < peers; ++i) {
      all.push_back(std::make_unique<Coordinators>(world.core(i).services(), [] {}));
      files.push_back(std::make_unique<Coordinator>(*all.back(), 77, members, i));
    }
  }
  Coordinator& file(int rank) { return *files[static_cast<std::size_t>(rank)]; }
};

TEST(Coordinator, ranges_of_the_shared_pointer_are_disjoint) {
  for (const bool far : {false, true}) {
    Job job(far);
    Question questions[3];
    for (int rank = 0; rank < 3; ++rank) job.file(rank).fetch_add(10 + rank, questions[rank]);
    job.world.settle();
    for (const Question& question : questions) ASSERT_TRUE(question.answered);
    EXPECT_EQ(questions[0].value, 0);
    EXPECT_EQ(std::min(questions[1].value, questions[2].value), 10);
    EXPECT_EQ(std::max(questions[1].value, questions[2].value), questions[1].value == 10 ? 21 : 22);
    Question stored, now;
    job.file(2).store(5, stored);
    job.world.settle();
    ASSERT_TRUE(stored.answered);
    job.file(0).fetch_add(0, now);
    EXPECT_TRUE(now.answered && now.value == 5);
  }
}

TEST(Coordinator, an_exclusive_lock_has_one_holder) {
  Job job(true);
  Question first, second, third;
  job.file(1).lock(true, first);
  job.world.settle();
  job.file(0).lock(true, second);
  job.file(2).lock(false, third);
  job.world.settle();
  EXPECT_TRUE(first.answered && !second.answered && !third.answered);
  job.file(1).unlock();
  job.world.settle();
  EXPECT_TRUE(second.answered && !third.answered);
  job.file(0).unlock();
  job.world.settle();
  EXPECT_TRUE(third.answered);
  job.file(2).unlock();
}

TEST(Coordinator, calls_of_strangers_are_dropped) {
  Job job(false);
  // Rank 2 claims to be rank 1; then it names a file that does not exist.
  for (const std::uint64_t file : {77, 78}) {
    const wire::FileHeader header{file, wire::FileKind::store, {}, 1, 1, 1000};
    job.world.core(2).services().call(0, Coordinators::kService, header);
  }
  job.world.settle();
  Question now;
  job.file(0).fetch_add(0, now);
  EXPECT_EQ(now.value, 0);
}

}  // namespace
