// SPDX-License-Identifier: BSD-3-Clause
// A path that drops long datagrams and says nothing. What could go wrong: packets of full size are sent for
// ever; the segment shrinks because of mere losses, or never grows again; parts of a datagram that are lost,
// duplicated or of another datagram make a wrong whole.
#include "rel/fragments.hpp"
#include "rel/segment_search.hpp"
#include "tests/unit/rel/world.hpp"

namespace herald::rel {
namespace {

TEST(Segments, a_port_that_drops_full_packets_delays_a_stream_for_less_than_two_seconds) {
  for (const std::size_t longest : {1372u, 1272u, 1000u, 548u}) {
    World world({});
    world.longest = longest;
    world[0].send_bytes(1, 1 << 20);
    ASSERT_TRUE(world.run(milliseconds(2000), [&] { return world[1].got_bytes >= 1 << 20; })) << longest;
    EXPECT_EQ(world[1].wrong, 0u);
    world.run(milliseconds(2000));  // the search goes on
    ASSERT_EQ(world[0].segments.size(), 1u) << longest;
    EXPECT_LE(world[0].segments[0], longest);
    EXPECT_GT(world[0].segments[0] + 32u, longest);
    EXPECT_TRUE(world[0].lost.empty() && world[1].lost.empty());
  }
}

TEST(Segments, the_size_shrinks_in_the_middle_of_a_stream_and_grows_again_later) {
  World world({});
  world[0].send_bytes(1, 1 << 20);
  ASSERT_TRUE(world.run(milliseconds(2000), [&] { return world[1].got_bytes >= 1 << 19; }));
  world.longest = 1300;
  ASSERT_TRUE(world.run(milliseconds(2000), [&] { return world[1].got_bytes >= 1 << 20; }));
  ASSERT_TRUE(world.run(milliseconds(2000), [&] { return world.all_flushed(); }));
  world.run(milliseconds(1000));
  ASSERT_EQ(world[0].segments.size(), 1u);
  EXPECT_LE(world[0].segments[0], 1300);
  world.longest = SIZE_MAX;
  world.run(milliseconds(31'000));
  for (int i = 0; i < 20; ++i) {
    world[0].send_bytes(1, 10'000);
    world.run(milliseconds(50));
  }
  ASSERT_EQ(world[0].segments.size(), 2u);
  EXPECT_EQ(world[0].segments[1], 1472);
  EXPECT_EQ(world[1].wrong, 0u);
}

// One check after a suspicion, over a path that loses `loss` % of all probes each way, and all longer ones.
bool shrinks(std::uint64_t loss, std::size_t longest, std::uint64_t seed) {
  Prng chance(seed);
  const auto passes = [&] { return chance.below(100) >= loss; };
  SegmentSearch search(9000);
  Instant now{1'000'000'000};
  search.suspect(now, 9000);
  for (std::uint32_t number = 1; search.is_active() && search.segment() == 9000; number += 3) {
    const auto sizes = search.take_probes(now, milliseconds(1), number);
    for (std::size_t i = 0; i < sizes.size(); ++i)
      if (sizes[i] <= longest && passes() && passes())
        search.on_reply(now, number + static_cast<std::uint32_t>(i));
    now = std::max(now, search.deadline());
    (void)search.on_deadline(now);
  }
  return search.segment() != 9000;
}

TEST(Segments, heavy_losses_are_not_taken_for_a_size) {
  for (const std::uint64_t loss : {0u, 10u, 30u, 50u}) {
    int wrong = 0, found = 0;
    for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
      wrong += shrinks(loss, SIZE_MAX, seed) ? 1 : 0;
      found += shrinks(loss, 1400, seed) ? 1 : 0;
    }
    EXPECT_LE(wrong, 5) << loss;
    EXPECT_GE(found, 700) << loss;  // the others begin again
  }
}

TEST(Segments, losses_and_outages_do_not_shrink_it) {
  WorldConfig config;
  config.loss = 0.1;
  for (config.seed = 1; config.seed <= 5; ++config.seed) {
    World world(config);
    world[0].send_bytes(1, 4 << 20);
    ASSERT_TRUE(world.run(milliseconds(20'000), [&] { return world[1].got_bytes >= 4 << 20; }));
    EXPECT_TRUE(world[0].segments.empty());
  }
  World world({});
  bool out = false;
  world.cut = [&](PeerId, PeerId, LinkId) { return out; };
  world[0].send_bytes(1, 8 << 20);
  world.run(milliseconds(5));
  out = true;
  world.run(milliseconds(2000));
  out = false;
  ASSERT_TRUE(world.run(milliseconds(2000), [&] { return world[1].got_bytes >= 8 << 20; }));
  EXPECT_TRUE(world[0].segments.empty());
}

TEST(Segments, borrowed_memory_and_loss_besides) {
  WorldConfig config;
  config.borrows = true;
  config.loss = 0.02;
  config.duplicate = 0.02;
  config.reorder = 0.05;
  World world(config);
  world.longest = 1200;
  world[0].send_bytes(1, 1 << 20);
  world[1].send_bytes(0, 1 << 20);
  ASSERT_TRUE(world.run(milliseconds(5000),
                        [&] { return world[1].got_bytes >= 1 << 20 && world[0].got_bytes >= 1 << 20; }));
  EXPECT_EQ(world[0].wrong + world[1].wrong, 0u);
}

std::vector<std::byte> some_bytes(std::size_t count, int seed) {
  std::vector<std::byte> bytes(count);
  for (std::size_t i = 0; i < count; ++i)
    bytes[i] = static_cast<std::byte>(i * 7 + static_cast<unsigned>(seed));
  bytes[1] = std::byte{1};
  return bytes;
}

TEST(Fragments, parts_in_any_order_make_the_whole_and_nothing_else) {
  const wire::Seal seal{{1, 2}, 3};
  Splitter splitter(Splitter::Of::mesh);
  Joiner joiner;
  const auto first = some_bytes(1472, 1), second = some_bytes(8000, 2);
  splitter.split({1, 0, std::span(first).first(900), std::span(first).subspan(900)}, 600, seal, 4, 1);
  splitter.split({1, 0, second}, 600, seal, 4, 1);
  TxBatch batch;
  splitter.fill(batch);
  EXPECT_TRUE(splitter.empty());
  int wholes = 0;
  for (std::size_t i = batch.count; i-- > 0;) {
    const Tx& part = batch.entries[i];
    ASSERT_LE(part.datagram.size(), 600u);
    for (const bool again : {false, true}) {
      wire::DatagramView view;
      ASSERT_EQ(wire::open_datagram(seal, 1, part.datagram, view), wire::Opened::good);
      if (again && i % 2 == 0) continue;
      const auto whole = joiner.add(view, false);
      if (whole.empty()) continue;
      ++wholes;
      const auto& wanted = whole.size() == first.size() ? first : second;
      ASSERT_TRUE(std::equal(whole.begin(), whole.end(), wanted.begin(), wanted.end()));
    }
  }
  EXPECT_EQ(wholes, 2);
  wire::DatagramView view;
  EXPECT_EQ(wire::open_datagram(seal, 2, batch.entries[0].datagram, view), wire::Opened::bad_tag);
}

// A connection and a lane split datagrams of the same size for the same peer, and their parts mix.
TEST(Fragments, parts_of_two_splitters_of_a_sender_do_not_mix) {
  const wire::Seal seal{{1, 2}, 3};
  Splitter mesh(Splitter::Of::mesh), lanes(Splitter::Of::lanes);
  Joiner joiner;
  const auto one = some_bytes(1000, 1), other = some_bytes(1000, 2);
  mesh.split({1, 0, one}, 600, seal, 4, 1);
  lanes.split({1, 0, other}, 600, seal, 4, 1);
  TxBatch first, second;
  mesh.fill(first);
  lanes.fill(second);
  ASSERT_EQ(first.count, 2u);
  ASSERT_EQ(second.count, 2u);
  const auto add = [&](const Tx& part) {
    wire::DatagramView view;
    EXPECT_EQ(wire::open_datagram(seal, 1, part.datagram, view), wire::Opened::good);
    const auto whole = joiner.add(view, false);
    return std::vector<std::byte>(whole.begin(), whole.end());
  };
  EXPECT_TRUE(add(first.entries[0]).empty());
  EXPECT_TRUE(add(second.entries[1]).empty());
  EXPECT_EQ(add(first.entries[1]), one);
  EXPECT_EQ(add(second.entries[0]), other);
}

}  // namespace
}  // namespace herald::rel
