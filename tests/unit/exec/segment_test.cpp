// SPDX-License-Identifier: BSD-3-Clause
// Ranks could disagree on whether they have a segment, a run could pass a barrier alone, or a run that waits
// in shared memory could be forgotten by the turns of the engine.
#include <unistd.h>

#include <vector>

#include "pair.hpp"

namespace herald::exec {
namespace {

class ExecSegment : public Pair {
 protected:
  // Notes the end of an agreement: which callback, of which rank.
  struct Note {
    std::vector<int>* order;
    int what;
    static void add(void* self) {
      auto& note = *static_cast<Note*>(self);
      note.order->push_back(note.what);
    }
  };

  // Both ranks have the segment that an agreement would give them.
  void open_segments() {
    static const std::uint64_t probe = path::CollSegment::kProbe;
    const std::string path = "/dev/shm/herald-exec-" + std::to_string(::getpid());
    const Segment::Sizes sizes{1 << 18, 0};
    const path::CollSegmentShape shape = Segment::shape_of(teams_[0]->cluster(), 0, sizes);
    for (int rank = 0; rank < 2; ++rank) {
      Segment& segment = teams_[rank]->segment;
      segment.ranks.engine = engine_.get();
      segment.ranks.place = rank;
      segment.ranks.peers = {0, 0};
      segment.ranks.cma = path::Cma::open(true);
      ASSERT_TRUE(rank == 0 ? segment.create(path, shape, 5, 1) : segment.attach(path.c_str(), shape, 5));
      segment.publish_owner(true, &probe);
    }
    teams_[0]->segment.unlink();
    for (auto& team : teams_) team->segment.open(team->cluster(), sizes, team->segment.can_read_next());
  }
  static void nothing(void*) {}

  Runner* shared(int rank, coll::Op op, std::size_t bytes, void* data) {
    coll::CollSpec spec;
    spec.op = op;
    spec.rank = rank;
    spec.size = 2;
    spec.bytes = bytes;
    spec.recv = {coll::Buffer::recv, &type::basic_layout(type::Basic::byte),
                 static_cast<std::int64_t>(bytes)};
    teams_[rank]->describe_segment(spec, false);
    return make(rank, coll::make_plan(*coll::find_algorithm(op, "shared"), spec), nullptr, data);
  }
};

TEST_F(ExecSegment, the_agreement_ends_when_all_ranks_have_begun_it) {
  std::vector<int> order;
  Note notes[] = {{&order, 1}, {&order, 2}, {&order, 3}};
  teams_[0]->agree_on_segment({Note::add, &notes[0]}, {Note::add, &notes[2]});
  teams_[0]->call_when_agreed({Note::add, &notes[1]});
  take_turns();
  EXPECT_TRUE(teams_[0]->agreeing());
  EXPECT_TRUE(order.empty());
  teams_[1]->agree_on_segment({nothing, nullptr}, {nothing, nullptr});
  ASSERT_TRUE(until([&] { return !teams_[0]->agreeing() && !teams_[1]->agreeing(); }));
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3})) << "settled, those that wait, last";
  for (const auto& team : teams_)
    EXPECT_EQ(team->segment.copied_bytes(false), 0u) << "one process alone has no shared memory";
  EXPECT_EQ(teams_[0]->run_count, 0u) << "the exchanges of an agreement are not counted";
}

TEST_F(ExecSegment, it_is_time_for_a_segment_before_the_third_run_or_a_persistent_one) {
  EXPECT_FALSE(teams_[0]->wants_segment(false));
  EXPECT_TRUE(teams_[0]->wants_segment(true));
  teams_[0]->run_count = 2;
  EXPECT_TRUE(teams_[0]->wants_segment(false));
  teams_[0]->run_count = 0;
}

TEST_F(ExecSegment, no_rank_passes_a_barrier_alone_and_turns_of_the_engine_poll_for_it) {
  open_segments();
  for (int round = 0; round < 3; ++round) {
    const int first = round % 2, second = 1 - first;
    Runner* early = shared(first, coll::Op::barrier, 0, nullptr);
    Runner* late = shared(second, coll::Op::barrier, 0, nullptr);
    early->start({});
    take_turns();
    EXPECT_FALSE(early->is_done());
    late->start({});
    ASSERT_TRUE(until([&] { return early->is_done() && late->is_done(); }));
    EXPECT_EQ(early->status(), Status::ok);
    Runner::recycle(early);
    Runner::recycle(late);
  }
}

TEST_F(ExecSegment, posted_data_arrives_whole_however_long_it_is) {
  open_segments();
  const std::size_t copied = teams_[0]->segment.copied_bytes(false);
  for (const std::size_t bytes : {std::size_t{1}, copied, copied + 1, std::size_t{1} << 18}) {
    if (bytes > copied && !teams_[0]->segment.reads_peers()) continue;
    std::string from(bytes, 'x'), to(bytes, '.');
    from.back() = 'y';
    Runner* reader = shared(1, coll::Op::bcast, bytes, to.data());
    Runner* root = shared(0, coll::Op::bcast, bytes, from.data());
    reader->start({});
    take_turns();
    EXPECT_FALSE(reader->is_done());
    root->start({});
    ASSERT_TRUE(until([&] { return reader->is_done() && root->is_done(); })) << bytes;
    EXPECT_EQ(reader->status(), Status::ok);
    EXPECT_EQ(to, from);
    Runner::recycle(reader);
    Runner::recycle(root);
  }
}

TEST_F(ExecSegment, a_post_that_is_longer_than_its_reader_expects_is_truncated) {
  open_segments();
  std::string from(8, 'x'), to(8, '.');
  Runner* root = shared(0, coll::Op::bcast, 8, from.data());
  Runner* reader = shared(1, coll::Op::bcast, 4, to.data());
  root->start({});
  reader->start({});
  ASSERT_TRUE(until([&] { return reader->is_done() && root->is_done(); }));
  EXPECT_EQ(reader->status(), Status::truncated);
  EXPECT_EQ(to, "xxxx....");
  Runner::recycle(root);
  Runner::recycle(reader);
}

}  // namespace
}  // namespace herald::exec
