// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: some interleaving of sends, receives, probes, cancels and packets matches the wrong
// message, loses one, delivers one twice, mixes bytes, or leaves an operation waiting for ever. Several Cores
// run under a seeded source of chance beside a plain model of MPI matching that is told of the same events in
// the same order; every receive must get exactly the message that the model gave it.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tests/unit/effort.hpp"
#include "tests/unit/p2p/world.hpp"

using namespace herald;
using namespace herald::test;
using p2p::kAnySource;
using p2p::kAnyTag;

namespace {

struct Sent {
  std::unique_ptr<Send> op;
  int from = 0;
  bool removed = false;  // the model says: cancelled
  bool matched = false;
};

struct Received {
  std::unique_ptr<Recv> op;
  int at = 0;
  const Sent* message = nullptr;  // the model's choice
  bool cancelled = false;
};

class Scene {
 public:
  Scene(std::uint64_t seed, int peers)
      : world_(config(seed, peers), seed % 4 >= 2, 130, seed), posted_(peers), unexpected_(peers) {
    world_.sends_now = seed % 3 != 0;
    if (!direct(seed)) return;
    most_ = 60000;
    world_.open_direct();
    if (seed % 3 == 0) world_.copier.fails_one_in = 1 + seed % 5;
  }

  // A quarter of the scenes: each reaches the others' memory, in some of them not always.
  static bool direct(std::uint64_t seed) { return seed % 4 == 1; }

  // Half of the scenes on one host, half on several; all three ways to push; allowances that run out.
  static p2p::CoreConfig config(std::uint64_t seed, int peers) {
    Prng chance(seed);
    constexpr p2p::PushMode kModes[] = {p2p::PushMode::pull, p2p::PushMode::pull, p2p::PushMode::pull,
                                        p2p::PushMode::zero, p2p::PushMode::all};
    p2p::CoreConfig config;
    config.peers = peers;
    config.push_bytes = static_cast<std::uint32_t>(chance.below(90));
    config.mode = kModes[seed / 4 % 5];
    config.remote_first = static_cast<std::uint32_t>(chance.below(120));
    config.remote_more = static_cast<std::uint32_t>(chance.below(1000));
    config.direct_bytes = 1 + chance.below(3000);
    config.remote_allowance = static_cast<std::uint32_t>(chance.below(3000));
    if (chance.below(2) == 0) config.local_allowance = static_cast<std::uint32_t>(chance.below(3000));
    if (seed % 3 == 0) config.most_unexpected = 1000 + seed % 7 * 2000;
    return config;
  }

  void go(int steps) {
    for (int i = 0; i < steps; ++i) step();
    finish();
    check();
  }

 private:
  std::uint64_t below(std::uint64_t n) { return world_.chance.below(n); }
  int any_peer() { return static_cast<int>(below(static_cast<std::uint64_t>(world_.peers()))); }
  static bool fits(const Recv& recv, const Sent& sent) {
    return recv.context == sent.op->context &&
           (recv.source == kAnySource || recv.source == sent.op->source) &&
           (recv.tag == kAnyTag || recv.tag == sent.op->tag);
  }

  void step() {
    switch (below(13)) {
      case 0:
      case 1: return send();
      case 2:
      case 3: return receive();
      case 4: return probe();
      case 5:
        if (below(4) == 0) cancel_send();
        return;
      case 6:
        if (below(4) == 0) cancel_receive();
        return;
      case 7:
      case 8:
      case 12: return (void)world_.move(any_peer());
      case 9: return transmit(any_peer(), any_peer());
      default: return deliver(any_peer(), any_peer());
    }
  }

  void send() {
    const int from = any_peer();
    auto sent = std::make_unique<Sent>();
    sent->from = from;
    const std::size_t bytes = below(3) == 0 ? below(most_) : below(60);
    const auto mode = below(4) == 0 ? p2p::SendMode::synchronous : p2p::SendMode::standard;
    sent->op = std::make_unique<Send>(world_, from, any_peer(), static_cast<std::int32_t>(below(3)),
                                      random_bytes(bytes, world_.chance.next()), 1 + below(2), mode);
    if (sent->op->phase == p2p::SendPhase::sent) {  // at once
      last_sent_[{from, sent->op->to}] = sent->op->seq;
      by_seq_[{from, sent->op->to, sent->op->seq}] = sent.get();
    } else {
      queued_[{from, sent->op->to}].push_back(sent.get());
    }
    sends_.push_back(std::move(sent));
  }

  void receive() {
    auto received = std::make_unique<Received>();
    received->at = any_peer();
    const std::int32_t source = below(3) == 0 ? kAnySource : any_peer();
    const std::int32_t tag = below(3) == 0 ? kAnyTag : static_cast<std::int32_t>(below(3));
    received->op =
        std::make_unique<Recv>(source, tag, below(5) == 0 ? below(most_ / 20) : most_, 1 + below(2));
    auto& waiting = unexpected_[static_cast<std::size_t>(received->at)];
    const auto hit =
        std::find_if(waiting.begin(), waiting.end(), [&](Sent* s) { return fits(*received->op, *s); });
    p2p::Core& core = world_.core(received->at);
    if (hit != waiting.end() && below(3) == 0) {  // by way of a matched probe
      p2p::Found found;
      ASSERT_TRUE(core.matcher().take(received->op->context, source, tag, found));
      core.start_matched(*received->op, found.message);
    } else {
      core.start(*received->op);
    }
    core.run_finished();
    if (hit != waiting.end()) {
      match(*received, **hit);
      waiting.erase(hit);
    } else {
      posted_[static_cast<std::size_t>(received->at)].push_back(received.get());
    }
    receives_.push_back(std::move(received));
  }

  static void match(Received& received, Sent& sent) {
    received.message = &sent;
    sent.matched = true;
  }

  void probe() {
    const int at = any_peer();
    const Recv like(below(2) == 0 ? kAnySource : any_peer(), below(2) == 0 ? kAnyTag : 1, 0, 1 + below(2));
    auto& waiting = unexpected_[static_cast<std::size_t>(at)];
    const auto hit = std::find_if(waiting.begin(), waiting.end(), [&](Sent* s) { return fits(like, *s); });
    p2p::Found found;
    ASSERT_EQ(world_.core(at).probe(like.context, like.source, like.tag, found), hit != waiting.end());
    if (hit == waiting.end()) return;
    EXPECT_EQ(found.source, (*hit)->op->source);
    EXPECT_EQ(found.tag, (*hit)->op->tag);
    EXPECT_EQ(found.bytes, (*hit)->op->bytes.size());
  }

  void cancel_send() {
    if (sends_.empty()) return;
    Sent& sent = *sends_[below(sends_.size())];
    auto& queue = queued_[{sent.from, sent.op->to}];
    const auto at = std::find(queue.begin(), queue.end(), &sent);
    if (at != queue.end()) {
      queue.erase(at);
      sent.removed = true;
    }
    world_.core(sent.from).cancel(*sent.op);
    world_.core(sent.from).run_finished();
  }

  void cancel_receive() {
    if (receives_.empty()) return;
    Received& received = *receives_[below(receives_.size())];
    auto& queue = posted_[static_cast<std::size_t>(received.at)];
    const auto at = std::find(queue.begin(), queue.end(), &received);
    const bool advertised = received.op->direct != nullptr;
    world_.core(received.at).cancel(*received.op);
    world_.core(received.at).run_finished();
    if (at == queue.end()) return;
    received.cancelled = received.op->cancelled;
    if (received.cancelled)
      queue.erase(at);
    else
      EXPECT_TRUE(advertised) << "only a message that took its advertise may keep a receive";
  }

  static bool begins_message(wire::P2pKind kind) {
    return kind == wire::P2pKind::eager || kind == wire::P2pKind::eager_compact;
  }
  static std::uint32_t seq_of(wire::P2pKind kind, std::span<const std::byte> packet, std::uint32_t& last) {
    if (kind == wire::P2pKind::eager_compact) return ++last;
    return last = wire::as<wire::EagerPacket>(packet).seq;
  }

  void transmit(int from, int to) {
    const Bytes* packet = world_.transmit(from, to);
    if (packet == nullptr) return;
    const auto view = std::as_bytes(std::span(*packet));
    wire::P2pKind kind{};
    ASSERT_TRUE(wire::decode(view, kind));
    if (!begins_message(kind)) return;
    auto& queue = queued_[{from, to}];
    ASSERT_FALSE(queue.empty());
    by_seq_[{from, to, seq_of(kind, view, last_sent_[{from, to}])}] = queue.front();
    queue.pop_front();
  }

  void deliver(int from, int to) {
    if (world_.link(from, to).empty()) return;
    const Bytes packet = world_.link(from, to).front();
    const auto view = std::as_bytes(std::span(packet));
    wire::P2pKind kind{};
    ASSERT_TRUE(wire::decode(view, kind));
    if (begins_message(kind))
      arrives(to, *by_seq_.at({from, to, seq_of(kind, view, last_came_[{from, to}])}));
    if (kind == wire::P2pKind::service &&
        wire::as<wire::ServicePacket>(view).service == static_cast<std::uint16_t>(p2p::ServiceId::cancel)) {
      const auto header = view.subspan(sizeof(wire::ServicePacket));
      recalled(to, *by_seq_.at({from, to, wire::as<wire::CancelHeader>(header).seq}));
    }
    world_.deliver(from, to);
  }

  void arrives(int to, Sent& sent) {
    auto& queue = posted_[static_cast<std::size_t>(to)];
    const auto hit =
        std::find_if(queue.begin(), queue.end(), [&](Received* r) { return fits(*r->op, sent); });
    if (hit == queue.end()) return unexpected_[static_cast<std::size_t>(to)].push_back(&sent);
    match(**hit, sent);
    queue.erase(hit);
  }

  void recalled(int to, Sent& sent) {
    auto& waiting = unexpected_[static_cast<std::size_t>(to)];
    const auto at = std::find(waiting.begin(), waiting.end(), &sent);
    if (at == waiting.end()) return;
    waiting.erase(at);
    sent.removed = true;
  }

  // Everything still on its way arrives; then what is left unmatched is received or cancelled.
  void finish() {
    settle();
    for (int at = 0; at < world_.peers(); ++at)
      while (!unexpected_[static_cast<std::size_t>(at)].empty()) {
        Sent& sent = *unexpected_[static_cast<std::size_t>(at)].front();
        auto received = std::make_unique<Received>();
        received->at = at;
        received->op =
            std::make_unique<Recv>(world_, at, sent.op->source, sent.op->tag, most_, sent.op->context);
        match(*received, sent);
        unexpected_[static_cast<std::size_t>(at)].pop_front();
        receives_.push_back(std::move(received));
      }
    settle();
  }

  void settle() {
    for (bool moved = true; moved;) {
      moved = false;
      for (int peer = 0; peer < world_.peers(); ++peer) moved = world_.move(peer) || moved;
      for (int from = 0; from < world_.peers(); ++from)
        for (int to = 0; to < world_.peers(); ++to) {
          while (world_.core(from).wants_to_send(to)) transmit(from, to), moved = true;
          while (!world_.link(from, to).empty()) deliver(from, to), moved = true;
        }
    }
  }

  void check() {
    for (auto& sent : sends_) {
      EXPECT_TRUE(sent->op->done);
      EXPECT_EQ(sent->op->cancelled, sent->removed);
      EXPECT_NE(sent->matched, sent->removed);
    }
    for (auto& received : receives_) {
      EXPECT_EQ(received->op->cancelled, received->cancelled);
      EXPECT_EQ(received->op->done, received->cancelled || received->message != nullptr);
      if (received->message != nullptr) check_bytes(*received->op, *received->message->op);
      if (!received->op->done) world_.core(received->at).cancel(*received->op);
    }
    for (int at = 0; at < world_.peers(); ++at) {
      EXPECT_EQ(world_.core(at).counters().bad_packets, 0u);
      EXPECT_EQ(world_.core(at).sends_under_way(), 0u);
      EXPECT_EQ(world_.core(at).receives_under_way(), 0u);
    }
  }

  static void check_bytes(const Recv& recv, const Send& send) {
    const std::size_t room = recv.buffer.size();
    const std::size_t bytes = std::min(room, send.bytes.size());
    EXPECT_EQ(recv.from_source, send.source);
    EXPECT_EQ(recv.from_tag, send.tag);
    EXPECT_EQ(recv.bytes, bytes);
    EXPECT_EQ(recv.status, send.bytes.size() > room ? Status::truncated : Status::ok);
    EXPECT_TRUE(std::equal(send.bytes.begin(), send.bytes.begin() + static_cast<std::ptrdiff_t>(bytes),
                           recv.buffer.begin()));
  }

  std::size_t most_ = 2000;  // bytes of a message
  World world_;
  std::vector<std::unique_ptr<Sent>> sends_;
  std::vector<std::unique_ptr<Received>> receives_;
  std::map<std::pair<int, int>, std::deque<Sent*>> queued_;
  std::map<std::tuple<int, int, std::uint32_t>, Sent*> by_seq_;
  std::map<std::pair<int, int>, std::uint32_t> last_sent_, last_came_;
  std::vector<std::deque<Received*>> posted_;
  std::vector<std::deque<Sent*>> unexpected_;
};

}  // namespace

TEST(P2pRandom, every_interleaving_matches_as_the_model_does) {
  for (std::uint64_t seed = 1; seed <= some_of(400); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Scene(seed, 2 + static_cast<int>(seed % 3)).go(1500);
    if (HasFailure()) break;
  }
}
