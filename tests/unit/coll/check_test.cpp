// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: matching calls are reported as different, or different calls as matching; ranks
// disagree on which two calls do not match; a step of a checked plan does not wait for the check.
#include "coll/check.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "coll/run.hpp"
#include "coll/table.hpp"
#include "job.hpp"

namespace herald::coll {
namespace {

CollSpec ask_of(Op op, int rank, int size, int root, std::int64_t items) {
  CollSpec spec;
  spec.op = op;
  spec.rank = rank;
  spec.size = size;
  spec.root = root;
  spec.send = {Buffer::send, &dense_layout(), items};
  spec.recv = {Buffer::recv, &dense_layout(), items};
  spec.bytes = static_cast<std::uint64_t>(items) * sizeof(Item);
  return spec;
}

// In the order of the memory of `rank`: its own first.
std::vector<Facts> seen_by(int rank, const std::vector<Facts>& all) {
  std::vector<Facts> seen;
  for (std::size_t i = 0; i < all.size(); ++i)
    seen.push_back(all[(static_cast<std::size_t>(rank) + i) % all.size()]);
  return seen;
}

std::string difference(const std::vector<Facts>& all) {
  std::string text = "-";
  for (int rank = 0; rank < static_cast<int>(all.size()); ++rank) {
    const std::vector<Facts> seen = seen_by(rank, all);
    const Mismatch found = find_mismatch(seen.data(), rank, static_cast<int>(all.size()));
    const std::string here = found.one == nullptr ? "" : text_of(found);
    if (text == "-") text = here;
    EXPECT_EQ(here, text) << "rank " << rank << " sees something else";
  }
  return text;
}

std::vector<Facts> all_of(Op op, int size) {
  std::vector<Facts> all;
  for (int r = 0; r < size; ++r) {
    all.push_back(facts_of(ask_of(op, r, size, 1, 5)));
    all.back().form = Form::blocking;
  }
  return all;
}

TEST(CollCheck, the_same_call_matches) {
  for (int op = 0; op < kOps; ++op) EXPECT_EQ(difference(all_of(static_cast<Op>(op), 5)), "");
}

TEST(CollCheck, neighborhood_collectives_are_named_and_their_sizes_are_not_compared) {
  std::vector<Facts> all = all_of(Op::neighbor_alltoallw, 3);
  all[1] = facts_of(ask_of(Op::neighbor_alltoallw, 1, 3, 0, 9));
  all[1].form = Form::blocking;
  EXPECT_EQ(difference(all), "");
  all[2] = all_of(Op::neighbor_allgather, 3)[2];
  all[2].form = Form::persistent;
  EXPECT_EQ(difference(all), "rank 0 calls MPI_Neighbor_alltoallw, rank 2 calls MPI_Neighbor_allgather_init");
}

TEST(CollCheck, each_difference_is_found_and_named_by_all_ranks) {
  std::vector<Facts> all = all_of(Op::bcast, 4);
  all[2].root = 3;
  EXPECT_EQ(difference(all),
            "rank 0 calls MPI_Bcast (root 1, 80 bytes), rank 2 calls MPI_Bcast (root 3, 80 bytes)");
  all = all_of(Op::bcast, 4);
  all[3].bytes = 8;
  EXPECT_EQ(difference(all),
            "rank 0 calls MPI_Bcast (root 1, 80 bytes), rank 3 calls MPI_Bcast (root 1, 8 bytes)");
  all = all_of(Op::barrier, 3);
  all[1] = all_of(Op::alltoallv, 3)[1];
  EXPECT_EQ(difference(all), "rank 0 calls MPI_Barrier, rank 1 calls MPI_Alltoallv");
  all = all_of(Op::barrier, 3);
  all[2].form = Form::nonblocking;
  EXPECT_EQ(difference(all), "rank 0 calls MPI_Barrier, rank 2 calls MPI_Ibarrier");
  all = all_of(Op::scan, 2);
  std::strcpy(all[0].reduction, "MPI_SUM");
  std::strcpy(all[1].reduction, "MPI_MAX");
  EXPECT_NE(difference(all).find("MPI_SUM), rank 1 calls MPI_Scan"), std::string::npos);
}

TEST(CollCheck, sizes_that_may_differ_are_not_compared) {
  for (const Op op : {Op::gatherv, Op::scatterv, Op::alltoallv, Op::alltoallw}) {
    std::vector<Facts> all;
    for (int r = 0; r < 3; ++r) all.push_back(facts_of(ask_of(op, r, 3, 0, r)));
    EXPECT_EQ(difference(all), "") << name_of(op);
  }
}

TEST(CollCheck, nothing_starts_before_the_check) {
  for (const Algorithm* algorithm : algorithms()) {
    if (algorithm->op != Op::bcast && algorithm->op != Op::allreduce && algorithm->op != Op::barrier)
      continue;
    for (const int size : {2, 4}) {
      Shape shape;
      shape.ranks = size;
      if (!algorithm->fits(shape)) continue;
      const Plan plan = make_plan(*algorithm, ask_of(algorithm->op, 1, size, 0, 5), true);
      EXPECT_TRUE(plan.checked);
      std::vector<std::uint32_t> words(coll::Run::words(plan));
      coll::Run run;
      run.begin(plan, words.data());
      bool checked = false;
      for (StepId id = run.next(); id != kNone && !checked; id = run.next()) {
        checked = plan.steps[id].kind == StepKind::check;
        if (checked) break;
        EXPECT_EQ(plan.steps[id].a.buffer, Buffer::scratch) << algorithm->name;
        EXPECT_LT(plan.steps[id].a.offset, static_cast<std::int64_t>(sizeof(Facts)) * size);
        run.complete(id);
      }
      EXPECT_TRUE(checked) << algorithm->name;
      run.abandon();
      EXPECT_TRUE(run.done());
      EXPECT_EQ(run.next(), kNone);
    }
  }
}

}  // namespace
}  // namespace herald::coll
