// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: a call overtakes a message or another call, runs twice or never; a handler runs while
// the program computes although it must not; calls that wait grow without bound; a bulk payload goes to the
// wrong call, or its sender waits for ever; a malformed or unknown call is followed.
#include <gtest/gtest.h>

#include <algorithm>

#include "p2p/notices.hpp"
#include "tests/unit/p2p/world.hpp"

using namespace herald;
using namespace herald::test;
using namespace herald::p2p;

namespace {

constexpr auto kFirst = ServiceId::first_free;
constexpr auto kSecond = static_cast<ServiceId>(static_cast<int>(ServiceId::first_free) + 1);

std::span<const std::byte> bytes_of(const Bytes& bytes) { return std::as_bytes(std::span(bytes)); }
Bytes copy_of(std::span<const std::byte> bytes) {
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  return Bytes(data, data + bytes.size());
}

// A handler that records its calls.
struct Recorder {
  struct Call {
    PeerId from;
    Bytes header, payload;
    std::uint64_t bulk_bytes;
  };
  std::vector<Call> calls;
  std::deque<Bytes> bulks;
  std::vector<Status> ended;
  std::vector<std::uint64_t> bulk_received;
  std::size_t most_bulk = SIZE_MAX;
  bool refuses = false;

  Recorder(Core& core, ServiceId id, bool may_run_while_computing = false) {
    core.services().register_handler(id, {on_call, on_bulk, this, may_run_while_computing});
  }
  static bool on_call(void* owner, const ServiceCall& call, type::Cursor& into) {
    auto& self = *static_cast<Recorder*>(owner);
    if (self.refuses) return false;
    self.calls.push_back({call.from, copy_of(call.header), copy_of(call.payload), call.bulk_bytes});
    if (call.bulk_bytes == 0) return true;
    Bytes& memory = self.bulks.emplace_back(std::min<std::uint64_t>(call.bulk_bytes, self.most_bulk));
    into = type::Cursor::bytes(memory.data(), memory.size());
    return true;
  }
  static void on_bulk(void* owner, const ServiceCall& call, Status status, std::uint64_t bytes) {
    auto& self = *static_cast<Recorder*>(owner);
    EXPECT_TRUE(std::any_of(self.calls.begin(), self.calls.end(), [&](const Call& each) {
      return each.from == call.from && each.header == copy_of(call.header) &&
             each.bulk_bytes == call.bulk_bytes;
    }));
    self.ended.push_back(status);
    self.bulk_received.push_back(bytes);
  }
};

struct Post : ServiceOp {
  Bytes payload;
  Post(World& world, int from, int to_peer, ServiceId what, const Bytes& head, Bytes payload_ = {})
      : payload(std::move(payload_)) {
    to = to_peer;
    set(what, bytes_of(head));
    data = type::Cursor::bytes(payload.data(), payload.size());
    world.core(from).services().post(*this);
  }
};

World local_world() {
  return World(CoreConfig{.peers = 3, .push_bytes = 100, .direct_bytes = 1000}, false, 300);
}
World remote_world() {
  return World(CoreConfig{.peers = 3, .remote_first = 100, .remote_more = 500, .remote_allowance = 3000},
               true, 300);
}

}  // namespace

TEST(P2pServices, a_small_call_travels_in_one_packet) {
  for (const bool far : {false, true}) {
    World world = far ? remote_world() : local_world();
    Recorder recorder(world.core(1), kFirst);
    Post post(world, 0, 1, kFirst, {1, 2, 3}, random_bytes(150, 1));
    EXPECT_NE(world.transmit(0, 1), nullptr);
    EXPECT_TRUE(post.done);
    EXPECT_EQ(world.transmit(0, 1), nullptr);
    world.settle();
    ASSERT_EQ(recorder.calls.size(), 1u);
    EXPECT_EQ(recorder.calls[0].from, 0);
    EXPECT_EQ(recorder.calls[0].header, (Bytes{1, 2, 3}));
    EXPECT_EQ(recorder.calls[0].payload, post.payload);
    EXPECT_EQ(recorder.calls[0].bulk_bytes, 0u);
  }
}

TEST(P2pServices, calls_and_messages_keep_their_order) {
  for (const bool far : {false, true}) {
    World world = far ? remote_world() : local_world();
    // Each call looks which messages have come: those before it, none after it.
    struct Watcher {
      Core& core;
      int calls = 0;
    } watcher{world.core(1)};
    world.core(1).services().register_handler(kFirst,
                                              {[](void* owner, const ServiceCall& call, type::Cursor&) {
                                                 auto& self = *static_cast<Watcher*>(owner);
                                                 const int tag = static_cast<int>(call.header[0]);
                                                 Found found;
                                                 EXPECT_EQ(tag, self.calls++);
                                                 EXPECT_TRUE(self.core.probe(1, 0, tag, found)) << tag;
                                                 EXPECT_FALSE(self.core.probe(1, 0, tag + 1, found)) << tag;
                                                 return true;
                                               },
                                               nullptr, &watcher, true});
    std::deque<Send> sends;
    std::deque<Post> posts;
    for (int i = 0; i < 20; ++i) {
      sends.emplace_back(world, 0, 1, i, random_bytes(i % 3 == 0 ? 2500 : 20, 1));
      posts.emplace_back(world, 0, 1, kFirst, Bytes{static_cast<unsigned char>(i)});
    }
    world.settle();
    EXPECT_EQ(watcher.calls, 20);
    for (int i = 0; i < 20; ++i) {
      Recv recv(world, 1, 0, i, 2500);
      world.settle();
      EXPECT_TRUE(recv.done && sends[static_cast<std::size_t>(i)].done);
    }
  }
}

TEST(P2pServices, a_bulk_payload_goes_to_memory_of_the_handler) {
  for (const bool far : {false, true})
    for (const bool direct : {false, true}) {
      if (far && direct) continue;
      World world = far ? remote_world() : local_world();
      if (direct) world.open_direct();
      Recorder recorder(world.core(1), kFirst);
      Post first(world, 0, 1, kFirst, {1}, random_bytes(20000, 1));
      Post second(world, 0, 1, kFirst, {2}, random_bytes(400, 2));
      Post other(world, 2, 1, kFirst, {3}, random_bytes(5000, 3));
      world.settle();
      EXPECT_TRUE(first.done && second.done && other.done);
      ASSERT_EQ(recorder.calls.size(), 3u);
      ASSERT_EQ(recorder.ended.size(), 3u);
      for (std::size_t i = 0; i < 3; ++i) {
        const int call = recorder.calls[i].header[0];
        const Post& post = call == 1 ? first : call == 2 ? second : other;
        EXPECT_EQ(recorder.calls[i].bulk_bytes, post.payload.size());
        EXPECT_EQ(recorder.bulks[i], post.payload) << call;
      }
      if (direct) {
        EXPECT_GT(world.copier.read_bytes + world.copier.written_bytes, 20000u);
      }
      for (const int peer : {0, 1, 2}) {
        EXPECT_EQ(world.core(peer).sends_under_way() + world.core(peer).receives_under_way(), 0u);
        EXPECT_EQ(world.core(peer).messages_held(), 0u);
      }
    }
}

TEST(P2pServices, a_payload_without_memory_does_not_hold_its_sender_up) {
  World world = local_world();
  Recorder recorder(world.core(1), kFirst);
  recorder.most_bulk = 10;
  Post little(world, 0, 1, kFirst, {1}, random_bytes(5000, 1));
  Post unknown(world, 0, 1, kSecond, {2}, random_bytes(5000, 2));
  world.settle();
  EXPECT_TRUE(little.done && unknown.done);
  ASSERT_EQ(recorder.ended.size(), 1u);
  EXPECT_EQ(recorder.ended[0], Status::truncated);
  EXPECT_EQ(recorder.bulk_received[0], 10u);
  EXPECT_EQ(recorder.bulks[0], Bytes(little.payload.begin(), little.payload.begin() + 10));
  EXPECT_EQ(world.core(1).counters().bad_packets, 1u);
  EXPECT_EQ(world.core(1).messages_held(), 0u);
}

TEST(P2pServices, while_the_program_computes_only_calls_that_may_run_do) {
  World world = local_world();
  Recorder waits(world.core(1), kFirst), runs(world.core(1), kSecond, true);
  Services& services = world.core(1).services();
  services.poll(true);
  Post early(world, 0, 1, kSecond, {1});
  world.settle();
  EXPECT_EQ(runs.calls.size(), 1u);
  Post held(world, 0, 1, kFirst, {2}), behind(world, 0, 1, kSecond, {3}), other(world, 2, 1, kSecond, {4});
  Post bulk(world, 0, 1, kFirst, {5}, random_bytes(3000, 1));
  world.settle();
  EXPECT_EQ(waits.calls.size(), 0u);
  ASSERT_EQ(runs.calls.size(), 2u) << "a call of another peer runs, one behind a waiting call does not";
  EXPECT_EQ(runs.calls[1].from, 2);
  EXPECT_FALSE(services.poll(true));
  EXPECT_TRUE(services.needs_poll(true));
  EXPECT_TRUE(services.poll(false));
  EXPECT_FALSE(services.needs_poll(false));
  EXPECT_EQ(waits.calls.size(), 2u);
  EXPECT_EQ(runs.calls.size(), 3u);
  world.settle();
  ASSERT_EQ(waits.bulks.size(), 1u);
  EXPECT_EQ(waits.bulks[0], bulk.payload);
  EXPECT_TRUE(bulk.done);
}

TEST(P2pServices, calls_that_wait_are_bounded_and_none_is_lost) {
  World world = local_world();
  Recorder recorder(world.core(1), kFirst);
  world.core(1).services().poll(true);
  std::deque<Post> posts;
  for (std::size_t i = 0; i < Services::kMaxQueued + 10; ++i)
    posts.emplace_back(world, 0, 1, kFirst, Bytes{static_cast<unsigned char>(i)});
  while (world.transmit(0, 1) != nullptr) {
  }
  auto& link = world.link(0, 1);
  const auto give = [&] { return world.core(1).on_packet(0, bytes_of(link.front())); };
  for (; give() == Status::ok; link.pop_front()) {
  }
  EXPECT_EQ(give(), Status::again);
  EXPECT_EQ(link.size(), 10u);
  EXPECT_TRUE(world.core(1).services().poll(false));
  world.settle();
  ASSERT_EQ(recorder.calls.size(), posts.size());
  for (std::size_t i = 0; i < posts.size(); ++i)
    EXPECT_EQ(recorder.calls[i].header, Bytes{static_cast<unsigned char>(i)});
}

TEST(P2pServices, a_peer_that_dies_ends_its_calls) {
  World world = remote_world();
  Recorder recorder(world.core(1), kFirst);
  Post cut(world, 0, 1, kFirst, {1}, random_bytes(9000, 1));
  for (int i = 0; i < 3; ++i) world.transmit(0, 1), world.deliver(0, 1);
  Post queued(world, 0, 1, kFirst, {2});
  world.core(1).on_peer_gone(0);
  world.core(1).run_finished();
  ASSERT_EQ(recorder.ended.size(), 1u);
  EXPECT_EQ(recorder.ended[0], Status::peer_lost);
  world.core(0).on_peer_gone(1);
  world.core(0).run_finished();
  EXPECT_TRUE(cut.done && queued.done);
  EXPECT_EQ(cut.status, Status::peer_lost);
  EXPECT_EQ(queued.status, Status::peer_lost);
  Post late(world, 0, 1, kFirst, {3});
  EXPECT_EQ(late.status, Status::peer_lost);
  EXPECT_EQ(world.core(1).messages_held(), 0u);
}

TEST(P2pServices, malformed_and_unknown_calls_are_counted_and_dropped) {
  World world = local_world();
  Core& core = world.core(1);
  Recorder recorder(core, kFirst);
  const auto give = [&](ServiceId id, const Bytes& header, const Bytes& payload = {}) {
    Bytes room(500);
    room.resize(Services::write_packet(id, bytes_of(header), bytes_of(payload),
                                       std::as_writable_bytes(std::span(room))));
    EXPECT_EQ(core.on_packet(0, bytes_of(room)), Status::ok);
    core.run_finished();
  };
  std::uint64_t bad = 0;
  give(kSecond, {1});  // no handler
  EXPECT_EQ(core.counters().bad_packets, ++bad);
  give(ServiceId::none, {});
  EXPECT_EQ(core.counters().bad_packets, ++bad);
  give(ServiceId::count, {});
  EXPECT_EQ(core.counters().bad_packets, ++bad);
  give(static_cast<ServiceId>(65535), {});
  EXPECT_EQ(core.counters().bad_packets, ++bad);
  give(ServiceId::cancel, Bytes(15));
  EXPECT_EQ(core.counters().bad_packets, ++bad);
  give(ServiceId::cancel, Bytes(16), {1});
  EXPECT_EQ(core.counters().bad_packets, ++bad);
  give(ServiceId::cancel_reply, Bytes(11));
  EXPECT_EQ(core.counters().bad_packets, ++bad);
  give(ServiceId::lane_dismiss, {});  // no lanes here
  EXPECT_EQ(core.counters().bad_packets, ++bad);
  recorder.refuses = true;
  give(kFirst, {1});
  EXPECT_EQ(core.counters().bad_packets, ++bad);
  EXPECT_FALSE(core.wants_to_send());
}

// A peer that claims to be another one must not fill the memory of that one's call.
TEST(P2pServices, a_payload_of_another_peer_is_not_taken) {
  World world = local_world();
  Recorder recorder(world.core(1), kFirst);
  Post post(world, 0, 1, kFirst, {1}, random_bytes(5000, 1));
  world.transmit(0, 1);
  world.deliver(0, 1);
  Send forged(world, 2, 1, 0, random_bytes(50, 2), wire::kServiceContext);
  world.transmit(2, 1);
  auto& packet = world.link(2, 1).front();
  reinterpret_cast<wire::EagerPacket*>(packet.data())->source = 0;
  world.deliver(2, 1);
  world.settle();
  ASSERT_EQ(recorder.ended.size(), 1u);
  EXPECT_EQ(recorder.bulks[0], post.payload);
}

TEST(P2pServices, notices_reach_the_rank_that_prints_them) {
  World world = remote_world();
  Notices from(world.core(1)), to(world.core(0));
  from.send(0, {1, 2, wire::kNoticeLoses, 30});
  from.send(0, {1, 7, wire::kNoticeLoses, 30});  // no such member
  from.send(0, {1, 2, 99, 30});                  // nothing that we know
  world.settle();
  const std::vector<Notice> notices = to.take();
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_EQ(notices[0].from, 1);
  EXPECT_EQ(notices[0].member, 2);
  EXPECT_EQ(notices[0].what, wire::kNoticeLoses);
  EXPECT_EQ(notices[0].amount, 30u);
  EXPECT_EQ(world.core(0).counters().bad_packets, 2u);
}
