// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong with long messages that go as bulk frames by a connection: bytes are lost or doubled
// when it breaks, at whatever byte; a send is done while its receiver misses bytes; a frame that was damaged,
// forged, recorded or made for another receive is believed; memory of a receive that is over is written; a
// frame overtakes the push of its message; short messages, and those of slow links, get a connection.
#include <gtest/gtest.h>

#include <algorithm>

#include "sim/job/model_cipher.hpp"
#include "tests/unit/p2p/world.hpp"

namespace herald::test::bulk {
namespace {

constexpr std::size_t kPacket = 1400, kLong = 500'000;
constexpr wire::Seal kSeal{{3, 4}, 5};

wire::BulkSession session_of(std::uint64_t nonce, wire::Security security) {
  const wire::StreamSession tags{kSeal, 1, 0, {nonce, 1}, {nonce, 2}, wire::StreamUse::bulk};
  if (security == wire::Security::tag) return tags;
  return {tags, security, sim::model_suite(), sim::model_key(kSeal.key)};
}

// Rank 0 sends to rank 1; `wire` is what the connection holds.
struct Pair {
  World world{p2p::CoreConfig{.peers = 2, .remote_first = 1000, .remote_more = 2000}, true, kPacket};
  Bytes wire;
  std::uint64_t nonce = 0;
  const wire::Security security;

  explicit Pair(wire::Security level = wire::Security::tag) : security(level) {
    world.core(1).bulk().receives.choice().enable(true);
  }
  p2p::BulkSender& sends() { return world.core(0).bulk().sends; }
  p2p::BulkReceiver& receives() { return world.core(1).bulk().receives; }
  void connect() {
    wire.clear();
    ++nonce;
    sends().on_connected(1, session_of(nonce, security));
    receives().on_connected(0, session_of(nonce, security));
  }
  void write(std::size_t most) {
    p2p::BulkSender::Parts parts;
    while (most != 0 && sends().gather(1, parts) != 0) {
      const std::size_t bytes = std::min(parts[0].size(), most);
      const auto* from = reinterpret_cast<const unsigned char*>(parts[0].data());
      wire.insert(wire.end(), from, from + bytes);
      sends().on_written(1, bytes);
      most -= bytes;
    }
  }
  // False: the connection is to be closed.
  bool read() {
    p2p::BulkReceiver::Parts parts;
    for (std::size_t count = 0; !wire.empty() && (count = receives().room(0, parts)) != 0;) {
      std::size_t all = 0;
      for (std::size_t i = 0; i < count && all < wire.size(); ++i) {
        const std::size_t bytes = std::min(parts[i].size(), wire.size() - all);
        std::memcpy(parts[i].data(), wire.data() + all, bytes);
        all += bytes;
      }
      wire.erase(wire.begin(), wire.begin() + static_cast<std::ptrdiff_t>(all));
      if (!receives().on_read(0, all)) return false;
      world.core(1).run_finished();
    }
    return true;
  }
  void cut() {
    wire.clear();
    sends().on_closed(1);
    receives().on_closed(0);
  }
  void settle() {
    for (int i = 0; i < 8; ++i) {
      world.settle();
      write(10 * kLong);
      if (!read()) cut();
    }
    world.settle();
  }
};

class Bulk : public testing::TestWithParam<wire::Security> {};
INSTANTIATE_TEST_SUITE_P(levels, Bulk,
                         testing::Values(wire::Security::tag, wire::Security::auth, wire::Security::encrypt));

TEST_P(Bulk, a_long_message_comes_by_frames_and_its_send_waits_for_the_acknowledgement) {
  Pair pair(GetParam());
  pair.connect();
  Recv receive(pair.world, 1, 0, 7, kLong);
  Send send(pair.world, 0, 1, 7, random_bytes(kLong, 1));
  pair.world.settle();
  EXPECT_FALSE(receive.done);
  pair.write(10 * kLong);
  EXPECT_EQ(pair.sends().frames(),
            (kLong - 2000 + p2p::BulkSender::kFrameBytes - 1) / p2p::BulkSender::kFrameBytes);
  EXPECT_TRUE(pair.read());
  EXPECT_TRUE(receive.done);
  EXPECT_FALSE(send.done);
  pair.world.settle();
  EXPECT_TRUE(send.done);
  EXPECT_EQ(receive.buffer, send.bytes);
  EXPECT_EQ(pair.receives().resumed(), 0u);
}

TEST_P(Bulk, a_connection_that_breaks_at_any_byte_loses_and_doubles_nothing) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Pair pair(GetParam());
    Prng chance(seed);
    pair.connect();
    Recv one(pair.world, 1, 0, 1, kLong), other(pair.world, 1, 0, 2, kLong / 2);
    Send first(pair.world, 0, 1, 1, random_bytes(kLong, seed)),
        second(pair.world, 0, 1, 2, random_bytes(kLong / 2, seed));
    pair.world.settle();
    pair.write(chance.below(kLong));
    const std::size_t lost = chance.below(pair.wire.size() + 1);
    pair.wire.resize(pair.wire.size() - lost);
    ASSERT_TRUE(pair.read());
    // Either end may find it first, or only one of them; the newest connection holds.
    if (seed % 3 == 0) pair.sends().on_closed(1);
    if (seed % 3 == 1) pair.receives().on_closed(0);
    if (seed % 3 == 2) pair.cut();
    if (seed % 2 == 0) pair.connect();
    pair.settle();
    for (p2p::PeerId peer = pair.sends().take_broken(); peer >= 0; peer = pair.sends().take_broken())
      pair.cut();
    for (p2p::PeerId peer = pair.receives().take_broken(); peer >= 0; peer = pair.receives().take_broken())
      pair.cut();
    pair.settle();
    EXPECT_TRUE(first.done && second.done && one.done && other.done) << seed;
    EXPECT_EQ(one.buffer, first.bytes) << seed;
    EXPECT_EQ(other.buffer, second.bytes) << seed;
  }
}

// HERALD_SECURE=encrypt: a reader of the connection finds no 8 bytes of the message.
TEST(BulkFrames, show_the_text_unless_they_are_encrypted) {
  for (const wire::Security level : {wire::Security::tag, wire::Security::auth, wire::Security::encrypt}) {
    Pair pair(level);
    pair.connect();
    Recv receive(pair.world, 1, 0, 1, kLong);
    Send send(pair.world, 0, 1, 1, random_bytes(kLong, 1));
    pair.world.settle();
    pair.write(10 * kLong);
    const auto at = send.bytes.begin() + 100'000;
    const bool shown = std::search(pair.wire.begin(), pair.wire.end(), at, at + 8) != pair.wire.end();
    EXPECT_EQ(shown, level != wire::Security::encrypt);
    EXPECT_TRUE(pair.read());
    EXPECT_EQ(receive.buffer, send.bytes);
    pair.world.settle();
  }
}

TEST_P(Bulk, a_damaged_frame_is_refused_wherever_the_damage_is) {
  for (const std::size_t at :
       {std::size_t{0}, std::size_t{5}, std::size_t{10}, std::size_t{17}, std::size_t{21}, std::size_t{30},
        std::size_t{32}, std::size_t{99'999}, sizeof(wire::BulkHead) + p2p::BulkSender::kFrameBytes + 7}) {
    Pair pair(GetParam());
    pair.connect();
    Recv receive(pair.world, 1, 0, 1, kLong);
    Send send(pair.world, 0, 1, 1, random_bytes(kLong, at));
    pair.world.settle();
    pair.write(10 * kLong);
    pair.wire[at] ^= 16;
    EXPECT_FALSE(pair.read()) << at;
    EXPECT_EQ(pair.receives().refused(), 1u);
    pair.cut();
    pair.settle();
    EXPECT_TRUE(send.done && receive.done) << at;
    EXPECT_EQ(receive.buffer, send.bytes) << at;
  }
}

TEST_P(Bulk, frames_of_another_connection_or_out_of_order_are_refused) {
  Pair pair(GetParam());
  pair.connect();
  Recv receive(pair.world, 1, 0, 1, kLong);
  Send send(pair.world, 0, 1, 1, random_bytes(kLong, 1));
  pair.world.settle();
  pair.write(10 * kLong);
  const Bytes recorded = pair.wire;
  const std::size_t frame = sizeof(wire::BulkHead) + p2p::BulkSender::kFrameBytes +
                            (GetParam() == wire::Security::tag ? 0 : wire::kCipherTag);
  pair.wire.erase(pair.wire.begin(), pair.wire.begin() + static_cast<std::ptrdiff_t>(frame));
  EXPECT_FALSE(pair.read());
  pair.cut();
  pair.connect();
  pair.wire = recorded;
  EXPECT_FALSE(pair.read());
  pair.cut();
  pair.settle();
  EXPECT_TRUE(send.done && receive.done);
  EXPECT_EQ(receive.buffer, send.bytes);
}

TEST_P(Bulk, memory_of_a_receive_that_is_over_is_not_written) {
  Pair pair(GetParam());
  pair.connect();
  Bytes before;
  {
    Recv receive(pair.world, 1, 0, 1, kLong);
    Send send(pair.world, 0, 1, 1, random_bytes(kLong, 1));
    pair.world.settle();
    pair.write(200'000);
    pair.wire.resize(100'000);
    ASSERT_TRUE(pair.read());
    before = receive.buffer;
    pair.world.core(1).on_peer_gone(0);
    pair.world.core(1).run_finished();
    EXPECT_TRUE(receive.done);
    EXPECT_EQ(receive.status, Status::peer_lost);
    pair.wire.assign(10'000, 9);
    (void)pair.read();
    EXPECT_EQ(receive.buffer, before);
    pair.world.core(0).on_peer_gone(1);
    pair.world.core(0).run_finished();
    EXPECT_TRUE(send.done);
  }
  p2p::BulkSender::Parts parts;
  EXPECT_EQ(pair.sends().gather(1, parts), 0u);
}

TEST_P(Bulk, a_frame_waits_for_the_push_of_its_message) {
  Pair pair(GetParam());
  pair.connect();
  Recv receive(pair.world, 1, 0, 1, kLong);
  Send send(pair.world, 0, 1, 1, random_bytes(kLong, 1));
  while (pair.world.transmit(0, 1) != nullptr) {
  }
  ASSERT_GT(pair.world.link(0, 1).size(), 1u);
  const Bytes last = pair.world.link(0, 1).back();
  pair.world.link(0, 1).pop_back();
  pair.world.settle();
  pair.write(10 * kLong);
  ASSERT_TRUE(pair.read());
  EXPECT_FALSE(receive.done);
  pair.world.link(0, 1).push_back(last);
  pair.settle();
  EXPECT_TRUE(send.done && receive.done);
  EXPECT_EQ(receive.buffer, send.bytes);
  EXPECT_EQ(pair.receives().refused(), 0u);
}

TEST(BulkChoice, only_fast_links_get_a_connection_and_the_faster_way_wins) {
  const auto rate = [](p2p::BulkChoice& choice, bool bulk, double bytes_per_second) {
    for (int i = 0; i < 20; ++i)
      choice.on_timed(3, bulk, 1 << 20, {static_cast<std::int64_t>((1 << 20) / bytes_per_second * 1e9)});
  };
  const Instant now{1'000'000'000};
  p2p::BulkChoice slow, fast, off;
  slow.enable(false);
  fast.enable(false);
  rate(slow, false, 118e6);
  rate(off, false, 1e9);
  rate(fast, false, 1e9);
  EXPECT_FALSE(slow.picks_bulk(now, 3) || off.picks_bulk(now, 3) || fast.picks_bulk(now, 3));
  EXPECT_EQ(slow.take_wanted(), -1);
  EXPECT_EQ(off.take_wanted(), -1);
  EXPECT_EQ(fast.take_wanted(), 3);
  fast.on_connected(3);
  EXPECT_TRUE(fast.picks_bulk(now, 3));
  rate(fast, true, 0.5e9);
  EXPECT_FALSE(fast.picks_bulk(now, 3));
  rate(fast, true, 2e9);
  EXPECT_TRUE(fast.picks_bulk(now, 3));
  int other = 0;
  for (int i = 0; i < 1024; ++i) other += fast.picks_bulk(now, 3) ? 0 : 1;
  EXPECT_EQ(other, 4);
  fast.on_closed(now, 3);
  EXPECT_FALSE(fast.picks_bulk(now, 3));
  EXPECT_EQ(fast.take_wanted(), -1);
  (void)fast.picks_bulk(now + milliseconds(100), 3);
  EXPECT_EQ(fast.take_wanted(), 3);
}

// Rank 0 pulls a message from each of three others at a time, over a link of so many bytes a second.
p2p::PeerId wanted_after_pulls(double bytes_per_second, int rounds) {
  World world(p2p::CoreConfig{.peers = 4, .remote_first = 1000, .remote_more = 2000}, true, kPacket);
  p2p::BulkReceiver& receives = world.core(0).bulk().receives;
  receives.choice().enable(false);
  Instant now{1'000'000'000};
  for (int round = 0; round < rounds; ++round) {
    std::vector<std::unique_ptr<Recv>> taken;
    std::vector<std::unique_ptr<Send>> given;
    for (int from = 1; from < 4; ++from) {
      taken.push_back(std::make_unique<Recv>(world, 0, from, 1, kLong));
      given.push_back(std::make_unique<Send>(world, from, 0, 1, random_bytes(kLong, 1)));
      world.transmit(from, 0);
      world.deliver(from, 0);
      world.transmit(0, from);  // the pull
    }
    receives.set_time(now);
    now = now + Duration{static_cast<std::int64_t>(3 * kLong / bytes_per_second * 1e9)};
    receives.set_time(now);
    world.settle();
    for (const auto& one : taken) EXPECT_TRUE(one->done);
    now = now + milliseconds(1);
    receives.set_time(now);
  }
  return receives.choice().take_wanted();
}

TEST(BulkChoice, pulls_that_share_a_link_tell_its_speed_together) {
  EXPECT_EQ(wanted_after_pulls(118e6, 6), -1);
  EXPECT_GT(wanted_after_pulls(400e6, 6), 0);  // each of them has 133 MB/s
}

}  // namespace
}  // namespace herald::test::bulk
