// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: a step starts before its dependencies, twice, or never; windows are exceeded; scratch
// areas overlap or lie outside the scratch memory; the table lacks a collective, names two algorithms alike,
// or picks one that does not fit; a plan is marked inline whose steps cannot run in sequence without delaying
// other ranks, or that would reuse a buffer that is still being sent; a setting HERALD_COLL offers other
// names than the table.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>

#include "base/knobs.hpp"
#include "job.hpp"

namespace herald::coll {
namespace {

Piece plain_bytes(std::uint64_t bytes) {
  Piece piece;
  piece.bytes = bytes;
  return piece;
}

std::vector<StepId> take_all(Run& run) {
  std::vector<StepId> steps;
  for (StepId step = run.next(); step != kNone; step = run.next()) steps.push_back(step);
  return steps;
}

TEST(CollRun, starts_each_step_once_when_its_dependencies_are_met) {
  Builder b;
  const Piece bytes = plain_bytes(8);
  const StepId first = b.recv(1, bytes), second = b.recv(2, bytes);
  const StepId both = b.copy(bytes, bytes, {first, second}), last = b.send(3, bytes, {both, first, kNone});
  const Plan plan = b.finish("test");
  ASSERT_EQ(plan.size(), 4u);
  std::vector<std::uint32_t> words(coll::Run::words(plan));
  for (int again = 0; again < 2; ++again) {
    coll::Run run;
    run.begin(plan, words.data());
    EXPECT_EQ(take_all(run), (std::vector<StepId>{first, second}));
    run.complete(second);
    EXPECT_EQ(run.next(), kNone);
    run.complete(first);
    EXPECT_EQ(take_all(run), std::vector<StepId>{both});
    run.complete(both);
    EXPECT_EQ(take_all(run), std::vector<StepId>{last});
    EXPECT_FALSE(run.done());
    run.complete(last);
    EXPECT_TRUE(run.done());
  }
}

TEST(CollRun, an_empty_plan_is_done_at_once) {
  Builder b;
  EXPECT_EQ(b.copy(plain_bytes(0), plain_bytes(0)), kNone);
  const Plan plan = b.finish("test");
  coll::Run run;
  run.begin(plan, nullptr);
  EXPECT_TRUE(run.done());
  EXPECT_EQ(run.next(), kNone);
}

TEST(CollBuilder, a_window_bounds_the_messages_in_flight) {
  Builder b;
  b.window(0, 3);
  for (int i = 0; i < 10; ++i) b.recv(i, plain_bytes(4));
  const Plan plan = b.finish("test");
  EXPECT_EQ(plan.slots, 3u);
  std::vector<std::uint32_t> words(coll::Run::words(plan));
  coll::Run run;
  run.begin(plan, words.data());
  EXPECT_EQ(take_all(run), (std::vector<StepId>{0, 1, 2}));
  run.complete(1);
  EXPECT_EQ(take_all(run), std::vector<StepId>{4});
}

TEST(CollBuilder, scratch_areas_do_not_overlap_and_stay_inside) {
  Builder b;
  std::vector<std::pair<std::int64_t, std::int64_t>> areas;
  const auto note = [&](std::int64_t begin, std::int64_t end) { areas.emplace_back(begin, end); };
  type::LayoutRef backwards;
  ASSERT_EQ(type::resized(gappy_layout(), 0, -40, backwards), Status::ok);
  for (const std::int64_t count : {1, 5}) {
    const Piece bytes = b.scratch(static_cast<std::uint64_t>(count) * 3);
    note(bytes.offset, bytes.offset + count * 3);
    for (const type::Layout* layout : {&dense_layout(), &gappy_layout(), backwards.get()}) {
      const Piece items = b.scratch_items(*layout, count);
      EXPECT_EQ(items.offset % 16, 0);
      for (std::int64_t i = 0; i < count; ++i)
        note(items.offset + i * layout->extent() + layout->true_lb(),
             items.offset + i * layout->extent() + layout->true_ub());
    }
  }
  const Plan plan = b.finish("test");
  for (std::size_t i = 0; i < areas.size(); ++i) {
    EXPECT_GE(areas[i].first, 0);
    EXPECT_LE(areas[i].second, static_cast<std::int64_t>(plan.scratch_bytes));
    for (std::size_t j = 0; j < i; ++j)
      EXPECT_TRUE(areas[i].second <= areas[j].first || areas[j].second <= areas[i].first) << i << " " << j;
  }
}

TEST(CollTable, has_a_fitting_algorithm_for_every_collective) {
  std::set<std::string> names;
  for (const Algorithm* row : algorithms()) {
    EXPECT_TRUE(names.insert(std::string(name_of(row->op)) + "/" + row->name).second) << row->name;
    EXPECT_EQ(find_algorithm(row->op, row->name), row);
    EXPECT_STRNE(row->description, "");
  }
  for (int op = 0; op < kOps; ++op)
    for (const int ranks : {1, 2, 3, 13, 64, 1000})
      for (const bool commutes : {true, false})
        for (const std::uint64_t bytes : {0u, 8u, 65536u, 1u << 30}) {
          Shape shape;
          shape.ranks = ranks;
          shape.commutes = commutes;
          const Algorithm& chosen = choose(static_cast<Op>(op), bytes, shape);
          EXPECT_EQ(chosen.op, static_cast<Op>(op));
          EXPECT_TRUE(chosen.fits(shape)) << chosen.name;
        }
  EXPECT_EQ(find_algorithm(Op::bcast, "nothing"), nullptr);
}

TEST(CollTable, the_knob_names_the_algorithms_of_the_table) {
  std::string wanted;
  for (int op = 0; op < kOps; ++op) {
    wanted += std::string(wanted.empty() ? "" : ";") + name_of(static_cast<Op>(op)) + "=auto";
    for (const Algorithm* row : algorithms())
      if (row->op == static_cast<Op>(op)) wanted += std::string("|") + row->name;
  }
  std::string offered = "no row in base/knobs.def";
  for (const KnobRow& row : knob_rows())
    if (row.name == std::string("coll")) offered = row.words;
  EXPECT_EQ(offered, wanted);
}

TEST(CollTable, short_data_takes_few_messages_and_long_data_is_segmented) {
  Shape shape;
  shape.ranks = 16;
  EXPECT_STREQ(choose(Op::bcast, 8, shape).name, "binomial");
  EXPECT_STREQ(choose(Op::bcast, 64 << 10, shape).name, "scatter_doubling");
  EXPECT_STREQ(choose(Op::bcast, 8 << 20, shape).name, "chain");
  EXPECT_STREQ(choose(Op::bcast, 1 << 20, shape_of(13, 13, true)).name, "scatter_allgather");
  EXPECT_STREQ(choose(Op::reduce, 8, shape).name, "binomial");
  EXPECT_STREQ(choose(Op::reduce, 1 << 20, shape).name, "rabenseifner");
  EXPECT_STREQ(choose(Op::reduce_scatter, 4096, shape).name, "halving");
  EXPECT_STREQ(choose(Op::allreduce, 8, shape).name, "doubling");
  EXPECT_STREQ(choose(Op::allreduce, 8 << 20, shape).name, "rabenseifner");
  EXPECT_STREQ(choose(Op::alltoall, 8, shape).name, "bruck");
  EXPECT_STREQ(choose(Op::alltoall, 1 << 20, shape).name, "pairwise");
  shape.shared_bytes = 4048;
  EXPECT_STREQ(choose(Op::bcast, 8, shape).name, "shared");
  EXPECT_STREQ(choose(Op::allreduce, 4096, shape).name, "doubling");  // no rank can read another's memory
  shape.reads_peers = true;
  EXPECT_STREQ(choose(Op::allreduce, 4096, shape).name, "shared");
  shape.shared_bytes = 0;
  shape.ranks = 13;
  EXPECT_STREQ(choose(Op::allreduce, 8 << 20, shape).name, "ring");
  EXPECT_STREQ(choose(Op::allgather, 8, shape).name, "bruck");
  EXPECT_STREQ(choose(Op::allgather, 1 << 20, shape).name, "ring");
}

}  // namespace
}  // namespace herald::coll
